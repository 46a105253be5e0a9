"""Scores of label maps, and the table of them, without files of images and without torch."""
