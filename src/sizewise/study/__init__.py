"""Many runs under one protocol: their plan, what carries them out, and the statistics."""
