"""Decisions of the same weights, each against argmax, on differences within runs.

Two losses differ by all that training does: their seeds' luck is part of the difference. Two decisions of one network
differ only in how its probabilities become labels, so the difference of a run is free of most of that luck, and a few
seeds show what they could not show between losses. These comparisons are a family of their own: neither the correction
for many comparisons nor an estimate of the seeds' spread is shared with those between losses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sizewise.metrics.arms import Arm
from sizewise.metrics.cases_csv import ARGMAX
from sizewise.study.statistics.paired import Comparison, compare
from sizewise.study.statistics.setting_scores import SettingScores


def same_weights(names: Sequence[str], arms: Sequence[Arm]) -> dict[str, str]:
    """By name, the arm that is argmax of the same weights, for each arm that is another decision of them.

    >>> same_weights(["CE", "CE (dice)", "RCE (dice)"], [Arm("CE"), Arm("CE", decision="dice"), Arm("RCE", "1")])
    {'CE (dice)': 'CE'}
    """
    plain = {replace(arm, decision=""): name for name, arm in zip(names, arms, strict=True) if _is_argmax(arm)}
    return {
        name: plain[replace(arm, decision="")]
        for name, arm in zip(names, arms, strict=True)
        if not _is_argmax(arm) and replace(arm, decision="") in plain
    }


def compare_decisions(
    *scores: SettingScores, argmax_of: Mapping[str, str], groups: Mapping[str, Mapping[str, str]] | None = None
) -> list[Comparison]:
    """Compare each decision with argmax of the same runs, on every data set and model given, corrected together.

    Args:
        scores: what ``arrange`` returned, one per data set and model.
        argmax_of: what :func:`same_weights` returned.
        groups: by data set, the group (patient, video) of each case.
    """
    parts, names = [], []
    for one in scores:
        for base in dict.fromkeys(argmax_of[arm] for arm in one.arms if arm in argmax_of):
            decided = [arm for arm in one.arms if argmax_of.get(arm) == base and _share_a_run(one, arm, base)]
            if not decided:
                continue
            at = [one.arm(arm) for arm in (base, *decided)]
            # argmax goes by one name in all parts, so that one call compares and corrects them together
            arms = (ARGMAX, *decided)
            parts.append(replace(one, arms=arms, values=one.values[at], present=one.present[at]))
            names += [base] * len(decided)
    found = compare(*parts, reference=ARGMAX, groups=groups)
    return [replace(each, reference=base) for each, base in zip(found, names, strict=True)]


def _share_a_run(scores: SettingScores, arm: str, base: str) -> bool:
    """Whether any seed has both, as a study that was interrupted may not."""
    return base in scores.arms and bool((scores.present[scores.arm(arm)] & scores.present[scores.arm(base)]).any())


def _is_argmax(arm: Arm) -> bool:
    return arm.decision in ("", ARGMAX)
