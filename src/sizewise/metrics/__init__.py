"""Scores of label maps: overlap, surface, size, under one empty-mask policy."""
