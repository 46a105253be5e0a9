"""Data sets: recognise, read, check, split. ``open_dataset(PATH)`` is the way in."""
