"""A stream that remembers in which pieces it was written."""

import io


class Pieces(io.StringIO):
    """Takes note of each write, between which other threads may come."""

    def __init__(self):
        super().__init__()
        self.written = []

    def write(self, text):
        self.written += [text] if text else []
        return super().write(text)
