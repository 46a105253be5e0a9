"""What the statistics say, in the forms of the report: sentences, tables and figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sizewise.errors import BadInput
from sizewise.metrics.registry import Metric, find_metric
from sizewise.report.formatted_table import Cell, Table
from sizewise.report.ranking import FEW_SEEDS, rank_losses, ranking_said, ranking_table
from sizewise.report.scores import Scores
from sizewise.report.verdict import VerdictGroup, say, say_of_predictions, shown_of_predictions
from sizewise.study.statistics.paired import Comparison, compare
from sizewise.study.statistics.sample_size import SampleSize
from sizewise.study.statistics.setting_scores import SettingScores, arrange

METHODS = (
    "A score is the mean over the cases of a class, then over classes, then over seeds; ± is the standard deviation "
    "over seeds. Where neither the truth nor the prediction has a class, the case has no value; a missed or invented "
    "region scores 0.",
    "Losses are compared on the same cases and seeds. The 95 % intervals resample cases (patients or videos where they "
    "are known) and seeds: they are about new cases and new training runs. A difference is claimed where the p-value "
    "of that bootstrap, corrected for all comparisons by Holm's method, is below 0.05. The Wilcoxon signed-rank test "
    "is over cases, with seeds averaged, so it is about these very runs. With one seed the intervals are over new "
    "cases alone.",
)


@dataclass(frozen=True)
class Conclusions:
    """Everything that the statistics bring to the report.

    Attributes:
        verdict: in words.
        tables: of the comparisons, and of the ranking.
        comparisons: by setting, each arm with the reference.
        arranged: the scores behind them, one for each setting.
        methods: how it was done, in words.
    """

    verdict: Sequence[VerdictGroup]
    tables: Sequence[Table] = ()
    comparisons: Mapping[str, Sequence[Comparison]] = field(default_factory=dict)
    arranged: Sequence[SettingScores] = ()
    methods: Sequence[str] = METHODS


def conclude(
    scores: Scores,
    *,
    reference: str = "",
    usual: str = "",
    groups: Mapping[str, Mapping[str, str]] | None = None,
    metric: str = "dsc",
) -> Conclusions:
    """Compare every arm with the reference on every data set and model.

    Args:
        scores: the table.
        reference: the loss or arm that the user named; it must be there.
        usual: the one that the study names; where it has no results, CE or the first arm takes its place.
        groups: by data set, the group of each case, where known.
        metric: what is compared: a score of ``sizewise.metrics.registry``.
    """
    how = find_metric(metric)
    known = set(scores.of(metric).known.setting.tolist())
    arranged = {
        scores.settings[at]: arrange(scores.results, data=data, model=model, metric=metric, labels=scores.labels)
        for at, (data, model) in enumerate(scores.labels.settings)
        if at in known
    }
    if not arranged:
        return Conclusions([VerdictGroup("", f"Nothing can be concluded: the table has no {how.label}.")])
    notes = [f"{setting}: {note}" for setting, one in arranged.items() for note in one.notes]
    if not reference and usual and not arms_of(scores, usual):
        notes.append(f"The study's reference {usual} has no results.")
        usual = ""
    chosen = choose_reference(scores, reference or usual)
    by_setting = _comparisons(arranged, chosen, groups, notes)
    verdict = [_said(name if len(arranged) > 1 else "", chosen, found, scores) for name, found in by_setting.items()]
    if not verdict:
        only = f"no data set has {chosen} and another {scores.what}"
        if len(scores.arm_names) == 1:
            only = f"{chosen} is the only {scores.what}"
        verdict = [VerdictGroup("", f"Nothing to compare: {only}.")]
    if notes:
        verdict.append(VerdictGroup("", "", (), notes))
    tables = [_table(by_setting, chosen, scores, how)] if by_setting else []
    ranking = rank_losses(list(arranged.values()), groups)
    if ranking is not None:
        seeds = min(len(one.seeds) for one in arranged.values())
        if len(ranking.data) > 1 or seeds >= FEW_SEEDS:  # else it is the order of the scores, with shares too sure
            tables.append(ranking_table(ranking, seeds=seeds, what=scores.what, label=how.label))
        if len(ranking.data) > 1:
            verdict.insert(0, ranking_said(ranking, seeds=seeds))
    return Conclusions(verdict, tables, by_setting, list(arranged.values()))


def _comparisons(
    arranged: Mapping[str, SettingScores],
    reference: str,
    groups: Mapping[str, Mapping[str, str]] | None,
    notes: list[str],
) -> dict[str, list[Comparison]]:
    """By setting, what can be compared; what cannot, as in a study that is not finished, goes into the notes."""
    usable: dict[str, SettingScores] = {}
    for setting, one in arranged.items():
        if reference not in one.arms:
            notes.append(f"{setting}: no run of the reference {reference}, so nothing is compared.")
            continue
        shared = (one.present & one.present[one.arm(reference)]).any(axis=1)
        for arm, keep in zip(one.arms, shared, strict=True):
            if not keep:
                notes.append(f"{setting}: {arm} has no seed in common with {reference}, so it is not compared.")
        kept = tuple(arm for arm, keep in zip(one.arms, shared, strict=True) if keep)
        usable[setting] = replace(one, arms=kept, values=one.values[shared], present=one.present[shared])
    made = compare(*usable.values(), reference=reference, groups=groups)
    found = {
        setting: [each for each in made if (each.data, each.model) == (one.data, one.model)]
        for setting, one in usable.items()
    }
    return {setting: each for setting, each in found.items() if each}


def choose_reference(scores: Scores, wanted: str) -> str:
    """The arm that is meant: its name, or a loss that was run with several λ or τ, of which the first is taken."""
    if not wanted:
        return "CE" if "CE" in scores.arm_names else scores.arm_names[0]
    meant = arms_of(scores, wanted)
    if not meant:
        raise BadInput(f"report: the reference must be one of {', '.join(scores.arm_names)}, got '{wanted}'.")
    return meant[0]


def arms_of(scores: Scores, wanted: str) -> list[str]:
    """The arm of that name, or those of the loss of that name, whatever their λ and τ."""
    if wanted in scores.arm_names:
        return [wanted]
    return [name for name, arm in zip(scores.arm_names, scores.arms, strict=True) if arm.loss == wanted]


def _shown(one: Comparison, scores: Scores) -> bool:
    """Predictions from elsewhere are judged as such where there is one set of each; see ``say_of_predictions``."""
    return shown_of_predictions(one) if scores.from_elsewhere and one.seeds == 1 else one.shown


def _said(title: str, reference: str, found: Sequence[Comparison], scores: Scores) -> VerdictGroup:
    if scores.from_elsewhere and all(one.seeds == 1 for one in found):
        return say_of_predictions(title, reference, found)
    return say(title, reference, found, what=scores.what)


def _table(by_setting: Mapping[str, Sequence[Comparison]], reference: str, scores: Scores, how: Metric) -> Table:
    rows = []
    for setting, found in by_setting.items():
        for one in found:
            scale = one.metric.scale
            rows.append(
                [
                    Cell(setting),
                    Cell(one.arm),
                    Cell(_signed(scale * one.estimate), scale * one.estimate),
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
        "difference is as large as it looks; a range, since few seeds know their own spread only roughly."
    )
    return Table("comparisons", f"Each {scores.what} minus {reference}", columns, rows, note, heads=2)


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
