"""The page of a diagnosis and the files beside it."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sizewise.diagnosis.advice import Advice, points
from sizewise.diagnosis.case_measure import DICE, FITTED, MATCHED, NOW, SIZES
from sizewise.diagnosis.collected import COLUMNS, Collected, Gain
from sizewise.diagnosis.probability_figures import reliability_figure, threshold_figure
from sizewise.diagnosis.size_figures import component_figure, size_agreement_figure, size_error_figure
from sizewise.diagnosis.summary import ClassSummary
from sizewise.errors import BadInput
from sizewise.files import write_whole
from sizewise.report.chart import Figure, LeftOut
from sizewise.report.draw import draw_all
from sizewise.report.formatted_table import Cell, Table, to_csv
from sizewise.report.page import FigureSection, figure_sections, fill

FIGURES: tuple[Callable[[Collected, Sequence[ClassSummary]], Figure | LeftOut], ...] = (
    threshold_figure,
    reliability_figure,
    size_agreement_figure,
    size_error_figure,
    component_figure,
)
QUESTION_WORDS = {
    NOW: "as predicted",
    DICE: "(a) decided for Dice",
    FITTED: "(b) … at a fitted temperature",
    SIZES: "(c) true sizes, same probabilities",
    MATCHED: "(d) perfect places, same sizes",
}
METHODS = (
    "DSC is the mean over cases, then over classes. A class that is neither in the target nor drawn has no DSC; where "
    "one answer leaves it rightly empty and another does not, the first counts as 1. ± is one standard error over "
    "cases of the difference to the predictions.",
    "(a) needs no truth: sizewise.decide with the probabilities as they are. (b) is the same after dividing the log "
    "probabilities by a fitted temperature. (c) takes as many of the most probable pixels as the true region has, one "
    "class against the rest. (d) is 2 min(V, T) / (V + T), with V the predicted and T the true size. (c) and (d) use "
    "the truth: they say where DSC is lost, and no model reaches them.",
    "ece: the pixels in 16 equal bins of a class's probability, one class against the rest; the mean over pixels of "
    "the distance between a bin's mean probability and its true share.",
)


@dataclass(frozen=True)
class Diagnosis:
    """What was found.

    Attributes:
        title: what was diagnosed.
        advice: what to do first.
        gains: of each question, over all classes.
        classes: the numbers of each class.
        collected: what they are made from.
        temperature: that of (b), or None.
        fitted: how it was found, or why it was not.
        notes: what the reader has to know.
    """

    title: str
    advice: Advice
    gains: Mapping[str, Gain]
    classes: Sequence[ClassSummary]
    collected: Collected
    temperature: float | None
    fitted: str
    notes: Sequence[str]


@dataclass(frozen=True)
class DiagnosisPage:
    """All that the page shows, in its order."""

    title: str
    facts: Sequence[tuple[str, str]]
    advice: str
    reasons: Sequence[str]
    command: str
    notes: Sequence[str]
    gains: Table
    figure_sections: Sequence[FigureSection]
    class_tables: Sequence[Table]
    methods: Sequence[str]


def gain_table(found: Diagnosis) -> Table:
    """A row for each question: DSC and gain over all classes, and the gain in each."""
    rows = []
    for name, one in found.gains.items():
        gains = [classwise.gains[name] for classwise in found.classes if name in classwise.gains]
        cells = [Cell(QUESTION_WORDS[name]), Cell(f"{100 * one.dsc:.2f}", one.dsc)]
        if name == NOW:
            cells += [Cell("")] + [Cell(f"{100 * each.dsc:.2f}", each.dsc) for each in gains]
        else:
            cells += [Cell(points(each), each.gain) for each in (one, *gains)]
        rows.append(cells)
    heads = [one.name for one in found.classes if NOW in one.gains]
    columns = ["labels", "DSC (%)", "gain (points)", *heads]
    note = "Of each class: its DSC as predicted, and what it gains. "
    note += f"Temperature of (b): {found.fitted}" if DICE in found.gains else f"Left out are (a) to (c): {found.fitted}"
    return Table("gains", "DSC points that each change would give", columns, rows, note)


def class_table(found: Diagnosis) -> Table:
    """A row for each class."""
    columns = ["class", "cases with it", "DSC (%)", "size error (%)", "of image (points)", "95 % limits (points)"]
    columns += ["missed components", "invented", "ece (%)", "Σp / true size"]
    rows = []
    several = len(found.collected.cases) > 1  # one case has no spread
    for one in found.classes:
        limits = f"{_number(100 * one.lower, '+.3f')} to {_number(100 * one.upper, '+.3f')}" if several else "–"
        values: list[tuple[str, float | None]] = [
            (str(one.cases), one.cases),
            (_number(100 * one.dsc, ".2f"), one.dsc),
            (_number(100 * one.relative, "+.1f"), one.relative),
            (_number(100 * one.bias, "+.3f"), one.bias),
            (limits, one.upper - one.lower),
            (f"{one.missed} of {one.true_parts}", one.missed),
            (f"{one.invented} of {one.predicted_parts}", one.invented),
            (_number(100 * one.ece, ".2f"), one.ece),
            (_number(one.expected_size, ".3f"), one.expected_size),
        ]
        rows.append([Cell(one.name), *(Cell(text, value) for text, value in values)])
    note = (
        "Sizes are predicted minus true: as a share of the mean true size, and in points of the image with the limits "
        "between which 95 % of the cases are expected. Σp is the size that the probabilities expect."
    )
    return Table("classes", "Sizes, components and calibration", columns, rows, note)


def make_folder(out: Path) -> None:
    """Make the folder that the page goes to: before the work, so that a wrong one costs nothing."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"`out` '{out}' cannot be made: {error.strerror or error}. Name another folder.") from error


