"""Scores of label maps that lie in folders, from whatever program they come."""
