"""The region sizes of a data set, read from its masks: all of them, or a seeded sample where that would take long."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from sizewise.advice.region_table import RegionTable
from sizewise.connected_components import label_components, scipy_ndimage
from sizewise.data.check import count_sizes
from sizewise.data.dataset import Case, Dataset, Subset
from sizewise.errors import BadInput
from sizewise.parallel import map_threads
from sizewise.wording import counted

MOST_PIXELS = 500_000_000  # pixels × classes that are looked at: a few seconds on two cores
FEWEST_CASES = 16  # of a sample, however large its images are


@dataclass(frozen=True)
class MaskRegions:
    """What the masks say.

    Attributes:
        table: the sizes.
        said: which cases these are, as a sentence.
    """

    table: RegionTable
    said: str


def mask_regions(
    dataset: Dataset, *, subsets: dict[str, Subset] | None = None, most_pixels: int = MOST_PIXELS
) -> MaskRegions:
    """Read the masks of the cases that are not set aside for testing.

    Args:
        dataset: opened.
        subsets: by case, as a table of the user's has them; None: the data set's own.
        most_pixels: pixels × classes; where there are more, cases are drawn with seed 0.

    Raises:
        BadInput: there is no mask, none has a region, or one cannot be read.
    """
    own = subsets if subsets is not None else {case.name: case.subset for case in dataset.cases}
    labelled = [case for case in dataset.cases if case.target]
    if not labelled:
        raise BadInput(
            f"{dataset.name}: no case has a mask, and region sizes are read from masks. Wanted images with label maps."
        )
    kept = [case for case in labelled if own.get(case.name, "") != "test"] or labelled
    chosen = _sample(dataset, kept, most_pixels)
    found = map_threads(partial(_regions, dataset), chosen, what="region sizes")
    regions = [one for one in found if one is not None]
    scored = len(dataset.scored)
    pieces_px = tuple(
        np.array([px for _, sizes in regions for px in sizes[at]], dtype=np.int64) for at in range(scored)
    )
    table = RegionTable(
        np.array([shares for shares, _ in regions]).reshape(len(regions), scored),
        dataset.spatial_dims,
        np.array([[len(one) for one in sizes] for _, sizes in regions]).reshape(len(regions), scored),
        pieces_px,
    )
    return MaskRegions(table, _said(len(chosen), len(kept), len(labelled), any(own.values())))


def _said(chosen: int, kept: int, labelled: int, subsets: bool) -> str:
    which = f"{kept} cases" if kept == labelled else f"{kept} of {labelled} cases, without those for testing,"
    if chosen < kept:
        return f"Sizes of {counted(chosen, 'case')}, drawn with seed 0 from {which.rstrip(',')}: more would take long."
    later = "" if subsets else "; which of them will be for testing is drawn when training starts"
    return f"Sizes of {which.rstrip(',') if kept > 1 or labelled > 1 else '1 case'}{later}."


def _sample(dataset: Dataset, cases: list[Case], most_pixels: int) -> list[Case]:
    """As many cases as the budget allows, by the size of the first one; in their order."""
    first = dataset.reader.target(cases[0])
    channels = 1 if dataset.activation == "sigmoid" else len(dataset.scored)
    most = max(FEWEST_CASES, most_pixels // max(1, first.size * channels))
    if len(cases) <= most:
        return cases
    drawn = np.random.default_rng(0).permutation(len(cases))[:most]
    return [cases[at] for at in sorted(drawn)]


def _regions(dataset: Dataset, case: Case) -> tuple[list[float], list[list[int]]] | None:
    """The share of each scored class, and the sizes of its components; None of a case without a valid pixel."""
    target = dataset.reader.target(case)
    sizes, strangers = count_sizes(dataset, case, target)
    if strangers:
        raise BadInput(
            f"{case.name} of {dataset.name} has the class ids {strangers}, wanted 0 to {len(dataset.classes) - 1}. "
            "Checking the data set lists all such cases."
        )
    if not sizes.valid:
        return None
    labels = [label - dataset.first_id for label in dataset.scored]
    shares = [sizes.counts[at] / sizes.valid for at in labels]
    if dataset.activation == "sigmoid":
        return shares, [_components(target[at] > 0) for at in labels]
    boxes = scipy_ndimage().find_objects(target.astype(np.int32) + 1, max_label=len(dataset.classes))
    return shares, [_components(target[boxes[at]] == at) if boxes[at] else [] for at in labels]


def _components(mask: np.ndarray) -> list[int]:
    numbers, count = label_components(mask)
    return np.bincount(numbers[mask])[1:].tolist() if count else []
