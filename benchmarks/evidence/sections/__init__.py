"""The sections of docs/evidence.md, a file each; ``page.py`` puts them together."""
