"""The store for data sets that are larger than memory: decoded once to a cache folder, then mapped from there."""

import errno
import hashlib
import json
import os
import shutil
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import sizewise
from sizewise.data.dataset import Case, Dataset
from sizewise.errors import BadInput, RunFailed
from sizewise.files import PARTIAL, replacing_folder
from sizewise.outside_names import plain_letters
from sizewise.train.preparation import Preparation
from sizewise.train.store import Prepared, Store, label_channels, pack

DTYPES = {"torch.uint8": np.uint8, "torch.float16": np.float16}
ABANDONED_S = 24 * 3600


def cache_folder() -> Path:
    """Where what is too large for memory goes: ``SIZEWISE_CACHE``, or ``~/.cache/sizewise``."""
    return Path(os.environ.get("SIZEWISE_CACHE") or Path.home() / ".cache" / "sizewise")


def cached_store(
    dataset: Dataset, cases: Sequence[Case], preparation: Preparation, decoded: Iterator[Prepared]
) -> Store:
    """The store of these cases, read from the cache folder, which is filled first where it does not hold them.

    Each entry can be deleted at any time between runs.
    """
    root = cache_folder()
    folder = root / f"{plain_letters(dataset.name)}-{_key(dataset, cases, preparation)}"
    index = _read_index(folder)
    if index is None:
        try:
            _fill(folder, decoded)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise RunFailed(
                    f"the disk of the cache folder {root} is full. Free some space, or set SIZEWISE_CACHE to a folder "
                    "on a larger disk, and resume the run."
                ) from error
            raise BadInput(
                f"the cache folder {root} cannot be written: {error.strerror or error}. Set SIZEWISE_CACHE to a folder "
                "that can."
            ) from error
        index = _read_index(folder)
        if index is None:
            raise RunFailed(
                f"the cache folder {root} does not give back what was written to it. Its disk may be failing."
            )
    with np.load(folder / "points.npz") as saved:
        points = [tuple(saved[f"{i}_{j}"] for j in range(n)) for i, n in enumerate(index["points"])]
    shapes = [tuple(shape) for shape in index["shapes"]]
    images, labels = (_mapped(folder / f"{name}.bin", index[name]) for name in ("images", "labels"))
    return pack(cases, images, labels, shapes, points, label_channels=index["label_channels"], on_disk=True)


def _fill(folder: Path, decoded: Iterator[Prepared]) -> None:
    """Write an entry whole or not at all. Another process may win the race: its entry is the same."""
    for old in folder.parent.glob(f"{PARTIAL}*"):  # of a process that was killed; a living one writes within the day
        if time.time() - max((one.stat().st_mtime for one in (old, *old.glob("*"))), default=0) > ABANDONED_S:
            shutil.rmtree(old, ignore_errors=True)
    with replacing_folder(folder) as partial:
        _write(partial, decoded)
        if folder.exists() and _read_index(folder) is None:
            shutil.rmtree(folder)


def _read_index(folder: Path) -> dict[str, Any] | None:
    """The index of an entry whose bits are those that were written; None where it has to be made (again)."""
    try:
        text, _, total = (folder / "index.json").read_text(encoding="utf-8").rpartition("\n")
        if int(total) != zlib.crc32(text.encode()):
            return None
        index = json.loads(text)
        return index if all(_crc(folder / name) == crc for name, crc in index["crc32"].items()) else None
    except (OSError, ValueError, KeyError, AttributeError):
        return None


def _crc(path: Path) -> int:
    """About as fast as the disk, and training reads the file anyway."""
    total = 0
    with path.open("rb") as file:
        while block := file.read(2**22):
            total = zlib.crc32(block, total)
    return total


def _mapped(file: Path, dtype: str) -> Tensor:
    # copy-on-write: torch wants a writable array, and the file must not change
    return torch.from_numpy(np.memmap(file, dtype=DTYPES[dtype], mode="c"))


def _write(folder: Path, decoded: Iterator[Prepared]) -> None:
    index: dict[str, object] = {}
    shapes, counts = [], []
    points: dict[str, np.ndarray] = {}
    with open(folder / "images.bin", "wb") as images, open(folder / "labels.bin", "wb") as labels:
        for number, one in enumerate(decoded):
            images.write(one.image.contiguous().numpy().tobytes())
            labels.write(one.labels.contiguous().numpy().tobytes())
            shapes.append(list(one.image.shape))
            counts.append(len(one.points))
            points |= {f"{number}_{j}": array for j, array in enumerate(one.points)}
            index |= {"images": str(one.image.dtype), "labels": str(one.labels.dtype)}
            index["label_channels"] = label_channels(one)
    np.savez(folder / "points.npz", **points)  # type: ignore[arg-type]
    index["crc32"] = {file.name: _crc(file) for file in folder.iterdir()}
    text = json.dumps(index | {"shapes": shapes, "points": counts})
    (folder / "index.json").write_text(f"{text}\n{zlib.crc32(text.encode())}", encoding="utf-8")


def _key(dataset: Dataset, cases: Sequence[Case], preparation: Preparation) -> str:
    """Changes with the version, the preparation, and each file's name, size and time."""
    parts = [sizewise.__version__, preparation.to_json(), repr(dataset.reader), repr(dataset.classes)]
    for case in cases:
        for file in (*case.images, *case.target):
            if file is not None and file.exists():
                stat = file.stat()
                parts.append(f"{file.resolve()} {stat.st_size} {stat.st_mtime_ns}")
        parts.append(case.name)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
