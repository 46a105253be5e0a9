"""Checkpoints: the best weights, and the whole state to resume from. Written whole or not at all."""

import zipfile
from pathlib import Path
from typing import Any

import torch

from sizewise.errors import BadInput
from sizewise.files import replacing
from sizewise.train.failures import first_line

WAY_OUT = "Copy the run folder again; or train the run anew in another folder."


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
    check_archive(path)
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise BadInput(f"the checkpoint {path} cannot be read: {first_line(error)}. {WAY_OUT}") from error
    if not isinstance(content, dict):
        raise BadInput(f"the checkpoint {path} holds no run.")
    if run and content.get("config") != run:
        raise BadInput(
            f"the checkpoint {path} was written under other settings ({content.get('config')}) than config.json beside "
            f"it has ({run}). One of them was copied from another run."
        )
    return content


def check_archive(path: Path) -> None:
    """Refuse a file whose bits are not those that were written.

    A checkpoint is a zip archive with a checksum for each tensor, which ``torch.load`` does not look at: a single bit
    may be the exponent of a weight, and nothing else would tell.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
    except PermissionError as error:
        raise BadInput(f"the checkpoint {path} may not be read: permission denied.") from error
    except Exception as error:  # zipfile and zlib have many words for it, and a damaged header may say anything
        raise BadInput(
            f"the checkpoint {path} cannot be read, since it is damaged or cut short: {first_line(error)}. {WAY_OUT}"
        ) from error
    if damaged is not None:
        raise BadInput(f"the checkpoint {path} is damaged: the checksum of {damaged} does not fit. {WAY_OUT}")
