"""What can go wrong in the middle of a run, as sentences. The run folder stays as it was at the last save."""

import contextlib
import errno
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import torch

from sizewise.errors import BadInput, RunFailed
from sizewise.train.config import RunConfig

FULL = (errno.ENOSPC, errno.EDQUOT)
DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextlib.contextmanager
def explained(config: RunConfig, folder: Path) -> Iterator[None]:
    """Turn what the machine throws while training in ``folder`` into a sentence."""
    shape = "×".join(map(str, config.patch or config.size)) or "whole images"
    try:
        yield
    except BrokenProcessPool as error:
        raise RunFailed(
            f"a process that scores test cases was killed, most likely for lack of memory. {folder} is intact: "
            "resume the run."
        ) from error
    except (OSError, BadInput) as error:
        cause = error if isinstance(error, OSError) else error.__cause__  # tables say it themselves
        what = unwritable(cause, folder) if isinstance(cause, OSError) else ""
        if not what:
            raise
        raise RunFailed(f"{what}, and resume the run. {what_is_saved(folder)}") from error
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise RunFailed(
            f"out of memory with batches of {config.batch_size} ({shape}) in {config.model}. Use a smaller "
            f"`batch_size`, `size` or `patch`. {what_is_saved(folder)} ({first_line(error)})"
        ) from error
    except ValueError as error:
        if "Expected more than 1" not in str(error):  # torch's words when batch or instance norm has nothing to average
            raise
        raise RunFailed(
            f"{config.model} shrinks batches of {config.batch_size} ({shape}) to a single pixel, which it cannot "
            "normalise in training. Use a larger `size` or `patch`, or a larger `batch_size`."
        ) from error


@contextlib.contextmanager
def explained_prediction(out: Path) -> Iterator[None]:
    """Likewise while predicting to ``out``."""
    try:
        yield
    except OSError as error:
        what = unwritable(error, out)
        if not what:
            raise
        raise RunFailed(f"{what}, and predict again.") from error
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise RunFailed(
            f"out of memory while predicting. Predict with `device=cpu`, or on a larger machine. ({first_line(error)})"
        ) from error


def what_is_saved(folder: Path) -> str:
    """What a user may count on after a failure.

    >>> what_is_saved(Path("nowhere"))
    'Nothing had been saved yet.'
    """
    if not (folder / "last.pt").exists():
        return "Nothing had been saved yet."
    return f"{folder} is intact and holds the state of the last save."


def unwritable(error: OSError, folder: Path) -> str:
    """Why nothing more can be written to ``folder`` and what to do, without a full stop; empty for other errors.

    >>> unwritable(OSError(errno.ENOSPC, "No space left on device"), Path("run"))
    'the disk of run is full. Free some space'
    """
    if error.errno in FULL:
        return f"the disk of {folder} is full. Free some space"
    if error.errno == errno.EFBIG:
        return f"a file in {folder} reached the largest size that is allowed here. Raise it (ulimit -f)"
    if error.errno in DENIED:
        return f"'{error.filename or folder}' may not be written: {error.strerror}. Give yourself the permission"
    return ""


def is_out_of_memory(error: BaseException) -> bool:
    """On a GPU torch has an error of its own for it, on the CPU only words."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "DefaultCPUAllocator" in str(error)


def first_line(error: BaseException) -> str:
    r"""What the library said, without its stack.

    >>> first_line(RuntimeError("one\ntwo")), first_line(MemoryError())
    ('one', 'MemoryError')
    """
    return (str(error) or type(error).__name__).splitlines()[0]


def check_finite(losses: dict[str, float], *, epoch: int, folder: Path) -> None:
    """A loss that is no number cannot recover: stop before it is saved."""
    bad = [f"{name} = {value}" for name, value in losses.items() if not abs(value) < float("inf")]
    if bad:
        raise RunFailed(
            f"the loss became no number in epoch {epoch} ({', '.join(bad)}). Lower `learning_rate`, or use "
            f"`precision=float32`. {what_is_saved(folder)}"
        )
