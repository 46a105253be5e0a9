"""What the statistics say, in the forms of the report: sentences, tables and figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sizewise.errors import BadInput
from sizewise.report.chart import Figure, LeftOut
from sizewise.report.figures.critical import critical
from sizewise.report.figures.differences import differences
from sizewise.report.scores import Scores
from sizewise.report.table import Cell, Table
from sizewise.study.statistics.paired import Comparison, compare, default_reference
from sizewise.study.statistics.ranking import Ranking, rank
from sizewise.study.statistics.table import Scores as Arranged
from sizewise.study.statistics.table import arrange
from sizewise.study.statistics.verdict import BETTER, NOT_SHOWN, ONE_SEED, WORSE, verdicts

METRIC = "dsc"
FEW_SEEDS = 5
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
class VerdictGroup:
    """The verdict on one data set and model, or over all.

    Attributes:
        title: which; empty where there is one.
        lead: the main sentence.
        claims: what is shown, with its intervals.
        sentences: what is not shown, or notes.
        details: what the sentences are.
    """

    title: str
    lead: str
    claims: Sequence[str] = ()
    sentences: Sequence[str] = ()
    details: str = "Notes"


@dataclass(frozen=True)
class Conclusions:
    """Everything that the statistics bring to the report."""

    verdict: Sequence[VerdictGroup]
    tables: Sequence[Table]
    figures: Sequence[Figure | LeftOut]
    methods: Sequence[str]


def conclude(
    scores: Scores, *, reference: str = "", groups: Mapping[str, Mapping[str, str]] | None = None
) -> Conclusions:
    """Compare every loss with the reference on every data set and model.

    Args:
        scores: the table.
        reference: a loss of the study; empty: CE, or the first.
        groups: by data set, the patient of each case, where known.
    """
    arranged: dict[str, Arranged] = {}
    for arena, data, model in zip(scores.arenas, scores.data, scores.models, strict=True):
        if ((scores.of(METRIC).known.arena) == scores.arenas.index(arena)).any():
            arranged[arena] = arrange(scores.results, data=data, model=model, metric=METRIC)
    if not arranged:
        said = VerdictGroup("", "Nothing can be concluded: the table has no DSC.")
        return Conclusions([said], [], [differences({}, scores.entries), critical([], scores.entries)], METHODS)
    chosen = choose_reference(scores, reference)
    usable = {arena: one for arena, one in arranged.items() if chosen in one.arms}
    made = compare(*usable.values(), reference=chosen, groups=groups)
    by_arena = {
        arena: [each for each in made if (each.data, each.model) == (one.data, one.model)]
        for arena, one in usable.items()
    }
    by_arena = {arena: found for arena, found in by_arena.items() if found}
    notes = [f"{arena}: {note}" for arena, one in arranged.items() for note in one.notes]
    notes += [
        f"{arena}: no run of the reference {chosen}, so nothing is compared."
        for arena in arranged
        if arena not in usable
    ]
    groups_said = [_said(arena if len(arranged) > 1 else "", chosen, found) for arena, found in by_arena.items()]
    if not groups_said:
        groups_said = [VerdictGroup("", f"Nothing to compare: {chosen} is the only loss.")]
    if notes:
        groups_said.append(VerdictGroup("", "", (), notes))
    tables = [_table(by_arena, chosen)] if by_arena else []
    ranking = _ranked(list(arranged.values()), groups)
    if ranking is not None:
        tables.append(_ranking_table(ranking, seeds=min(len(one.seeds) for one in arranged.values())))
        if len(ranking.data) > 1:
            groups_said.insert(0, _ranking_said(ranking))
    figures = [differences(by_arena, scores.entries), critical(list(arranged.values()), scores.entries)]
    return Conclusions(groups_said, tables, figures, METHODS)


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
        _capital(one.sentence) if one.kind in (NOT_SHOWN, ONE_SEED) else one.sentence
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


def _ranked(arranged: Sequence[Arranged], groups: Mapping[str, Mapping[str, str]] | None) -> Ranking | None:
    """None where there is nothing to rank: one loss, or none that every data set has."""
    try:
        return rank(arranged, groups=groups)
    except BadInput:
        return None


def _ranking_said(ranking: Ranking) -> VerdictGroup:
    lead = (
        f"Over {len(ranking.data)} data sets {ranking.arms[0]} has the best mean rank: {ranking.mean_ranks[0]:.2f} "
        f"among {len(ranking.arms)} losses."
    )
    share = f"In {100 * ranking.first_share[0]:.0f} % of the studies resampled from this one it has it too."
    return VerdictGroup("Over all data sets", lead, [], [share, *map(_capital, ranking.notes)])


def _ranking_table(ranking: Ranking, *, seeds: int) -> Table:
    rows = [
        [
            Cell(arm),
            Cell(f"{mean:.2f}", mean),
            Cell(f"{low:g} to {high:g}", low),
            Cell(f"{100 * share:.0f} %", share),
        ]
        for arm, mean, (low, high), share in zip(
            ranking.arms, ranking.mean_ranks, ranking.rank_intervals, ranking.first_share, strict=True
        )
    ]
    note = (
        f"By DSC, over {len(ranking.data)} data set{'s' if len(ranking.data) > 1 else ''}; 1 is best. Places and "
        f"shares are over studies with resampled cases and seeds; in {100 * ranking.order_share:.0f} % of them the "
        "whole order is this one."
    )
    if seeds < FEW_SEEDS:
        note += f" With {seeds} seed{'s' if seeds > 1 else ''} these shares are surer than they should be: the luck of "
        note += "seeds cannot be resampled from so few. The comparisons above allow for it."
    return Table("ranking", "Ranking", ["loss", "mean rank", "place, 95 %", "comes first"], rows, note)


def _signed(value: float) -> str:
    text = f"{value:+.2f}"
    return (text[1:] if float(text) == 0 else text).replace("-", "−")


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
