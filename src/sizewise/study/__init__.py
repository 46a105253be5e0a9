"""Studies: losses × weights × seeds under one protocol, and what can be concluded from them."""
