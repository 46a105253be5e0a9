"""The ranking of the losses, in the forms of the report."""

from collections.abc import Mapping, Sequence

from sizewise.errors import BadInput
from sizewise.report.formatted_table import Cell, Table
from sizewise.report.verdict import VerdictGroup, capital
from sizewise.study.statistics.mean_ranks import Ranking, rank
from sizewise.study.statistics.setting_scores import SettingScores

FEW_SEEDS = 5


def rank_losses(arranged: Sequence[SettingScores], groups: Mapping[str, Mapping[str, str]] | None) -> Ranking | None:
    """None where there is nothing to rank: one loss, or none that every data set has."""
    try:
        return rank(arranged, groups=groups)
    except BadInput:
        return None


def ranking_verdict(ranking: Ranking, *, seeds: int, plural: str = "losses") -> VerdictGroup:
    """The ranking over several data sets in words."""
    lead = (
        f"Over {len(ranking.data)} data sets {ranking.arms[0]} has the best mean rank: {ranking.mean_ranks[0]:.2f} "
        f"among {len(ranking.arms)} {plural}. A rank is no difference: what can be shown follows."
    )
    share = f"In {100 * ranking.first_share[0]:.0f} % of the studies resampled from this one it has it too"
    share += f", a share that is too sure with {_seeds(seeds)}." if seeds < FEW_SEEDS else "."
    return VerdictGroup("Over all data sets", lead, [], [share, *map(capital, ranking.notes)])


def ranking_table(ranking: Ranking, *, seeds: int, what: str = "loss", label: str = "DSC") -> Table:
    """Mean ranks, and how firm they are; ``seeds`` is how many there were to resample."""
    rows = [
        [
            Cell(arm),
            Cell(f"{mean:.2f}", mean),
            Cell(f"{round(low, 1):g} to {round(high, 1):g}", low),
            Cell(f"{100 * share:.0f} %", share),
        ]
        for arm, mean, (low, high), share in zip(
            ranking.arms, ranking.mean_ranks, ranking.rank_intervals, ranking.first_share, strict=True
        )
    ]
    note = (
        f"By {label}, over {len(ranking.data)} data set{'s' if len(ranking.data) > 1 else ''}; 1 is best. Places and "
        f"shares are over studies with resampled cases and seeds; in {100 * ranking.order_share:.0f} % of them the "
        "whole order is this one."
    )
    if seeds < FEW_SEEDS:
        note += f" With {_seeds(seeds)} these shares are surer than they should be: the luck of seeds cannot be "
        note += "resampled from so few. The comparisons above allow for it."
    return Table("ranking", "Mean ranks", [what, "mean rank", "place, 95 %", "comes first"], rows, note)


def _seeds(count: int) -> str:
    return "one seed" if count == 1 else f"{count} seeds"
