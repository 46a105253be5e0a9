"""A model card: ``README.md`` of a run folder, for whoever is handed the folder. A pure function of what is in it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sizewise.data.dataset import Case
from sizewise.files import write_whole
from sizewise.metrics.cases_csv import ARGMAX, Row
from sizewise.metrics.class_summary import summarise
from sizewise.metrics.registry import METRICS, Metric
from sizewise.train.calibration import read_calibration
from sizewise.train.resolve import ResolvedRun
from sizewise.wording import counted

FILE = "README.md"
LEVEL = 0.95
FEW_CASES = 20  # below it an interval over cases says little


def write_model_card(run: ResolvedRun, folder: Path, rows: Sequence[Row]) -> Path:
    """Write the card of a run with these scores, which ``cases.csv`` has or is about to get; returns the file."""
    path = folder / FILE
    write_whole(path, model_card(run, folder, rows))
    return path


def model_card(run: ResolvedRun, folder: Path, rows: Sequence[Row]) -> str:
    """Data, split, scores with intervals, sizes, decision, use and limits, as Markdown."""
    parts = [
        f"# {_plain(run.dataset.name)}: {run.config.model} trained with {_plain(run.config.loss)}",
        f"Made by `sizewise train`; run `{run.config.hash}`, seed {run.config.seed}. `config.json` has every setting, "
        "`versions.json` the software and the device.",
        _data(run),
        _scores(run, rows),
        _sizes(run, rows),
        _decision(folder, rows),
        _use(run),
        _limits(run, rows),
    ]
    return "\n\n".join(parts) + "\n"


def _data(run: ResolvedRun) -> str:
    dataset, split, config = run.dataset, run.task.split, run.config
    lines = [
        "## Data",
        "",
        f"{_plain(dataset.name)}, {dataset.spatial_dims}D, {', '.join(dataset.modality)}; classes "
        f"{', '.join(_plain(name) for name in dataset.classes)}"
        + (" (regions may overlap)." if run.task.multilabel else "."),
    ]
    lines += [f"Source: {dataset.source}"] if dataset.source else []
    lines += [f"Licence: {dataset.licence}"] if dataset.licence else []
    lines += ["", "| subset | cases | groups |", "|---|---|---|"]
    for name in ("train", "validation", "test"):
        cases = run.task.cases(getattr(split, name))
        lines.append(f"| {name} | {len(cases)} | {_groups(cases) or '–'} |")
    how = f"fold {config.fold} of {config.folds}" if config.folds else f"split seed {config.split_seed}"
    return "\n".join([*lines, "", f"`split.json` names them ({how}, or the data set's own subsets)."])


def _scores(run: ResolvedRun, rows: Sequence[Row]) -> str:
    subset = "test" if run.task.split.test else "validation"
    unit = run.dataset.reader.length_unit
    every = (metric.measured_in(unit) for metric in METRICS.values())
    shown = [metric for metric in every if metric.screen[0] and not metric.signed]
    lines = [
        f"## Scores on the {subset} cases",
        "",
        f"Means over cases with {100 * LEVEL:.0f} % intervals for new cases from the same source (Student's t, over "
        "groups where cases belong together). They are of this one training: another seed gives other numbers.",
        "",
        "| decision | class | cases | " + " | ".join(metric.head for metric in shown) + " |",
        "|---|---|---|" + "---|" * len(shown),
    ]
    groups = {case.name: case.group for case in run.dataset.cases if case.group}
    for one in summarise(rows):
        mine = [row for row in rows if row.of == one.of and row.class_id == one.class_id]
        cells = [_interval(_by_group(mine, metric.name, groups), metric) for metric in shown]
        name = _plain(run.task.names.get(one.class_id, str(one.class_id)))
        lines.append(f"| {one.of.decision} | {name} | {one.cases} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _sizes(run: ResolvedRun, rows: Sequence[Row]) -> str:
    lines = [
        "## Sizes",
        "",
        "| decision | class | true share of the image (%) | predicted minus true (points) | missed | false alarms |",
        "|---|---|---|---|---|---|",
    ]
    for one in summarise(rows):
        name = _plain(run.task.names.get(one.class_id, str(one.class_id)))
        cells = [_share(one.means.get("true_proportion")), _share(one.means.get("size_error"), signed=True)]
        lines.append(
            f"| {one.of.decision} | {name} | {' | '.join(cells)} | {one.missed} of {one.cases} | {one.false_alarms} |"
        )
    return "\n".join(lines)


def _decision(folder: Path, rows: Sequence[Row]) -> str:
    used = list(dict.fromkeys(row.of.decision for row in rows))
    kept = read_calibration(folder) if any(one != ARGMAX for one in used) else None
    text = (
        f"## Decision\n\nLabels were decided by {', '.join(used)}; the checkpoint was chosen by argmax on validation."
    )
    if kept is not None:
        on = counted(kept.cases, "validation case")
        text += f" Temperature {kept.temperature:.3g}, with which decisions for Dice scored best on {on}"
        text += f"; {kept.likelihood:.3g} makes their probabilities fit."
    return text


def _use(run: ResolvedRun) -> str:
    channels = "(C, H, W)" if run.dataset.spatial_dims == 2 else "(C, X, Y, Z)"
    return "\n".join(
        [
            "## Use",
            "",
            "```python",
            "import sizewise as sw",
            "",
            'segment = sw.load_run("this-folder")',
            f"labels = segment(pixels)  # {channels}",
            "```",
        ]
    )


def _limits(run: ResolvedRun, rows: Sequence[Row]) -> str:
    config, split = run.config, run.task.split
    lines = [
        f"- Trained and scored on {_plain(run.dataset.name)} alone: other devices, sites, populations were not seen.",
        "- One seed: differences to other models are to be judged by a study (`sizewise compare`), not by this card.",
    ]
    if not split.test:
        lines.append("- There are no test cases: the scores are those of the validation cases that chose the weights.")
    scored = len(split.test or split.validation)
    if scored < FEW_CASES:
        lines.append(f"- Only {counted(scored, 'case')} scored: the intervals are wide, and rare failures unseen.")
    for one in summarise(rows):
        if one.of.decision == ARGMAX and one.cases == one.true_negatives:
            name = _plain(run.task.names.get(one.class_id, str(one.class_id)))
            lines.append(f"- {name} is in no scored case: nothing is known of it.")
    if config.encoder_weights != "none":
        lines.append(
            f"- The encoder began with weights from elsewhere ({config.encoder_weights}); their licence applies."
        )
    lines.append("- Not a medical device, and not validated for clinical use.")
    return "\n".join(["## Limits", "", *lines])


def _by_group(rows: Iterable[Row], metric: str, groups: Mapping[str, str]) -> list[float]:
    """The mean of each group, of the cases that have a value; a case without a group is its own."""
    values: dict[str, list[float]] = {}
    for row in rows:
        if row.metric == metric and row.value is not None:
            values.setdefault(groups.get(row.case, row.case), []).append(row.value)
    return [sum(one) / len(one) for one in values.values()]


def _interval(values: Sequence[float], metric: Metric) -> str:
    """The mean and, of several values, its interval, cut off where the metric ends."""
    most = metric.best if metric.better == "higher" else math.inf
    if not values:
        return "–"
    mean = sum(values) / len(values)
    if len(values) < 2:
        return metric.shown(mean)
    from scipy import stats

    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    half = float(stats.t.ppf((1 + LEVEL) / 2, len(values) - 1)) * spread / math.sqrt(len(values))
    return f"{metric.shown(mean)} ({metric.shown(max(0.0, mean - half))} to {metric.shown(min(most, mean + half))})"


def _share(value: float | None, *, signed: bool = False) -> str:
    return "–" if value is None else f"{100 * value:{'+' if signed else ''}.2f}".replace("-", "−")


def _groups(cases: Sequence[Case]) -> int:
    return len({case.group for case in cases if case.group})


def _plain(text: str) -> str:
    """A name from outside, which must not become markup of the card."""
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|#" else " " if letter < " " else letter for letter in text)
