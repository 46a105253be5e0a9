"""From a decoded image to what the network sees: size or spacing, and intensities. Fitted once, then saved."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from sizewise.data.dataset import Case, Dataset, Image
from sizewise.errors import BadInput
from sizewise.json_files import check_kinds, read_json
from sizewise.parallel import map_threads
from sizewise.train.config import MOST_PIXELS, RunConfig
from sizewise.wording import counted

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
UNLABELLED = 255  # what padding gets in a prepared label map; a data set's own ignore_index becomes this too
FITTED_CASES = 50  # CT intensities are stable: more cases do not move the percentiles


@dataclass(frozen=True)
class Preparation:
    """How images are resized and scaled.

    Attributes:
        size: pixels, or () as stored.
        spacing: mm, or () as stored.
        scaling: "photo": (x/255 − mean)/std when a batch is taken, stored as uint8; "ct": clipped to ``clip``, then
            (x − mean)/std with the training foreground's; "case": each image by its own mean and deviation.
        clip: per channel, for "ct".
        mean: per channel.
        std: per channel.
    """

    size: tuple[int, ...]
    spacing: tuple[float, ...]
    scaling: Literal["photo", "ct", "case"]
    clip: tuple[tuple[float, float], ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def image(self, image: Image) -> Tensor:
        """(C, *S): uint8 for photographs, float16 else."""
        return self.prepared(torch.from_numpy(np.ascontiguousarray(image.pixels)), self.shape(image))

    def prepared(self, pixels: Tensor, shape: tuple[int, ...]) -> Tensor:
        """(C, *S) pixels at the spatial size ``shape``, scaled where that is done before they are stored."""
        if self.scaling == "photo":
            return resize(pixels, shape)
        pixels = pixels.float()
        if self.scaling == "ct":
            limits = torch.tensor(self.clip)
            pixels = (_clamp(pixels, limits) - _column(self.mean, pixels)) / _column(self.std, pixels)
        else:
            flat = pixels.flatten(1)
            std, mean = torch.std_mean(flat, dim=1, correction=0)
            pixels = ((flat - mean[:, None]) / std.clamp(min=1e-6)[:, None]).reshape(pixels.shape)
        return resize(pixels, shape).to(torch.float16)

    def shape(self, image: Image) -> tuple[int, ...]:
        """The spatial shape after resizing or resampling."""
        stored = image.pixels.shape[1:]
        if self.size:
            return self.size
        if self.spacing:
            steps = zip(stored, image.spacing, self.spacing, strict=True)
            found = tuple(max(1, round(length * old / new)) for length, old, new in steps)
            if math.prod(found) > MOST_PIXELS:
                size = "×".join(map(str, found))
                raise BadInput(
                    f"`spacing` {self.spacing} makes {size} voxels of an image of {stored}. Use a larger one."
                )
            return found
        return stored

    def spacing_of(self, image: Image) -> tuple[float, ...]:
        """Millimetres between neighbours after resizing or resampling."""
        lengths = zip(image.pixels.shape[1:], image.spacing, self.shape(image), strict=True)
        return tuple(stored * step / prepared for stored, step, prepared in lengths)

    def check(self, image: Image, case: str) -> None:
        """Raise BadInput where an image is not of the kind that this was fitted to."""
        channels, wanted = len(image.pixels), len(self.mean)
        if channels != wanted:
            raise BadInput(
                f"{case}: the image has {counted(channels, 'channel')}, and those that were trained on {wanted}. All "
                "must be alike."
            )
        if self.scaling == "photo" and image.pixels.dtype != np.uint8:
            raise BadInput(
                f"{case}: the image has {image.pixels.dtype} pixels, and the others 8 bits. All must be alike."
            )
        if image.pixels.dtype.kind == "f" and not np.isfinite(image.pixels).all():
            raise BadInput(
                f"{case}: the image has pixels that are not finite numbers (NaN or infinity), which would spoil every "
                "weight. Correct it; `sizewise data` names all such files."
            )

    def input_scale(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Factor and offset per channel that turn a stored batch into the network's input: x · factor + offset."""
        if self.scaling != "photo":  # already scaled when it was stored
            ones = torch.ones(len(self.mean), device=device)
            return ones, torch.zeros_like(ones)
        mean, std = torch.tensor(self.mean), torch.tensor(self.std)
        return (1 / (255 * std)).to(device), (-mean / std).to(device)

    def to_json(self) -> str:
        """As text, for the run folder."""
        return json.dumps(asdict(self), indent=1)

    @staticmethod
    def read(path: Path) -> "Preparation":
        """What :meth:`to_json` wrote to a file."""
        values = read_json(path)
        check_kinds(values, dict.fromkeys(("size", "spacing", "mean", "std", "clip"), list) | {"scaling": str}, path)
        numbers = [*values["size"], *values["spacing"], *values["mean"], *values["std"]]
        pairs = values["clip"]
        alike = len(values["mean"]) == len(values["std"]) > 0 and len(pairs) in (0, len(values["mean"]))
        if (
            values["scaling"] not in ("photo", "ct", "case")
            or not alike
            or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
            or not all(isinstance(one, int | float) for one in (*numbers, *(one for pair in pairs for one in pair)))
            or not all(math.isfinite(one) for one in numbers)
            or not all(one > 0 for one in (*values["size"], *values["spacing"], *values["std"]))
        ):
            raise BadInput(f"'{path}' holds no way to prepare images: it is damaged, or was edited. Copy it again.")
        tuples = {name: tuple(values[name]) for name in ("size", "spacing", "mean", "std")}
        return Preparation(**tuples, clip=tuple((low, high) for low, high in pairs), scaling=values["scaling"])


