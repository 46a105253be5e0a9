"""Whether the losses of a study are about equally stable over seeds, as moderated variances take them to be."""

from collections.abc import Mapping

import numpy as np

from sizewise.study.statistics.seed_pool import largest_ratio, usual_ratio
from sizewise.study.statistics.setting_scores import SettingScores

FACTOR = 3.0  # a standard deviation that is so many times that of the others is worth a warning
LEVEL = 0.05


def spreads_differ(runs: np.ndarray) -> np.ndarray:
    """(...,) whether one loss's seeds spread more than three times as much as the others', beyond what chance does.

    Few seeds know their own spread badly: with three, every third pair of equal losses differs by a factor of 3. So the
    factor must also be beyond the F distribution's 5 %, corrected for the number of losses.

    Args:
        runs: (..., A, S) run means, on seeds that all losses have.
    """
    arms, seeds = runs.shape[-2:]
    if arms < 3 or seeds < 2:
        return np.zeros(runs.shape[:-2], dtype=bool)
    return largest_ratio(runs)[0] > max(FACTOR, usual_ratio(LEVEL / arms, arms, seeds))


def spread_note(scores: SettingScores, groups: Mapping[str, str] | None = None) -> str:
    """A sentence where one loss is much less stable than the others; empty where none is, or it cannot be told."""
    decisions = [scores.decision_of.get(name, "") for name in scores.arms]
    for decision in dict.fromkeys(decisions):
        pool = [at for at, one in enumerate(decisions) if one == decision]
        seeds = scores.present[pool].all(axis=0)
        runs = scores.grouped(groups)[pool][:, seeds].mean(axis=-1)
        if spreads_differ(runs):
            ratio, which = largest_ratio(runs)
            return (
                f"the seeds of {scores.arms[pool[which]]} spread {ratio:.1f} times as much as those of the other "
                "losses. Where one loss is less stable, a comparison with it claims too much a little more often than "
                "in 5 % of studies: run more seeds before you rest anything on it."
            )
    return ""
