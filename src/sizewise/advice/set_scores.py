"""From the scores of every case on one set to one line for each arm: mean, spread, and gain with an interval."""

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from sizewise.advice.evidence_table import FEWEST_SEEDS, ArmScore, Kind
from sizewise.metrics.arms import Arm
from sizewise.metrics.cases_csv import ARGMAX
from sizewise.study.results import Results
from sizewise.study.row_labels import label_rows
from sizewise.study.statistics.paired import Comparison, compare_pair
from sizewise.study.statistics.setting_scores import SettingScores, arrange
from sizewise.study.statistics.within_runs import compare_decisions, same_weights

REFERENCE = Kind("DiceCE")  # what most people would use
SUM = re.compile(r"CE *\+ *([\d.]+) *\* *(\w+)")  # a loss that is written down, in the two ways that say λ alone
CALL = re.compile(r"([\w-]+)\(weight=([\d.]+)\)")
NAMED = {"Dice": "DiceCE", "LogDice": "LogDiceCE", "DiceBias": "DBCE", "SizeL1": "RCE", "SizeKL": "RCE-KL"}
ALIASES = {"RCE-L1": "RCE", "RFL-L1": "RFL"}  # one name for one loss

BESIDE = ("size_error", "component_recall", "component_precision")  # means alone, without intervals

Validation = Mapping[tuple[str, str], Mapping[str, float]]


def arm_scores(
    results: Results,
    *,
    data: str,
    model: str,
    groups: Mapping[str, str] | None = None,
    validation: Validation | None = None,
) -> tuple[ArmScore, ...]:
    """One line for each arm of a data set and network.

    Gains are over DiceCE with argmax, at the λ with most seeds and of those the best on validation; where that was not
    run twice, over the first arm with most seeds. Intervals are the report's: paired over cases or groups and over
    seeds. Arms with another τ than the usual one are left out: advice has no word for it.

    Args:
        results: the long table.
        data: the data set.
        model: the network.
        groups: the group of each case.
        validation: by loss and weight, as the table has them, and then by seed: the best DSC on validation cases.
    """
    labels = label_rows(results)
    scores = arrange(results, data=data, model=model, labels=labels)
    arm_of = {labels.name_of[arm]: arm for arm in labels.arms}
    arms = [arm_of[name] for name in scores.arms]
    runs = _run_means(scores)
    beside = {metric: _means(results, data, model, metric) for metric in BESIDE}
    on_validation = _shared_validation(validation or {})
    found = [
        replace(
            _plain(arm, runs[at][scores.present[at]], on_validation.get((arm.loss, arm.weight))),
            **{metric: values.get(name) for metric, values in beside.items()},  # type: ignore[arg-type]
        )
        for at, (name, arm) in enumerate(zip(scores.arms, arms, strict=True))
    ]
    reference = _reference(found)
    decided = {
        one.arm: one
        for one in compare_decisions(scores, argmax_of=same_weights(scores.arms, arms), groups={data: groups or {}})
    }
    for at, name in enumerate(scores.arms):
        if at == reference:
            found[at] = replace(found[at], gain=0.0, low=0.0, high=0.0)
        elif (scores.present[at] & scores.present[reference]).any():
            found[at] = _with_gain(found[at], compare_pair(scores, at, reference, groups))
        if name in decided:
            found[at] = _with_decision(found[at], decided[name])
    return tuple(score for score, arm in zip(found, arms, strict=True) if not arm.temperature)


def named(loss: str, weight: str) -> tuple[str, str]:
    """A loss and its λ by the name that the package has for it.

    >>> named("CE + 3 * SizeL1", ""), named("RCE-L1", "1"), named("DiceCE(weight=1)", ""), named("CE", "")
    (('RCE', '3'), ('RCE', '1'), ('DiceCE', '1'), ('CE', ''))
    """
    if (written := SUM.fullmatch(loss)) and written[2] in NAMED:
        return NAMED[written[2]], f"{float(written[1]):g}"
    if written := CALL.fullmatch(loss):
        return ALIASES.get(written[1], written[1]), f"{float(written[2]):g}"
    return ALIASES.get(loss, loss), weight


def _plain(arm: Arm, runs: np.ndarray, validation: float | None) -> ArmScore:
    loss, weight = named(arm.loss, arm.weight)
    return ArmScore(
        loss=loss,
        weight=weight,
        decision=arm.decision or ARGMAX,
        seeds=len(runs),
        dsc=float(runs.mean()),
        std=float(runs.std(ddof=1)) if len(runs) > 1 else None,
        validation=validation,
    )


def _run_means(scores: SettingScores) -> np.ndarray:
    """(A, S): the mean over cases, then over classes."""
    return scores.class_means().mean(axis=-1)


def _means(results: Results, data: str, model: str, metric: str) -> dict[str, float]:
    """By arm, the mean over seeds, classes and cases, where it was scored; of the size error without its sign."""
    if metric not in results.text["metric"].words:
        return {}
    scores = arrange(results, data=data, model=model, metric=metric)
    runs = _run_means(scores)
    return {name: float(runs[at][scores.present[at]].mean()) for at, name in enumerate(scores.arms)}


def _shared_validation(validation: Validation) -> dict[tuple[str, str], float]:
    """By loss and weight, the mean over the seeds that every λ of that loss has; over its own where they share none."""
    of_loss: dict[str, list[set[str]]] = {}
    for (loss, weight), by_seed in validation.items():
        of_loss.setdefault(named(loss, weight)[0], []).append(set(by_seed))
    found = {}
    for (loss, weight), by_seed in validation.items():
        shared = set.intersection(*of_loss[named(loss, weight)[0]]) or set(by_seed)
        found[loss, weight] = float(np.mean([by_seed[seed] for seed in shared]))
    return found


def _reference(found: list[ArmScore]) -> int:
    """The place of what the others are compared with."""
    usual = [at for at, one in enumerate(found) if one.kind == REFERENCE and one.seeds >= FEWEST_SEEDS]
    if usual:
        return max(usual, key=lambda at: (found[at].seeds, found[at].validation or 0.0))
    return max(range(len(found)), key=lambda at: found[at].seeds)


def _with_gain(score: ArmScore, one: Comparison) -> ArmScore:
    if one.seeds < FEWEST_SEEDS or (one.refused and not one.identical):
        return replace(score, gain=one.estimate)
    return replace(score, gain=one.estimate, low=one.low, high=one.high)


def _with_decision(score: ArmScore, one: Comparison) -> ArmScore:
    if one.refused and not one.identical:
        return replace(score, decided=one.estimate)
    return replace(score, decided=one.estimate, decided_low=one.low, decided_high=one.high)
