"""From what the user asked for to complete settings: the recipe that fits, then the user's own words on top."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sizewise.criterion import Loss
from sizewise.data.dataset import Dataset, Image
from sizewise.errors import BadInput
from sizewise.models.build import canonical_name, size_multiple
from sizewise.train.config import MOST_PIXELS, RunConfig
from sizewise.train.datasets import OpenDatasets, full_file, full_path
from sizewise.train.recipes import KEEP_ASPECT, recipe_by_dims, recipe_by_layout, recipe_settings
from sizewise.train.task import Task, check_patch, make_criterion, make_task, make_weight_schedule

PATCH_VOXELS = 128**3  # what a 3D network with a batch of 2 trains on comfortably
FLAT = 3
LOOKED_AT = 12  # cases whose shapes decide the patch or the size
SIZE_STEP = 32  # what encoders of pictures divide sizes by
MOST_ASPECT = 2.0  # longer strips would take more memory than they are worth
OPENING = (
    "data", "data_name", "merge", "classes_csv", "ignore_index", "modality", "background", "groups", "split_seed"
)  # fmt: skip


@dataclass(frozen=True)
class ResolvedRun:
    """A run with nothing left to decide: what it is, made once, and carried along.

    Attributes:
        config: complete settings.
        task: the data set, its split, and what the network has to give.
        criterion: the loss.
    """

    config: RunConfig
    task: Task
    criterion: Loss

    @property
    def dataset(self) -> Dataset:
        """Opened."""
        return self.task.dataset


def resolve(given: dict[str, Any], *, datasets: OpenDatasets | None = None) -> ResolvedRun:
    """Complete settings, with the opened data set and the loss.

    Args:
        given: what the user set, by the names of RunConfig; ``data`` is a must.
        datasets: those that other runs opened.
    """
    datasets = datasets or OpenDatasets()
    given = given | {"data": full_path(given["data"])}
    given |= {name: full_file(given[name]) for name in ("groups", "split") if given.get(name)}
    name = given.get("recipe", "auto")
    if name == "auto":  # some recipes say how the data is read, so the layout chooses them before it is opened
        name = recipe_by_layout(datasets.layout(given["data"], given.get("data_name", "")).name)
    settings = _with_recipe(given, name) if name else given
    dataset = datasets.open(RunConfig(**{key: settings[key] for key in OPENING if key in settings}))
    name = name or recipe_by_dims(dataset.spatial_dims)
    config = RunConfig(**_with_recipe(given, name))
    config = replace(config, model=canonical_name(config.model))
    if config.encoder_weights != "none" and config.model.startswith("monai-") and "encoder_weights" not in given:
        config = replace(config, encoder_weights="none")
    task = make_task(config, dataset, datasets.split(dataset, config))
    criterion = make_criterion(config, task)  # an option that the loss does not have is found now, not after reading
    make_weight_schedule(config, criterion)  # likewise
    if dataset.spatial_dims == 2 and name in KEEP_ASPECT and "size" not in given:
        config = with_aspect(config, dataset)
    if dataset.spatial_dims == 3:
        config = with_patch(config, dataset, keep_spacing="spacing" in given)
        if name == "volume" and "batch_size" not in given:
            config = replace(config, batch_size=batch_for(config.patch))
        if name == "volume" and "augment" not in given and is_flat(config.patch):
            config = replace(config, augment="slices")
    check_patch(config, task)
    if config.early_stop and not task.split.validation:
        raise BadInput("`early_stop` goes by validation scores, and there are no validation cases. Leave it out.")
    return ResolvedRun(config, task, criterion)


def _with_recipe(given: dict[str, Any], name: str) -> dict[str, Any]:
    options = tuple(sorted(dict(given.get("loss_options", ())).items()))
    return recipe_settings(name) | given | {"recipe": name, "loss_options": options}


def look_at(dataset: Dataset) -> list[Image]:
    """A few training images from all over the data set."""
    cases = [case for case in dataset.cases if case.target and case.subset in ("", "train")]
    return [dataset.reader.image(case) for case in cases[:: max(1, len(cases) // LOOKED_AT)][:LOOKED_AT]]


def with_aspect(config: RunConfig, dataset: Dataset) -> RunConfig:
    """The recipe's size along the shorter side, and along the other what keeps the median picture's proportions."""
    shapes = np.array([image.pixels.shape[1:] for image in look_at(dataset)])
    return replace(config, size=size_for(np.median(shapes, axis=0), min(config.size)))


def size_for(shape: np.ndarray, shorter: int) -> tuple[int, ...]:
    """A size with ``shorter`` along the shorter side, in steps of SIZE_STEP, and at most MOST_ASPECT to 1.

    >>> size_for(np.array([720, 960]), 352), size_for(np.array([500, 500]), 352), size_for(np.array([400, 100]), 352)
    ((352, 480), (352, 352), (704, 352))
    """
    ratios = np.minimum(np.asarray(shape) / np.min(shape), MOST_ASPECT)
    return tuple(max(SIZE_STEP, SIZE_STEP * round(shorter * float(ratio) / SIZE_STEP)) for ratio in ratios)


def with_patch(config: RunConfig, dataset: Dataset, *, keep_spacing: bool) -> RunConfig:
    """Spacing and patch for volumes, where the user gave none: the median of both over the first cases.

    The patch covers the median volume where that is small, else as many voxels as PATCH_VOXELS, in its proportions.
    """
    keep_spacing = keep_spacing or bool(config.spacing or config.size)
    if config.patch and keep_spacing:
        return config
    images = look_at(dataset)
    spacings = np.array([image.spacing for image in images])
    if not keep_spacing and not np.allclose(spacings, spacings[0], rtol=0.01):
        middle = np.median(spacings, axis=0)
        config = replace(config, spacing=tuple(round(float(v), 4) for v in middle))
    if config.patch:
        return config
    steps = spacings / np.array(config.spacing) if config.spacing else np.ones_like(spacings)
    shapes = np.array([image.pixels.shape[1:] for image in images]) * steps
    if shapes.prod(axis=1).max() > MOST_PIXELS:
        raise BadInput(
            f"`spacing` {config.spacing} makes more than {MOST_PIXELS:,} voxels of an image. Use a larger one."
        )
    return replace(config, patch=patch_for(np.median(shapes, axis=0), size_multiple(config.model)))


def patch_for(shape: np.ndarray, multiple: int) -> tuple[int, ...]:
    """A patch in the proportions of ``shape``, a multiple of ``multiple``, of at most about PATCH_VOXELS.

    >>> patch_for(np.array([36, 50, 35]), 8)
    (40, 56, 40)
    >>> patch_for(np.array([512, 512, 100]), 16)
    (144, 144, 112)
    """
    patch = np.maximum(np.ceil(shape / multiple), 1) * multiple
    while patch.prod() > PATCH_VOXELS * 1.2 and patch.max() > multiple:
        patch[np.argmax(patch)] -= multiple
    return tuple(int(n) for n in patch)


def is_flat(patch: tuple[int, ...]) -> bool:
    """Whether a patch is more than FLAT times as long as it is thick, as of volumes with few, thick slices.

    >>> is_flat((144, 144, 16)), is_flat((48, 64, 48))
    (True, False)
    """
    return max(patch) > FLAT * min(patch)


def batch_for(patch: tuple[int, ...]) -> int:
    """2 patches of the largest size, and up to 8 of smaller ones: a step then fills a GPU about as well.

    >>> batch_for((128, 128, 128)), batch_for((40, 56, 40))
    (2, 8)
    """
    return int(min(8, max(2, 2 * PATCH_VOXELS // int(np.prod(patch)))))
