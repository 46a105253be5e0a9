"""Cases to look at: the image, the truth, and what each loss made of it, as small pictures inside the page."""

import base64
import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sizewise.errors import BadInput
from sizewise.report.inks import CLASS_INKS, ERROR_INKS, as_rgb, class_inks, class_swatch, error_inks
from sizewise.report.means import case_scores
from sizewise.report.scores import Scores

LONGEST_PX = 256
MOST_PICTURES = 600  # base images and masks on the page
GALLERY_NOTE = (
    "Cases are ordered by their DSC, the mean over losses. Each picture is of the run with the lowest seed; of a "
    "volume it is one slice, while the DSC is of the whole case. The worst, median and best are in figures/overlays-*. "
    "Pictures are kept of at most a hundred cases, taken evenly from the list of names, not by score."
)


class Pictured(Protocol):
    """A run, or a model from elsewhere, with pictures of some cases."""

    @property
    def setting(self) -> str: ...
    @property
    def arm(self) -> str: ...
    @property
    def seed(self) -> str: ...
    @property
    def overlays(self) -> Mapping[str, Path]: ...


@dataclass(frozen=True)
class Overlay:
    """One saved picture: (H, W, 3), (H, W), (H, W)."""

    image: np.ndarray
    target: np.ndarray
    predicted: np.ndarray


@dataclass(frozen=True)
class ShownCase:
    """A case with one picture per loss.

    Attributes:
        case: its name.
        score: mean DSC over the losses; NaN where none has a value.
        files: by arm, the overlay of the run with the lowest seed.
        scores: by arm, that run's DSC of the case.
        seeds: by arm.
    """

    case: str
    score: float
    files: dict[str, Path]
    scores: dict[str, float]
    seeds: dict[str, str]


