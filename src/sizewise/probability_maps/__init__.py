"""Probabilities that some program saved, in folders: read, calibrated, and decided."""
