"""What can go wrong in the middle of a run, as sentences. The run folder stays as it was at the last save."""

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

import torch

from sizewise.errors import RunFailed
from sizewise.train.config import RunConfig


@contextlib.contextmanager
def explained(config: RunConfig, folder: Path) -> Iterator[None]:
    """Turn what the machine throws into a sentence."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        shape = "×".join(map(str, config.patch or config.size)) or "whole images"
        raise RunFailed(
            f"out of memory with batches of {config.batch_size} ({shape}) in {config.model}. Use a smaller "
            f"--batch-size, --size or --patch. {folder} is intact. ({str(error).splitlines()[0]})"
        ) from error
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise RunFailed(
            f"the disk of {folder} is full. Free some space and continue with --resume; what was saved last is intact."
        ) from error


def check_finite(losses: dict[str, float], *, epoch: int, folder: Path) -> None:
    """A loss that is no number cannot recover: stop before it is saved."""
    bad = [f"{name} = {value}" for name, value in losses.items() if not abs(value) < float("inf")]
    if bad:
        raise RunFailed(
            f"the loss became no number in epoch {epoch} ({', '.join(bad)}). Lower --learning-rate, or use --precision "
            f"float32. {folder} holds the state of the last save."
        )