def write_diagnosis(found: Diagnosis, out: Path, *, command: str = "") -> Path:
    """Write ``diagnosis.html``, ``.csv``, ``.json`` and ``figures/``; returns the page's path."""
    figures = [make(found.collected, found.classes) for make in FIGURES]
    facts = [("cases", f"{len(found.collected.cases):,}"), ("classes", str(len(found.classes)))]
    facts.append(("mean DSC", f"{100 * found.gains[NOW].dsc:.2f} %"))
    if found.temperature is not None:
        facts.append(("temperature", f"{found.temperature:.3g}"))
    page = DiagnosisPage(
        title=f"Diagnosis of {found.title}",
        facts=facts,
        advice=found.advice.sentence,
        reasons=found.advice.reasons,
        command=command,
        notes=found.notes,
        gains=gain_table(found),
        figure_sections=figure_sections(figures),
        class_tables=[class_table(found)],
        methods=METHODS,
    )
    names = {one.class_id: one.name for one in found.classes}
    try:
        draw_all(figures, out / "figures")
        write_whole(out / "diagnosis.csv", to_csv(COLUMNS, found.collected.table(names)))
        write_whole(out / "diagnosis.json", json.dumps(_as_json(found, command), indent=1, allow_nan=False))
        write_whole(out / "diagnosis.html", fill("diagnosis.html.j2", page=page))
    except OSError as error:
        raise BadInput(f"`out` '{out}' cannot be written: {error.strerror or error}. Name another folder.") from error
    return out / "diagnosis.html"


def _as_json(found: Diagnosis, command: str) -> Any:
    """Every number but those of single cases and of the curves, which have their own files."""
    classes = []
    for one in found.classes:
        values = asdict(one)
        if values["thresholds"] is not None:
            values["thresholds"].pop("curve")
        classes.append(values)
    return _without_nan(
        {
            "diagnosed": found.title,
            "cases": len(found.collected.cases),
            "advice": {"step": found.advice.step, "sentence": found.advice.sentence, "command": command},
            "temperature": found.temperature,
            "temperature_fitted": found.fitted,
            "gains": {name: asdict(one) for name, one in found.gains.items()},
            "classes": classes,
            "notes": list(found.notes),
        }
    )


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_nan(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _number(value: float, form: str) -> str:
    return f"{value:{form}}".replace("-", "−") if math.isfinite(value) else "–"
