"""Runs of a second or two, and data sets that live in memory."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sizewise.data.dataset import Case, Dataset, Image, Reader
from sizewise.train.config import Runtime
from sizewise.train.history import read_history
from sizewise.train.preparation import Preparation
from sizewise.train.resolve import resolve
from sizewise.train.run import run_training

CPU = Runtime(accelerator="cpu", workers=1, save_seconds=0.0)
TINY = {
    "recipe": "demo",
    "model": "monai-unet-small",
    "size": (16, 16),
    "epochs": 1,
    "batch_size": 2,
    "steps_per_epoch": 2,
}
PHOTO = Preparation(size=(), spacing=(), scaling="photo", clip=(), mean=(0.5,), std=(0.25,))
TIMES = ("seconds", "train_seconds")


def train_tiny(data, out: Path, *, runtime: Runtime = CPU, resume: bool = False, **settings) -> list[str]:
    """Resolve and run; returns the lines for the screen."""
    lines: list[str] = []
    run = resolve(TINY | {"data": str(data)} | settings)
    run_training(run, folder=out, runtime=runtime, resume=resume, log=lines.append)
    return lines


def history_without_times(folder: Path) -> list[dict[str, float]]:
    return [{k: v for k, v in row.items() if k not in TIMES} for row in read_history(folder / "history.csv")]


@dataclass
class MemoryReader(Reader):
    """Cases by name."""

    images: dict[str, np.ndarray] = field(repr=False)
    targets: dict[str, np.ndarray] = field(repr=False)
    spacing: tuple[float, ...] = (1.0, 1.0)

    def image(self, case: Case) -> Image:
        return Image(self.images[case.name], self.spacing)

    def target(self, case: Case) -> np.ndarray:
        return self.targets[case.name]

    def write(self, labels, case, folder):
        path = folder / f"{case.name}.npy"
        np.save(path, labels)
        return path


def memory_dataset(images, targets, **more) -> Dataset:
    """A data set of arrays (C, *S) and (*S)."""
    dims = next(iter(images.values())).ndim - 1
    return Dataset(
        name="memory",
        classes=more.pop("classes", ("background", "region")),
        cases=tuple(Case(name, (), (None,)) for name in images),
        reader=MemoryReader(images, targets, more.pop("spacing", (1.0,) * dims)),
        spatial_dims=dims,
        **more,
    )


def numbered_dataset(shapes, *, channels=1, classes=3, **more) -> Dataset:
    """Images whose pixels count upwards from a value of their own, with random labels."""
    rng = np.random.default_rng(0)
    names = [f"case{number}" for number in range(len(shapes))]
    images, targets = {}, {}
    for number, (name, shape) in enumerate(zip(names, shapes, strict=True)):
        count = channels * int(np.prod(shape))
        images[name] = ((np.arange(count) + 17 * number) % 251).astype(np.uint8).reshape(channels, *shape)
        targets[name] = rng.integers(0, classes, shape).astype(np.uint8)
    return memory_dataset(images, targets, classes=tuple(f"class{k}" for k in range(classes)), **more)
