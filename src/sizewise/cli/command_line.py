"""The command that is running, as it was typed."""

import shlex
import sys


def command_line() -> str:
    """For reports, so that they say how to make them again."""
    return shlex.join(["sizewise", *sys.argv[1:]])
