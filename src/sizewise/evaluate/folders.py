"""Score a folder of predicted label maps against a folder of true ones."""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from sizewise.data.file_names import is_volume
from sizewise.data.volumes import FARTHEST_MM
from sizewise.errors import BadInput
from sizewise.evaluate.label_pair import WHITE, read_pair
from sizewise.evaluate.matching import Pair, match_folders
from sizewise.metrics.case import RegionScore, score_case, true_negative
from sizewise.metrics.cases_csv import Row, score_rows
from sizewise.metrics.registry import LengthUnit
from sizewise.parallel import LARGEST_JOBS, available_cores, map_in_processes
from sizewise.progress import track


@dataclass(frozen=True)
class Evaluation:
    """What came out.

    Attributes:
        rows: the lines of ``cases.csv``.
        unscored: cases without a valid pixel.
        unmatched: predictions without a target.
        left_out: targets without a prediction, where that was allowed.
        absent: ids below the largest that no file holds; they are not scored.
        length_unit: what distances are in: pixels, for pictures of which no spacing was said.
    """

    rows: tuple[Row, ...]
    unscored: tuple[str, ...]
    unmatched: tuple[str, ...]
    left_out: tuple[str, ...]
    absent: tuple[int, ...]
    length_unit: LengthUnit = "mm"


@dataclass(frozen=True)
class Settings:
    """How the cases are scored; see ``evaluate_folders``."""

    nsd_tolerance: float
    classes: tuple[int, ...] | None
    ignore_index: int | None
    spacing: tuple[float, ...]
    background: str = "0"
    regions: tuple[tuple[int, ...], ...] = ()

    @property
    def left_out(self) -> set[int | None]:
        """The ids that are scored only where they are named."""
        return {self.ignore_index} if self.background == "none" else {0, self.ignore_index}


@dataclass(frozen=True)
class ScoredCase:
    """One case, as a worker sends it back: its scores, and what the two files held."""

    pair: Pair
    scores: list[RegionScore]
    valid_px: int
    white: tuple[bool, bool]
    holds_ids: tuple[bool, bool]


def evaluate_folders(
    predictions: Path,
    targets: Path,
    *,
    nsd_tolerance: float = 1.0,
    classes: Sequence[int] | None = None,
    ignore_index: int | None = None,
    spacing: Sequence[float] = (1.0, 1.0),
    cases: str = "all",
    jobs: int | None = None,
    background: str = "0",
    regions: Sequence[Sequence[int]] = (),
    names: Collection[str] | None = None,
) -> Evaluation:
    """Score every target's prediction, with a process per core.

    Label maps are PNG, BMP, TIFF, JPEG (black and white) or NIfTI, matched by stem. Values are class ids, 0 is
    background; a folder of 0 and 255 is read as 0 and 1. A NIfTI slice (H, W, 1) is scored in 2D.

    Args:
        predictions: the folder with the predicted maps.
        targets: the folder with the true ones.
        nsd_tolerance: mm (pixels, for pictures without a spacing) by which a surface may be off.
        classes: the ids to score; every other id is then background. None: all ids but 0 found in either folder.
        ignore_index: pixels with this target count for nothing.
        spacing: mm between the rows and between the columns of pictures; NIfTI files bring their own.
        cases: "all": every target must have a prediction; "predicted": targets without one are left out.
        jobs: processes; None: one per core.
        background: ``"none"`` scores label 0 like every other class.
        regions: sets of ids that are scored as one each, and may overlap, as nnU-Net trains them; class 1 is then the
            first of them.
        names: the cases to score, where not all that have a prediction.

    Raises:
        BadInput: whatever is wrong with files or settings, with the file's name.
    """
    settings = _checked_settings(nsd_tolerance, classes, ignore_index, spacing, background, regions)
    if jobs is not None and not 1 <= jobs <= LARGEST_JOBS:
        raise BadInput(f"`jobs` must be from 1 to {LARGEST_JOBS}, got {jobs}.")
    pairs, unmatched, left_out = match_folders(predictions, targets, cases=cases)
    pairs = [pair for pair in pairs if names is None or pair.name in names]
    if settings.spacing != (1.0, 1.0) and (volume := next((p.target for p in pairs if is_volume(p.target)), None)):
        raise BadInput(f"`spacing` is for pictures, but '{volume}' is NIfTI, which brings its own. Leave it out.")
    done: list[ScoredCase] = []
    work = map_in_processes(partial(_score_pair, settings=settings), pairs, jobs=jobs or available_cores())
    for case in track(work, what="scoring", total=len(pairs)):
        done.append(case)
        _refuse_two_conventions(done)
    found = tuple(sorted({score.class_id for case in done for score in case.scores}))
    scored = tuple(range(1, len(settings.regions) + 1)) or settings.classes or found
    if settings.classes is None:
        _check_found(found)
    return Evaluation(
        rows=tuple(score_rows({case.pair.name: _all_classes(case, scored) for case in done if case.valid_px})),
        unscored=tuple(case.pair.name for case in done if not case.valid_px),
        unmatched=tuple(unmatched),
        left_out=tuple(left_out),
        absent=tuple(set(range(min(scored) and 1, max(scored) + 1)) - set(found)) if settings.classes is None else (),
        length_unit="mm" if settings.spacing != (1.0, 1.0) or is_volume(pairs[0].target) else "pixels",
    )


