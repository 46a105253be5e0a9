"""From what the user asked for to complete settings: the recipe that fits, then the user's own words on top."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sizewise.data.dataset import Dataset
from sizewise.data.recognise import SYNTHETIC
from sizewise.models.build import canonical_name, size_multiple
from sizewise.train.config import RunConfig
from sizewise.train.recipes import choose_recipe, recipe_settings
from sizewise.train.task import check_patch, make_criterion, make_task, open_data

PATCH_VOXELS = 128**3  # what a 3D network with a batch of 2 trains on comfortably
LOOKED_AT = 12  # cases whose shapes decide the patch


def resolve(given: dict[str, Any], *, dataset: Dataset | None = None) -> tuple[RunConfig, Dataset]:
    """Complete settings and the opened data set.

    Args:
        given: what the user set, by the names of RunConfig; ``data`` is a must.
        dataset: what an earlier call opened for the same data.
    """
    loss = given.get("loss", RunConfig.loss)
    given = given | {"data": full_path(given["data"])}
    opening = {
        name: given[name]
        for name in ("data", "data_name", "merge", "classes_csv", "ignore_index", "modality", "split_seed")
        if name in given
    }
    opened = dataset or open_data(RunConfig(**opening))
    name = given.get("recipe", "auto")
    name = choose_recipe(opened) if name == "auto" else name
    settings = recipe_settings(name, loss=loss) | given | {"recipe": name}
    settings["loss_options"] = _merged(recipe_settings(name, loss=loss)["loss_options"], given.get("loss_options", ()))
    config = RunConfig(**settings)
    if config.merge and not given.get("merge", False) and dataset is None:
        opened = open_data(config)  # the recipe wants one class
    config = replace(config, model=canonical_name(config.model))
    if config.encoder_weights != "none" and config.model.startswith("monai-") and "encoder_weights" not in given:
        config = replace(config, encoder_weights="none")
    task = make_task(config, opened)
    make_criterion(config, task)  # an option that the loss does not have is found now, not after reading the data
    if opened.spatial_dims == 3:
        config = with_patch(config, opened)
        if name == "volume" and "batch_size" not in given:
            config = replace(config, batch_size=batch_for(config.patch))
    check_patch(config, task)
    return config, opened


def full_path(data: str) -> str:
    """The same data has one name, from wherever the command was run; names of built-in data stay.

    >>> full_path("synthetic")
    'synthetic'
    """
    path = Path(data).expanduser()
    return data if data in SYNTHETIC or not path.exists() else str(path.resolve())


def with_patch(config: RunConfig, dataset: Dataset) -> RunConfig:
    """Spacing and patch for volumes, where the user gave none: the median of both over the first cases.

    The patch covers the median volume where that is small, else as many voxels as PATCH_VOXELS, in its proportions.
    """
    cases = [case for case in dataset.cases if case.target and case.subset in ("", "train")]
    chosen = cases[:: max(1, len(cases) // LOOKED_AT)][:LOOKED_AT]
    images = [dataset.reader.image(case) for case in chosen]
    spacings = np.array([image.spacing for image in images])
    if not config.spacing and not config.size and not np.allclose(spacings, spacings[0], rtol=0.01):
        middle = np.median(spacings, axis=0)
        config = replace(config, spacing=tuple(round(float(v), 4) for v in middle))
    if config.patch:
        return config
    steps = spacings / np.array(config.spacing) if config.spacing else np.ones_like(spacings)
    shapes = np.array([image.pixels.shape[1:] for image in images]) * steps
    return replace(config, patch=patch_for(np.median(shapes, axis=0), size_multiple(config.model)))


def patch_for(shape: np.ndarray, multiple: int, voxels: int = PATCH_VOXELS) -> tuple[int, ...]:
    """A patch in the proportions of ``shape``, a multiple of ``multiple``, of at most about ``voxels``.

    >>> patch_for(np.array([36, 50, 35]), 8)
    (40, 56, 40)
    >>> patch_for(np.array([512, 512, 100]), 16)
    (144, 144, 112)
    """
    patch = np.maximum(np.ceil(shape / multiple), 1) * multiple
    while patch.prod() > voxels * 1.2 and patch.max() > multiple:
        patch[np.argmax(patch)] -= multiple
    return tuple(int(n) for n in patch)


def batch_for(patch: tuple[int, ...]) -> int:
    """2 patches of the largest size, and up to 8 of smaller ones: a step then fills a GPU about as well.

    >>> batch_for((128, 128, 128)), batch_for((40, 56, 40))
    (2, 8)
    """
    return int(min(8, max(2, 2 * PATCH_VOXELS // int(np.prod(patch)))))


def _merged(recipe: tuple[tuple[str, Any], ...], given: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted((dict(recipe) | dict(given)).items()))
