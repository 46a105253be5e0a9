"""Each arm minus the reference, as a table."""

from collections.abc import Mapping, Sequence

from sizewise.metrics.registry import Metric
from sizewise.report.formatted_table import Cell, Table
from sizewise.report.scores import Scores
from sizewise.report.verdict import shown_of_predictions
from sizewise.study.statistics.paired import FEWEST_GROUPS, Comparison
from sizewise.study.statistics.sample_size import SampleSize

NONE = Cell("–")


def comparison_table(
    by_setting: Mapping[str, Sequence[Comparison]],
    title: str,
    scores: Scores,
    how: Metric,
    *,
    name: str = "comparisons",
) -> Table:
    """The comparisons of every setting: difference, interval, tests, effect sizes, and what would settle it."""
    rows = []
    for setting, found in by_setting.items():
        for one in found:
            scale = one.metric.scale
            names = [Cell(setting), Cell(one.arm), Cell(_signed(scale * one.estimate), scale * one.estimate)]
            if refused(one, scores):
                rows.append([*names, NONE, Cell("no"), *[NONE] * 4, Cell(str(one.seeds), one.seeds), NONE])
                continue
            rows.append(
                [
                    *names,
                    Cell(f"{_signed(scale * one.low)} to {_signed(scale * one.high)}", scale * one.low),
                    Cell("yes" if _shown(one, scores) else "no"),
                    Cell(_p(one.p_holm), one.p_holm),
                    Cell(_p(one.wilcoxon_holm), one.wilcoxon_holm),
                    Cell(_signed(one.rank_biserial), one.rank_biserial),
                    Cell("–" if one.standardised is None else _signed(one.standardised), one.standardised),
                    Cell(str(one.seeds), one.seeds),
                    Cell(_seeds(one.needed), one.needed.seeds),
                ]
            )
    columns = ["data", scores.what, how.difference, "95 % interval", "shown", "p (Holm)", "Wilcoxon p (Holm)"]
    columns += ["rank-biserial", "effect size", "seeds", "seeds needed"]
    note = (
        f"Rank-biserial is from −1 to 1, positive where the {scores.what} is better; effect size is the mean "
        "difference over its standard deviation between cases. Seeds needed: in all, with 80 % chance, if the "
        "difference is as large as it looks; a range, since few seeds know their own spread only roughly. Where there "
        "are too few seeds or cases for a verdict, the row has the difference alone."
    )
    return Table(name, title, columns, rows, note, heads=2)


def refused(one: Comparison, scores: Scores) -> bool:
    """Whether there is too little for a verdict. Single predictions from elsewhere are judged as such."""
    as_predictions = scores.from_elsewhere and one.seeds == 1 and one.groups >= FEWEST_GROUPS and not one.identical
    return one.refused and not as_predictions


def _signed(value: float) -> str:
    text = f"{value:+.2f}"
    return (text[1:] if float(text) == 0 else text).replace("-", "−")


def _seeds(needed: SampleSize) -> str:
    """How many in all.

    >>> [_seeds(SampleSize(0.1, *needed)) for needed in ((5, 4, 13), (5, 4), (3, 3, 3), ())]
    ['4 to 13', 'from 4', '3', '–']
    """
    if needed.seeds is None:
        return "–"
    fewest = needed.seeds if needed.fewest_seeds is None else needed.fewest_seeds
    if needed.most_seeds is None:
        return f"from {fewest}"
    return str(fewest) if fewest == needed.most_seeds else f"{fewest} to {needed.most_seeds}"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _shown(one: Comparison, scores: Scores) -> bool:
    """Predictions from elsewhere are judged as such where there is one set of each; see ``verdict_of_predictions``."""
    return shown_of_predictions(one) if scores.from_elsewhere and one.seeds == 1 else one.shown