def _score_pair(pair: Pair, *, settings: Settings) -> ScoredCase:
    """Runs in a worker."""
    maps = read_pair(pair, classes=settings.classes, ignore_index=settings.ignore_index)
    both = (maps.predicted, maps.target)
    ids = [{0, 1} - settings.left_out if one.white else one.values - settings.left_out for one in both]
    classes = settings.classes or tuple(sorted(ids[0] | ids[1]))
    predicted, target = maps.predicted.labels, maps.target.labels
    ignored = 0 if settings.ignore_index is None else int((target == settings.ignore_index).sum())
    score = partial(score_case, spacing=maps.target.spacing or settings.spacing, nsd_tolerance=settings.nsd_tolerance)
    if settings.regions:
        scores = _score_regions(predicted, target, settings, score)
    else:
        scores = score(predicted, target, classes=classes, ignore_index=settings.ignore_index)
    return ScoredCase(
        pair,
        scores,
        valid_px=target.size - ignored,
        white=(both[0].white, both[1].white),
        holds_ids=tuple(not one.white and bool(held - {0}) for one, held in zip(both, ids, strict=True)),  # type: ignore[arg-type]
    )


def _score_regions(
    predicted: np.ndarray, target: np.ndarray, settings: Settings, score: Callable[..., list[RegionScore]]
) -> list[RegionScore]:
    """Each region as a map of its own, since they may overlap; what is ignored is so in all of them."""
    scores = []
    for number, ids in enumerate(settings.regions, start=1):
        here, there = (np.isin(labels, ids).astype(np.uint8) for labels in (predicted, target))
        if settings.ignore_index is not None:
            there[target == settings.ignore_index] = WHITE
        found = score(here, there, classes=[1], ignore_index=None if settings.ignore_index is None else WHITE)
        scores += [replace(one, class_id=number) for one in found]
    return scores


def _all_classes(case: ScoredCase, classes: Sequence[int]) -> list[RegionScore]:
    """The case's scores; a class that only other cases have is a true negative here."""
    known = {score.class_id: score for score in case.scores}
    return [known.get(class_id) or true_negative(class_id, valid_px=case.valid_px) for class_id in classes]


def _checked_settings(
    nsd_tolerance: float,
    classes: Sequence[int] | None,
    ignore_index: int | None,
    spacing: Sequence[float],
    background: str,
    regions: Sequence[Sequence[int]],
) -> Settings:
    if not (math.isfinite(nsd_tolerance) and nsd_tolerance >= 0):
        raise BadInput(f"`nsd_tolerance` must be a number >= 0, in mm, got {nsd_tolerance}.")
    if len(spacing) != 2 or not all(math.isfinite(step) and step > 0 for step in spacing):
        raise BadInput(f"`spacing` must be two numbers > 0, of rows and columns in mm, got {tuple(spacing)}.")
    if not all(1 / FARTHEST_MM <= step <= FARTHEST_MM for step in spacing):
        raise BadInput(f"`spacing` must lie between {1 / FARTHEST_MM:g} and {FARTHEST_MM:g} mm, got {tuple(spacing)}.")
    if classes is not None and (not classes or min(classes) < 0 or len(set(classes)) < len(classes)):
        raise BadInput(f"`classes` must be different ids >= 0, got {list(classes)}.")
    if classes is not None and ignore_index in classes:
        raise BadInput(f"`ignore_index={ignore_index}` is among the `classes`; it can be one or the other.")
    if ignore_index is not None and not abs(ignore_index) < 2**31:
        raise BadInput(f"`ignore_index` must be a value that label maps can hold, got {ignore_index}.")
    if background not in ("0", "none"):
        raise BadInput(f"`background` must be 0 or none, got {background!r}.")
    if background == "none" and classes is not None and 0 not in classes:
        raise BadInput("`background=none` scores every class, but `classes` leaves 0 out. Give one of the two.")
    if regions and classes is not None:
        raise BadInput("`regions` and `classes` both say what is scored. Give one of the two.")
    if any(not ids or min(ids) < 0 or len(set(ids)) < len(ids) for ids in regions):
        raise BadInput(f"`regions` must be sets of different ids >= 0, got {[list(ids) for ids in regions]}.")
    if len({frozenset(ids) for ids in regions}) < len(regions):
        raise BadInput(f"`regions` must differ from each other, got {[list(ids) for ids in regions]}.")
    if any(ignore_index in ids for ids in regions):
        raise BadInput(f"`ignore_index={ignore_index}` is in one of the `regions`; it can be one or the other.")
    if regions:
        classes = sorted({one for ids in regions for one in ids})
    chosen = None if classes is None else tuple(classes)
    together = tuple(tuple(ids) for ids in regions)
    return Settings(nsd_tolerance, chosen, ignore_index, tuple(spacing), background, together)


def _refuse_two_conventions(cases: Sequence[ScoredCase]) -> None:
    """A folder is black and white or holds ids: with both, 255 is either class 1 or something to ignore."""
    for side, argument in enumerate(("predictions", "targets")):
        white = next((case for case in cases if case.white[side]), None)
        ids = next((case for case in cases if case.holds_ids[side]), None)
        if white and ids:
            files = [(case.pair.predicted, case.pair.target)[side] for case in (white, ids)]
            raise BadInput(
                f"`{argument}`: '{files[0]}' holds 0 and 255, but '{files[1]}' class ids. If 255 marks pixels to "
                f"leave out, say `ignore_index={WHITE}`; else save all maps of the folder in one way."
            )


def _check_found(found: Sequence[int]) -> None:
    """Where no classes are named the ids must look like 1, …, K−1; a few may be absent from a small folder."""
    if not found:
        raise BadInput("no label map holds a class: every valid pixel is 0. To count true negatives, name `classes`.")
    if found[-1] > 2 * len(found):
        listed = ", ".join(map(str, found[:12]))
        raise BadInput(f"the label maps hold the ids {listed}. Wanted 1, 2, …, K−1. If they are meant, name `classes`.")
