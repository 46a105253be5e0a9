"""Run a command as a user would, in this process, and look at how it ended."""

import io
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

from sizewise.cli import main as program


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, what it printed, and the traceback of whatever escaped it."""

    code: int
    out: str
    err: str
    trace: str = ""

    @property
    def kind(self) -> str:
        """``fine``, ``sentence`` or ``traceback``."""
        if self.trace or "Traceback" in self.err:
            return "traceback"
        return "sentence" if self.code else "fine"


def run_command(*words: object) -> Ended:
    """``sizewise WORDS``."""
    out, err, code, trace = io.StringIO(), io.StringIO(), 0, ""
    before, sys.argv = sys.argv, ["sizewise", *map(str, words)]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            program.main()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(bool(left.code))
    except BaseException:
        code, trace = 70, traceback.format_exc()
    finally:
        sys.argv = before
    return Ended(code, out.getvalue(), err.getvalue(), trace)


def assert_a_sentence(ended: Ended, where: str) -> None:
    """It was refused with a sentence: no traceback, and words on stderr that end as sentences do."""
    assert ended.kind == "sentence", f"{where}: {ended.kind}\n{ended.trace or ended.err or ended.out[-500:]}"
    assert ended.err.strip(), where
