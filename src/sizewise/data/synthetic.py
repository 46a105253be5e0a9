"""The built-in data sets: ``synthetic`` (2D) and ``synthetic-3d``, drawn on the fly, without any file.

Scan-like images of an organ, a cyst at its edge and, in nine cases of ten, a small lesion inside it; see
``synthetic_scene`` for what makes them hard. The 3D volumes have thick slices. Source: this package; no licence needed.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, final

import numpy as np

from sizewise.data.dataset import Case, Dataset, Image, Reader, Subset
from sizewise.data.open_options import OpenOptions
from sizewise.data.synthetic_scene import Scene, draw_image, draw_labels
from sizewise.errors import BadInput
from sizewise.files import replacing

NAME = "synthetic"
CLASSES = ("background", "organ", "cyst", "lesion")
SCENES = {
    "synthetic": Scene(shape=(64, 64), spacing=(1.0, 1.0)),
    # Few steps of a short 3D run reach a lesion: it is larger and clearer here.
    "synthetic-3d": Scene(shape=(24, 48, 48), spacing=(2.5, 1.0, 1.0), lesion=(0.01, 0.03), contrast=2.0),
}
COUNTS: dict[str, dict[Subset, int]] = {
    "synthetic": {"train": 160, "validation": 40, "test": 60},
    "synthetic-3d": {"train": 60, "validation": 10, "test": 20},
}


def recognise(path: Path) -> bool:
    """The bare words. A folder of that name is meant by ``some/where/synthetic`` or its full path."""
    return str(path) in SCENES


def load(path: Path, *, options: OpenOptions) -> Dataset:
    """The data set of ``options.seed``; another seed gives other cases.

    >>> dataset = load(Path("synthetic"), options=OpenOptions())
    >>> dataset.reader.image(dataset.cases[0]).pixels.shape, dataset.classes[3]
    ((1, 64, 64), 'lesion')
    """
    name = str(path)
    if name not in SCENES:
        raise BadInput(f"No built-in data set is called '{name}'. Known: {', '.join(SCENES)}.")
    scene = SCENES[name]
    subsets = [subset for subset, count in COUNTS[name].items() for _ in range(count)]
    shares = ", ".join(
        f"{what} {100 * low:g} to {100 * high:g} %"
        for what, (low, high) in zip(CLASSES[1:], (scene.organ, scene.cyst, scene.lesion), strict=True)
    )
    return Dataset(
        name=name,
        classes=("background", "foreground") if options.merge else CLASSES,
        # No files: the target is drawn, so it stands as None rather than as an empty tuple, which would mean "none".
        cases=tuple(Case(f"case_{i:04d}", (), (None,), subset=subset) for i, subset in enumerate(subsets)),
        reader=SyntheticReader(scene, seed=options.seed, merge=options.merge),
        spatial_dims=len(scene.shape),
        modality=("MRI",),
        source=(
            f"drawn by sizewise, no download. Shares: {shares} (the later cut into the earlier); one case in ten has "
            "no lesion."
        ),
        licence="none needed",
    )


@final
@dataclass(frozen=True)
class SyntheticReader(Reader):
    """Draws case NNNN of ``case_NNNN``: a pure function of the seed and the number."""

    scene: Scene
    seed: int = 0
    merge: bool = False

    @property
    def length_unit(self) -> Literal["mm", "pixels"]:
        return "mm" if len(self.scene.shape) == 3 else "pixels"

    def image(self, case: Case) -> Image:
        labels = _labels(self.scene, self.seed, _number(case))
        return Image(draw_image(self.scene, labels, self.seed, _number(case))[None], self.scene.spacing)

    def target(self, case: Case) -> np.ndarray:
        labels = _labels(self.scene, self.seed, _number(case))
        return (labels > 0).astype(np.uint8) if self.merge else labels.copy()

    def write(self, labels: np.ndarray, case: Case, folder: Path) -> Path:
        if labels.shape != self.scene.shape:
            raise ValueError(f"write: {case.name} needs labels of shape {self.scene.shape}, got {labels.shape}.")
        if labels.ndim == 2:
            from sizewise.data.pictures import write_label_picture

            return write_label_picture(labels, folder / f"{case.name}.png")
        import nibabel as nib

        affine = np.diag([*self.scene.spacing, 1.0])
        path = folder / f"{case.name}.nii.gz"
        with replacing(path) as partial:
            nib.save(nib.Nifti1Image(labels.astype(np.uint8), affine), partial)
        return path


@lru_cache(maxsize=16)  # image and target of a case are asked for one after the other
def _labels(scene: Scene, seed: int, index: int) -> np.ndarray:
    return draw_labels(scene, seed, index)


def _number(case: Case) -> int:
    return int(case.name.removeprefix("case_"))
