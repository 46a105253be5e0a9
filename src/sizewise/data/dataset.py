"""What a data set is: cases with their files, named classes, and a reader that decodes both."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

Subset = Literal["", "train", "validation", "test"]


@dataclass(frozen=True)
class Case:
    """One image or volume with its target.

    Attributes:
        name: unique in its data set; label maps, tables and messages call the case by it.
        images: the file, or one file per modality, which become channels in this order.
        target: empty when there is none; one label map; or, multi-label, one file per class, where None means that
            the case has no such region.
        group: what must stay on one side of a split: a patient, a video. Empty: the case stands alone.
        subset: where the data set's authors put it, or empty where they leave that open.
    """

    name: str
    images: tuple[Path, ...]
    target: tuple[Path | None, ...] = ()
    group: str = ""
    subset: Subset = ""


@dataclass(frozen=True)
class Image:
    """A decoded image.

    Attributes:
        pixels: (C, *S): uint8 for photographs, float32 for anything measured (CT, MRI).
        spacing: millimetres between neighbours along each spatial axis; 1.0 where the file does not say.
    """

    pixels: np.ndarray
    spacing: tuple[float, ...]


class Reader(ABC):
    """Decodes the cases of one data set, and writes label maps that lie over its images. Can be pickled."""

    @abstractmethod
    def image(self, case: Case) -> Image:
        """The image; raises BadInput with the file's name when it cannot be read."""

    @abstractmethod
    def target(self, case: Case) -> np.ndarray:
        """(*S) class ids of an integer dtype; multi-label: (C, *S) uint8, 1 inside the region."""

    def check_size(self, case: Case) -> None:  # noqa: B027 readers of made-up images have nothing to check
        """Raise BadInput where the target does not fit the image, as far as the headers of the files say it."""

    @abstractmethod
    def write(self, labels: np.ndarray, case: Case, folder: Path) -> Path:
        """Write a label map in the geometry of the case's image to ``folder``; returns the file, named by the case."""

    @property
    def length_unit(self) -> Literal["mm", "pixels"]:
        """What distances in its images are in: pixels where the files have no spacing."""
        return "mm"

    def as_stored(self, channels: np.ndarray, case: Case) -> np.ndarray:
        """(C, *S) values with the axes as they lie in the label map that :meth:`write` makes of the case."""
        return channels


@dataclass(frozen=True)
class Dataset:
    """Cases, classes and how to read them.

    Attributes:
        name: the data set's own, such as ``kvasir-seg``.
        classes: softmax: by label, background first; sigmoid: by channel, without background.
        fractions: of train, validation and test, where the authors gave no subsets.
        modality: one word per channel group, such as ``RGB``, ``CT``, ``MRI``: decides how intensities are scaled.
        activation: ``sigmoid`` where regions may overlap.
        ignore_index: the label of pixels that count for nothing.
        background: whether label 0 is what is left over, which no score counts. Multi-label channels have none.
        notes: what the user has to know, such as how frames were grouped.
    """

    name: str
    classes: tuple[str, ...]
    cases: tuple[Case, ...]
    reader: Reader
    spatial_dims: int
    modality: tuple[str, ...] = ("RGB",)
    activation: Literal["softmax", "sigmoid"] = "softmax"
    ignore_index: int | None = None
    background: bool = True
    fractions: tuple[float, float, float] = (0.8, 0.1, 0.1)
    source: str = ""
    licence: str = ""
    notes: tuple[str, ...] = ()

    @property
    def scored(self) -> dict[int, str]:
        """The classes that scores count, by their id in tables."""
        named = dict(enumerate(self.classes, start=self.first_id))
        return {k: name for k, name in named.items() if k or not self.background}

    @property
    def first_id(self) -> int:
        """The id of the first of ``classes`` in tables: labels begin at 0, multi-label channels are counted from 1."""
        return 1 if self.activation == "sigmoid" else 0
