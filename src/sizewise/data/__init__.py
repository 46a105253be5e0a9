"""Data sets: recognised, read, checked and split."""