def shown_cases(runs: Sequence[Pictured], scores: Scores) -> dict[str, list[ShownCase]]:
    """By setting: the cases with pictures of every loss that has any, from worst to best, as many as a page holds."""
    lookup = _case_lookup(scores)
    groups: dict[str, list[ShownCase]] = {}
    for setting in scores.settings:
        first: dict[str, Pictured] = {}
        for run in sorted(
            (r for r in runs if r.setting == setting and r.overlays), key=lambda r: (len(r.seed), r.seed)
        ):
            first.setdefault(run.arm, run)
        first = {arm: first[arm] for arm in scores.arm_names if arm in first}  # in the order of the tables
        if not first:
            continue
        common = set.intersection(*(set(run.overlays) for run in first.values()))
        cases = []
        for case in sorted(common):
            found = {arm: lookup.get((setting, arm, run.seed, case), np.nan) for arm, run in first.items()}
            known = [value for value in found.values() if np.isfinite(value)]
            files = {arm: run.overlays[case] for arm, run in first.items()}
            seeds = {arm: run.seed for arm, run in first.items()}
            cases.append(ShownCase(case, float(np.mean(known)) if known else np.nan, files, found, seeds))
        cases = [one for one in cases if np.isfinite(one.score)]
        if cases:
            groups[setting] = sorted(cases, key=lambda one: (one.score, one.case))
    most = {setting: MOST_PICTURES // len(groups) // (2 + 2 * len(cases[0].files)) for setting, cases in groups.items()}
    return {setting: _thinned(cases, max(3, most[setting])) for setting, cases in groups.items()}


def page_gallery(groups: Mapping[str, list[ShownCase]], scores: Scores) -> list[dict[str, Any]]:
    """What the page's script reads: pictures as data addresses, and the names and colours of the classes."""
    return [
        {
            "title": setting,
            "classes": _class_legend(scores, list(scores.settings).index(setting)),
            "total": _case_count(scores, list(scores.settings).index(setting)),
            "cases": [_page_case(one) for one in cases],
        }
        for setting, cases in groups.items()
    ]


def _class_legend(scores: Scores, setting: int) -> list[dict[str, str]]:
    ids = (one for one in scores.class_ids(setting) if one > 0)
    return [{"swatch": class_swatch(one), "name": scores.class_name(setting, one)} for one in ids]


def _case_count(scores: Scores, setting: int) -> int:
    part = scores.of("dsc")
    return len(np.unique(part.case[part.setting == setting]))


def read_overlay(path: Path) -> Overlay:
    """Read a saved picture; raises BadInput where it is not one."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            overlay = Overlay(*(np.asarray(arrays[name]) for name in ("image", "target", "predicted")))
    except (OSError, KeyError, ValueError, EOFError, TypeError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise BadInput(
            f"report: '{path}' is no overlay (image, target and predicted): {error}. Copy it again; removed, the "
            "report goes without its picture."
        ) from error
    if overlay.image.ndim != 3 or overlay.image.shape[2] != 3 or overlay.image.dtype != np.uint8:
        raise BadInput(
            f"report: '{path}': image must be (H, W, 3) bytes, got {overlay.image.dtype} {overlay.image.shape}."
        )
    if {overlay.target.shape, overlay.predicted.shape} != {overlay.image.shape[:2]}:
        raise BadInput(f"report: '{path}': the label maps must have the image's size {overlay.image.shape[:2]}.")
    return overlay


def error_map(target: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """0 background, 1 right, 2 missed, 3 false alarm, 4 wrong class.

    >>> error_map(np.array([0, 1, 1, 0, 2]), np.array([0, 1, 0, 1, 1])).tolist()
    [0, 1, 2, 3, 4]
    """
    kinds = [(target == predicted) & (target > 0), (target > 0) & (predicted == 0), (target == 0) & (predicted > 0)]
    return np.select([*kinds, target != predicted], [1, 2, 3, 4], 0).astype(np.uint8)


def script_safe(text: str) -> str:
    r"""JSON with the letters that mean something to HTML written as escapes.

    >>> script_safe('"</script>&"')
    '"\\u003c/script\\u003e\\u0026"'
    """
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _page_case(one: ShownCase) -> dict[str, Any]:
    overlays = {arm: read_overlay(path) for arm, path in one.files.items()}
    truth = next(iter(overlays.values()))
    shown = [
        {
            "loss": arm,
            "note": f"DSC {100 * one.scores[arm]:.1f} %, seed {one.seeds[arm] or '–'}"
            if np.isfinite(one.scores[arm])
            else "no DSC",
            "errors": _mask(error_inks(error_map(*map(_shrunk, (overlay.target, overlay.predicted)))), ERROR_INKS),
            "labels": _mask(class_inks(_shrunk(overlay.predicted)), CLASS_INKS),
        }
        for arm, overlay in overlays.items()
    ]
    return {
        "case": one.case,
        "note": f"mean DSC of the losses {100 * one.score:.1f} %",
        "image": _jpeg(truth.image),
        "truth": _mask(class_inks(_shrunk(truth.target)), CLASS_INKS),
        "shown": shown,
    }


def _thinned(cases: list[ShownCase], most: int) -> list[ShownCase]:
    """Evenly from worst to best, both ends and the median among them."""
    if len(cases) <= most:
        return cases
    chosen = {round(at) for at in np.linspace(0, len(cases) - 1, most)} | {(len(cases) - 1) // 2}
    return [cases[at] for at in sorted(chosen)]


def _case_lookup(scores: Scores) -> dict[tuple[str, str, str, str], float]:
    setting, arm, seed, case, value = case_scores(scores, "dsc")
    words = (scores.settings, scores.arm_names, scores.seeds, scores.cases)
    keys = zip(
        *([names[code] for code in codes] for names, codes in zip(words, (setting, arm, seed, case), strict=True)),
        strict=True,
    )
    return dict(zip(keys, value.tolist(), strict=True))


def _mask(inks: np.ndarray, colours: Sequence[str]) -> str:
    """A transparent PNG with a palette: 0 is nothing, n the n-th colour."""
    from PIL import Image

    picture = Image.fromarray(inks)
    picture.putpalette([0, 0, 0, *as_rgb(colours).ravel().tolist()])
    file = io.BytesIO()
    picture.save(file, "PNG", transparency=0, optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def _jpeg(image: np.ndarray) -> str:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(_shrunk(image))).save(file, "JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(file.getvalue()).decode()


def _shrunk(pixels: np.ndarray) -> np.ndarray:
    """Every n-th pixel where a picture is larger than the page shows it."""
    step = -(-max(pixels.shape[:2]) // LONGEST_PX)
    return pixels[::step, ::step]