def as_target(labels: np.ndarray, shape: tuple[int, ...], ignore_index: int | None) -> Tensor:
    """(*S) or (C, *S) uint8, nearest neighbour; ignored pixels become UNLABELLED."""
    wide = torch.from_numpy(labels.astype(np.int16))
    if ignore_index is not None:
        wide = torch.where(wide == ignore_index, UNLABELLED, wide)
    extra = wide.dim() - len(shape)
    planes = wide if extra else wide[None]
    if planes.shape[1:] != shape:
        planes = F.interpolate(planes[None].float(), shape, mode="nearest-exact")[0].to(torch.int16)
    return (planes if extra else planes[0]).to(torch.uint8)


def fit_preparation(dataset: Dataset, cases: Sequence[Case], config: RunConfig) -> Preparation:
    """The preparation for a data set, with CT intensities taken from the training cases' foreground."""
    first = dataset.reader.image(cases[0])
    channels = len(first.pixels)
    if first.pixels.dtype == np.uint8:
        mean, std = (IMAGENET_MEAN, IMAGENET_STD) if channels == 3 else ((0.449,) * channels, (0.226,) * channels)
        return Preparation(config.size, config.spacing, "photo", (), mean, std)
    if any(word.upper() != "CT" for word in dataset.modality):
        ones = (1.0,) * channels
        return Preparation(config.size, config.spacing, "case", (), (0.0,) * channels, ones)
    chosen = cases[:: -(-len(cases) // FITTED_CASES)]
    values = map_threads(partial(_foreground_values, dataset), chosen, what="Measuring intensities")
    joined = np.concatenate(values, axis=1)
    low, high = np.percentile(joined, [0.5, 99.5], axis=1)
    clipped = np.clip(joined, low[:, None], high[:, None])
    clip = tuple((float(a), float(b)) for a, b in zip(low, high, strict=True))
    mean = tuple(float(v) for v in clipped.mean(axis=1))
    std = tuple(float(max(v, 1e-6)) for v in clipped.std(axis=1))
    return Preparation(config.size, config.spacing, "ct", clip, mean, std)


def _foreground_values(dataset: Dataset, case: Case) -> np.ndarray:
    """(C, n): intensities inside the regions, thinned; of the whole image where there are none."""
    image = dataset.reader.image(case).pixels
    pixels = image.reshape(len(image), -1)
    labels = dataset.reader.target(case)
    inside = (labels > 0) & (labels != (dataset.ignore_index if dataset.ignore_index is not None else -1))
    flat = (inside.any(axis=0) if inside.ndim > dataset.spatial_dims else inside).reshape(-1)
    chosen = pixels[:, flat] if flat.any() else pixels
    return chosen[:, :: max(1, chosen.shape[1] // 20_000)]


def resize(pixels: Tensor, shape: tuple[int, ...]) -> Tensor:
    """(C, *S) to another spatial shape: linear, antialiased in 2D; uint8 stays uint8."""
    if tuple(pixels.shape[1:]) == tuple(shape):
        return pixels
    if len(shape) == 2:
        return F.interpolate(pixels[None], shape, mode="bilinear", antialias=True)[0]
    mode = {1: "linear", 3: "trilinear"}[len(shape)]
    resized = F.interpolate(pixels[None].float(), shape, mode=mode)[0]
    return resized.round().to(torch.uint8) if pixels.dtype == torch.uint8 else resized


def _column(values: Sequence[float], like: Tensor) -> Tensor:
    return torch.tensor(values).view(-1, *[1] * (like.dim() - 1))


def _clamp(pixels: Tensor, limits: Tensor) -> Tensor:
    shape = (-1, *[1] * (pixels.dim() - 1))
    return torch.minimum(torch.maximum(pixels, limits[:, 0].view(shape)), limits[:, 1].view(shape))
