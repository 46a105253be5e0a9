"""What a study shows, as pure functions of its saved table."""
