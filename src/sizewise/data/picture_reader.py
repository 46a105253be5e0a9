"""The readers of 2D data sets: one label map per picture, or one mask per region."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final

import numpy as np

from sizewise.data.dataset import Case, Image, Reader
from sizewise.data.label_rule import LabelRule
from sizewise.data.pictures import picture_size, read_picture, read_region, write_label_picture
from sizewise.errors import BadInput
from sizewise.outside_names import case_file, file_name


@final
@dataclass(frozen=True)
class PictureReader(Reader):
    """Reads pictures with one label map each.

    Attributes:
        rule: how mask values become class ids.
        channels: 1 or 3 for every image of the data set: grey ones among colour ones are repeated, so that all
            cases have one shape.
    """

    rule: LabelRule
    channels: int = 3

    @property
    def length_unit(self) -> Literal["mm", "pixels"]:
        return "pixels"

    def image(self, case: Case) -> Image:
        return read_case_picture(case, self.channels)

    def target(self, case: Case) -> np.ndarray:
        return self.rule.read(_only_mask(case))

    def check_size(self, case: Case) -> None:
        check_mask_size(case)

    def write(self, labels: np.ndarray, case: Case, folder: Path) -> Path:
        """Write ``folder/<case>.png``: class ids as the pixel values, with a palette that makes them visible."""
        return write_label_picture(_fitting(labels, case), case_file(folder, case.name, ".png"))


@final
@dataclass(frozen=True)
class RegionReader(Reader):
    """Reads pictures with one mask per class, where regions may overlap and a missing mask is an empty region.

    Attributes:
        classes: one name per mask, in the order of ``Case.target``.
        merge: join the regions into one: the target is then (H, W) with 0 and 1 instead of (C, H, W).
        channels: 1 or 3 for every image of the data set.
    """

    classes: tuple[str, ...]
    merge: bool = False
    channels: int = 3

    @property
    def length_unit(self) -> Literal["mm", "pixels"]:
        return "pixels"

    def image(self, case: Case) -> Image:
        return read_case_picture(case, self.channels)

    def target(self, case: Case) -> np.ndarray:
        if not case.target:
            raise BadInput(f"Case '{case.name}' ('{case.images[0]}') has no masks.")
        size = picture_size(case.images[0])
        regions = np.zeros((1 if self.merge else len(case.target), *size), dtype=np.uint8)
        for channel, path in enumerate(case.target):
            if path is None:
                continue
            region = read_region(path)
            if region.shape != size:
                raise BadInput(
                    f"'{path}' has {region.shape[0]}×{region.shape[1]} pixels (height × width), but its image "
                    f"'{case.images[0]}' has {size[0]}×{size[1]}."
                )
            into = regions[0 if self.merge else channel]
            np.bitwise_or(into, region, out=into)
        return regions[0] if self.merge else regions

    def check_size(self, case: Case) -> None:
        check_mask_size(case)

    def write(self, labels: np.ndarray, case: Case, folder: Path) -> Path:
        """Write label maps named by the case.

        Merged, (H, W): ``folder/<case>.png`` with 0 and 1. Multi-label, (C, H, W): ``folder/<class>/<case>.png`` with
        0 and 1 for each class, empty regions included; returns the first of them.
        """
        if self.merge:
            return write_label_picture(_fitting(labels, case), case_file(folder, case.name, ".png"))
        if len(labels) != len(self.classes):
            raise ValueError(f"RegionReader.write: wanted {len(self.classes)} channels, got {labels.shape}.")
        paths = [
            write_label_picture(_fitting(region, case), case_file(folder / file_name(name), case.name, ".png"))
            for name, region in zip(self.classes, labels, strict=True)
        ]
        return paths[0]


def read_case_picture(case: Case, channels: int) -> Image:
    """The case's image with exactly ``channels`` channels."""
    pixels = read_picture(case.images[0])
    if channels == 3 and len(pixels) == 1:
        pixels = np.repeat(pixels, 3, axis=0)
    if len(pixels) != channels:
        raise BadInput(f"'{case.images[0]}' is in colour, but the data set's other images are grey.")
    return Image(pixels, (1.0, 1.0))


def check_mask_size(case: Case) -> None:
    """Each mask has as many pixels as its image, by their headers."""
    size = picture_size(case.images[0])
    for path in case.target:
        if path is not None and (found := picture_size(path)) != size:
            raise BadInput(
                f"case {case.name}: '{path}' has {found[0]}×{found[1]} pixels (height × width), but its image "
                f"'{case.images[0]}' has {size[0]}×{size[1]}."
            )


def _only_mask(case: Case) -> Path:
    if len(case.target) != 1 or case.target[0] is None:
        raise BadInput(f"Case '{case.name}' ('{case.images[0]}') has no mask.")
    return case.target[0]


def _fitting(labels: np.ndarray, case: Case) -> np.ndarray:
    size = picture_size(case.images[0])
    if labels.shape != size:
        raise ValueError(f"write: the label map of '{case.name}' must be {size} as its image is, got {labels.shape}.")
    return labels
