"""Each arm minus the reference, as a table."""

from collections.abc import Mapping, Sequence

from sizewise.metrics.registry import Metric
from sizewise.report.formatted_table import Cell, Table
from sizewise.report.judgement import UNTESTED, judge
from sizewise.report.scores import Scores
from sizewise.study.statistics.paired import Comparison
from sizewise.study.statistics.sample_size import SampleSize
from sizewise.study.statistics.sentences import BETTER, NOT_SHOWN, WORSE

NONE = Cell("–")
SHOWN = {BETTER: "yes, better", WORSE: "yes, worse", NOT_SHOWN: "no", UNTESTED: UNTESTED}


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
            word = judge(one, from_elsewhere=scores.from_elsewhere)
            if word == UNTESTED:
                rows.append([*names, NONE, Cell(SHOWN[word]), *[NONE] * 4, Cell(str(one.seeds), one.seeds), NONE])
                continue
            rows.append(
                [
                    *names,
                    Cell(f"{_signed(scale * one.low)} to {_signed(scale * one.high)}", scale * one.low),
                    Cell(SHOWN[word]),
                    Cell(_p(one.p_holm), one.p_holm),
                    Cell(_p(one.wilcoxon_holm), one.wilcoxon_holm),
                    Cell(_signed(one.rank_biserial), one.rank_biserial),
                    Cell("–" if one.standardised is None else _signed(one.standardised), one.standardised),
                    Cell(str(one.seeds), one.seeds),
                    Cell(_needed(one), one.needed.seeds) if word == NOT_SHOWN else NONE,
                ]
            )
    columns = ["data", scores.what, how.difference, "95 % interval", "shown", "p (Holm)", "Wilcoxon p (Holm)"]
    columns += ["rank-biserial", "effect size", "seeds", "would show it"]
    trained = any(one.seeds > 1 for found in by_setting.values() for one in found)
    about = "new cases and new training runs" if trained else "new cases, not about new training runs"
    note = (
        f"The interval, p and «shown» are about {about}. Wilcoxon's p is about these very runs: "
        "it may be small where other seeds would turn the difference round, so it shows nothing by itself. "
        f"Rank-biserial is from −1 to 1, positive where the {scores.what} is better; effect size is the mean "
        "difference over its standard deviation between cases. What would show it: seeds in all, or cases where more "
        "seeds cannot help, or both where neither helps alone, with 80 % chance, if the difference is as large as it "
        "looks; a range, since few seeds know their own spread only roughly. Not testable: too few seeds or cases for "
        "a verdict, so the row has the difference alone."
    )
    return Table(name, title, columns, rows, note, heads=2)


def _signed(value: float) -> str:
    text = f"{value:+.2f}"
    return (text[1:] if float(text) == 0 else text).replace("-", "−")


def _needed(one: Comparison) -> str:
    words = "cases" if one.groups == one.cases else "groups"
    return _counts(one.needed, seeds=one.seeds, groups=one.groups, words=words)


def _counts(needed: SampleSize, *, seeds: int, groups: int, words: str) -> str:
    """Seeds in all, or cases where no number of seeds would do, or both where neither would do alone.

    >>> plans = [(5, 4, 13, 90), (None, None, None, 1200), (None, None, None, None, 4), ()]
    >>> [_counts(SampleSize(0.1, *plan), seeds=3, groups=60, words="cases") for plan in plans]
    ['4 to 13 seeds', '1,200 cases', '12 seeds, 240 cases', '–']
    """
    if enough := _seeds(needed):
        return enough
    if needed.groups is not None:
        return f"{needed.groups:,} {words}"
    return "–" if needed.times is None else f"{needed.times * seeds} seeds, {needed.times * groups:,} {words}"


def _seeds(needed: SampleSize) -> str:
    """How many in all; empty where no number of them would do.

    >>> [_seeds(SampleSize(0.1, *needed)) for needed in ((5, 4, 13), (5, 4), (3, 3, 3), ())]
    ['4 to 13 seeds', 'from 4 seeds', '3 seeds', '']
    """
    if needed.seeds is None:
        return ""
    fewest = needed.seeds if needed.fewest_seeds is None else needed.fewest_seeds
    if needed.most_seeds is None:
        return f"from {fewest} seeds"
    return f"{fewest} seeds" if fewest == needed.most_seeds else f"{fewest} to {needed.most_seeds} seeds"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
