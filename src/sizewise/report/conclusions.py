"""What the statistics say, in the forms of the report: sentences, tables and figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sizewise.errors import BadInput
from sizewise.report.chart import Figure, LeftOut
from sizewise.report.figures.critical import critical
from sizewise.report.figures.differences import differences
from sizewise.report.ranking import rank_losses, ranking_said, ranking_table
from sizewise.report.scores import Scores
from sizewise.report.table import Cell, Table
from sizewise.report.verdict import VerdictGroup, capital
from sizewise.study.statistics.paired import Comparison, compare, default_reference
from sizewise.study.statistics.table import Scores as Arranged
from sizewise.study.statistics.table import arrange
from sizewise.study.statistics.verdict import BETTER, NOT_SHOWN, ONE_SEED, WORSE, verdicts

METRIC = "dsc"
METHODS = (
    "A score is the mean over the cases of a class, then over classes, then over seeds; ± is the standard deviation "
    "over seeds. Where neither the truth nor the prediction has a class, the case has no value; a missed or invented "
    "region scores 0.",
    "Losses are compared on the same cases and seeds. The 95 % intervals resample cases (patients where known) and "
    "seeds: they are about new cases and new training runs. A difference is claimed where the p-value of that "
    "bootstrap, corrected for all comparisons by Holm's method, is below 0.05. The Wilcoxon signed-rank test is over "
    "cases, with seeds averaged, so it is about these very runs.",
)


@dataclass(frozen=True)
class Conclusions:
    """Everything that the statistics bring to the report."""

    verdict: Sequence[VerdictGroup]
    tables: Sequence[Table]
    figures: Sequence[Figure | LeftOut]
    methods: Sequence[str]


def conclude(
    scores: Scores,
    *,
    reference: str = "",
    usual: str = "",
    groups: Mapping[str, Mapping[str, str]] | None = None,
) -> Conclusions:
    """Compare every loss with the reference on every data set and model.

    Args:
        scores: the table.
        reference: the loss that the user named; it must be there.
        usual: the loss that the study names; where it has no results, CE or the first loss takes its place.
        groups: by data set, the patient of each case, where known.
    """
    known = set(scores.of(METRIC).known.arena.tolist())
    arranged = {
        arena: arrange(scores.results, data=scores.data[at], model=scores.models[at], metric=METRIC)
        for at, arena in enumerate(scores.arenas)
        if at in known
    }
    if not arranged:
        said = VerdictGroup("", "Nothing can be concluded: the table has no DSC.")
        return Conclusions([said], [], [differences({}, scores.entries), critical([], scores.entries)], METHODS)
    notes = [f"{arena}: {note}" for arena, one in arranged.items() for note in one.notes]
    if not reference and usual and usual not in (*scores.entries, *scores.losses):
        notes.append(f"The study's reference {usual} has no results.")
        usual = ""
    chosen = choose_reference(scores, reference or usual)
    by_arena = _comparisons(arranged, chosen, groups, notes)
    verdict = [_said(arena if len(arranged) > 1 else "", chosen, found) for arena, found in by_arena.items()]
    if not verdict:
        only = (
            f"{chosen} is the only loss" if len(scores.entries) == 1 else f"no data set has {chosen} and another loss"
        )
        verdict = [VerdictGroup("", f"Nothing to compare: {only}.")]
    if notes:
        verdict.append(VerdictGroup("", "", (), notes))
    tables = [_table(by_arena, chosen)] if by_arena else []
    ranking = rank_losses(list(arranged.values()), groups)
    if ranking is not None:
        tables.append(ranking_table(ranking, seeds=min(len(one.seeds) for one in arranged.values())))
        if len(ranking.data) > 1:
            verdict.insert(0, ranking_said(ranking))
    figures = [differences(by_arena, scores.entries), critical(list(arranged.values()), scores.entries)]
    return Conclusions(verdict, tables, figures, METHODS)


def _comparisons(
    arranged: Mapping[str, Arranged],
    reference: str,
    groups: Mapping[str, Mapping[str, str]] | None,
    notes: list[str],
) -> dict[str, list[Comparison]]:
    """By arena, what can be compared; what cannot, as in a study that is not finished, goes into the notes."""
    usable: dict[str, Arranged] = {}
    for arena, one in arranged.items():
        if reference not in one.arms:
            notes.append(f"{arena}: no run of the reference {reference}, so nothing is compared.")
            continue
        shared = (one.present & one.present[one.arm(reference)]).any(axis=1)
        for arm, keep in zip(one.arms, shared, strict=True):
            if not keep:
                notes.append(f"{arena}: {arm} has no seed in common with {reference}, so it is not compared.")
        kept = tuple(arm for arm, keep in zip(one.arms, shared, strict=True) if keep)
        usable[arena] = replace(one, arms=kept, values=one.values[shared], present=one.present[shared])
    made = compare(*usable.values(), reference=reference, groups=groups)
    found = {
        arena: [each for each in made if (each.data, each.model) == (one.data, one.model)]
        for arena, one in usable.items()
    }
    return {arena: each for arena, each in found.items() if each}


def choose_reference(scores: Scores, wanted: str) -> str:
    """The entry that is meant: its name, or a loss that was run with several λ, of which the first is taken."""
    if not wanted:
        return default_reference(scores.entries)
    if wanted in scores.entries:
        return wanted
    for entry, loss in zip(scores.entries, scores.losses, strict=True):
        if wanted == loss:
            return entry
    raise BadInput(f"report: the reference must be one of {', '.join(scores.entries)}, got '{wanted}'.")


def _said(title: str, reference: str, found: Sequence[Comparison]) -> VerdictGroup:
    spoken = verdicts(found)
    better = [one.comparison.arm for one in spoken if one.kind == BETTER]
    worse = [one.comparison.arm for one in spoken if one.kind == WORSE]
    parts = []
    if better:
        parts.append(f"{_and(better)} {'is' if len(better) == 1 else 'are'} better than {reference}")
    if worse:
        parts.append(
            f"{_and(worse)} {'is' if len(worse) == 1 else 'are'} worse" + ("" if better else f" than {reference}")
        )
    lead = "; ".join(parts) + "." if parts else f"No loss can be shown to differ from {reference}."
    claims = [one.sentence for one in spoken if one.kind in (BETTER, WORSE)]
    others = [
        capital(one.sentence) if one.kind in (NOT_SHOWN, ONE_SEED) else one.sentence
        for one in spoken
        if one.kind not in (BETTER, WORSE)
    ]
    return VerdictGroup(title, lead, claims, others, "What cannot be shown")


def _table(by_arena: Mapping[str, Sequence[Comparison]], reference: str) -> Table:
    rows = []
    for arena, found in by_arena.items():
        for one in found:
            scale = one.measure.scale
            seeds = one.needed.seeds
            rows.append(
                [
                    Cell(arena),
                    Cell(one.arm),
                    Cell(_signed(scale * one.estimate), scale * one.estimate),
                    Cell(f"{_signed(scale * one.low)} to {_signed(scale * one.high)}", scale * one.low),
                    Cell("yes" if one.shown else "no"),
                    Cell(_p(one.p_holm), one.p_holm),
                    Cell(_p(one.wilcoxon_holm), one.wilcoxon_holm),
                    Cell(_signed(one.rank_biserial), one.rank_biserial),
                    Cell("–" if one.standardised is None else _signed(one.standardised), one.standardised),
                    Cell(str(one.seeds), one.seeds),
                    Cell("–" if seeds is None else str(seeds), seeds),
                ]
            )
    columns = ["data", "loss", "DSC points", "95 % interval", "shown", "p (Holm)", "Wilcoxon p (Holm)"]
    columns += ["rank-biserial", "effect size", "seeds", "seeds needed"]
    note = (
        "Rank-biserial is from −1 to 1, positive where the loss is better; effect size is the mean difference over "
        "its standard deviation between cases. Seeds needed: in all, with 80 % chance, if the difference is as "
        "large as it looks."
    )
    return Table("comparisons", f"Each loss minus {reference}", columns, rows, note, heads=2)


def _signed(value: float) -> str:
    text = f"{value:+.2f}"
    return (text[1:] if float(text) == 0 else text).replace("-", "−")


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
