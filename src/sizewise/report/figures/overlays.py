"""The qualitative figure: worst, median and best case of every data set, with the DSC under each picture."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sizewise.report.draw import STATIC_STYLE, plain
from sizewise.report.gallery import ShownCase, error_map, read_overlay
from sizewise.report.inks import CLASS_INKS, ERROR_INKS, as_rgb, class_inks, error_inks

COLUMNS = ("data", "place", "case", "loss", "seed", "dsc")
MOST_LOSSES = 8
KEY = "predictions: blue right, yellow and black missed, red and white false alarm, pink wrong class"


def overlay_rows(groups: Mapping[str, list[ShownCase]]) -> list[list[Any]]:
    """The numbers behind it: every case that the page shows."""
    return [
        [setting, place, one.case, arm, one.seeds[arm], value if np.isfinite(value) else ""]
        for setting, cases in groups.items()
        for place, one in enumerate(cases, start=1)
        for arm, value in one.scores.items()
    ]


def draw_overlays(groups: Mapping[str, list[ShownCase]], folder: Path) -> list[Path]:
    """Write ``overlays-N.svg`` and ``.png``, one pair per data set and model."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas

    paths = []
    folder.mkdir(parents=True, exist_ok=True)
    for number, (setting, cases) in enumerate(groups.items(), start=1):
        chosen = {"worst": cases[0], "median": cases[(len(cases) - 1) // 2], "best": cases[-1]}
        losses = list(cases[0].files)[:MOST_LOSSES]
        with rc_context(STATIC_STYLE):
            wide, tall = 1.5 * (len(losses) + 1), 1.75 * len(chosen) + 0.4
            canvas = Canvas(figsize=(wide, tall))
            grid = canvas.subplots(len(chosen), len(losses) + 1, squeeze=False)
            canvas.subplots_adjust(
                left=0.01, right=0.99, bottom=0.35 / tall, top=1 - 0.45 / tall, wspace=0.06, hspace=0.3
            )
            for row, (word, one) in zip(grid, chosen.items(), strict=True):
                overlays = {loss: read_overlay(one.files[loss]) for loss in losses}
                truth = next(iter(overlays.values()))
                _picture(
                    row[0],
                    _blend(truth.image, class_inks(truth.target), CLASS_INKS),
                    "ground truth",
                    f"{word}: {one.case[:24]}",
                )
                for axes, (loss, overlay) in zip(row[1:], overlays.items(), strict=True):
                    kinds = error_map(overlay.target, overlay.predicted)
                    score = one.scores[loss]
                    below = f"DSC {100 * score:.1f} %" if np.isfinite(score) else "no DSC"
                    _picture(axes, _blend(overlay.image, error_inks(kinds), ERROR_INKS), loss, below)
            canvas.text(0.01, 1 - 0.05 / tall, plain(setting), fontsize=8.5, va="top")
            canvas.text(0.01, 0.06 / tall, KEY, fontsize=6.5, color="#444444")
            for ending, options in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": 130})):
                paths.append(folder / f"overlays-{number}.{ending}")
                canvas.savefig(paths[-1], **options)
    return paths


def _picture(axes: Any, pixels: np.ndarray, above: str, below: str) -> None:
    axes.imshow(pixels)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    axes.set_title(plain(above), fontsize=7.5)
    axes.set_xlabel(plain(below), fontsize=7)


def _blend(image: np.ndarray, inks: np.ndarray, colours: tuple[str, ...]) -> np.ndarray:
    ink = as_rgb(colours)[inks.astype(np.int64) - 1]
    share = np.where(inks > 0, 0.6, 0.0)[..., None]
    return (image * (1 - share) + ink * share).astype(np.uint8)
