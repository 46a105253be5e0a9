"""Checkpoints: the best weights, and the whole state to resume from. Written whole or not at all."""

from pathlib import Path
from typing import Any

import torch

from sizewise.errors import BadInput
from sizewise.files import replacing


def save_checkpoint(path: Path, content: dict[str, Any]) -> None:
    """Write tensors and plain values; the old file stays until the new one is complete on disk."""
    with replacing(path) as partial, open(partial, "wb") as file:  # given a path, torch hides that the disk is full
        try:
            torch.save(content, file)
        except RuntimeError as error:
            # where the disk fills up midway, torch finds its archive out of step while it closes it, and says only that
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise


def load_checkpoint(path: Path, *, run: str = "") -> dict[str, Any]:
    """Read one back, on the CPU, without executing anything that the file might carry.

    Args:
        path: the file.
        run: the hash of the settings that it must have been written under; empty: any.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_checkpoint(Path(folder) / "last.pt", {"epoch": 3})
    ...     load_checkpoint(Path(folder) / "last.pt")
    {'epoch': 3}
    """
    if not path.exists():
        raise BadInput(f"there is no checkpoint {path}. Train the run to the end, or resume it.")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise BadInput(f"the checkpoint {path} cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise BadInput(f"the checkpoint {path} holds no run.")
    if run and content.get("config") != run:
        raise BadInput(
            f"the checkpoint {path} was written under other settings ({content.get('config')}) than config.json beside "
            f"it has ({run}). One of them was copied from another run."
        )
    return content
