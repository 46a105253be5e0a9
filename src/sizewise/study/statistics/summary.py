"""Mean ± standard deviation over seeds, as papers report it."""

from dataclasses import dataclass

import numpy as np

from sizewise.study.statistics.table import Scores


@dataclass(frozen=True)
class ArmSummary:
    """One loss on one data set.

    Attributes:
        arm: the loss.
        seeds: how many runs.
        mean: over seeds, of the mean over classes of the mean over cases.
        std: sample standard deviation over seeds (divisor S − 1); None with one seed.
        per_seed: the score of each run.
        class_means: by label, the mean over seeds of the mean over cases.
        class_stds: by label, the standard deviation over seeds; None with one seed.
        true_negatives: per run on average, the cells (case and class) without a value.
    """

    arm: str
    seeds: int
    mean: float
    std: float | None
    per_seed: tuple[float, ...]
    class_means: dict[int, float]
    class_stds: dict[int, float | None]
    true_negatives: float


def summarise(scores: Scores) -> list[ArmSummary]:
    """One summary per arm, in the order of the arms.

    The paper gives mean ± std over three runs without its divisor; here it is S − 1, since the seeds are a sample.
    """
    class_means = scores.class_means()
    lines = []
    for index, arm in enumerate(scores.arms):
        runs = class_means[index, scores.present[index]]
        per_seed = runs.mean(axis=1)
        empty = np.isnan(scores.values[index, scores.present[index]]).sum(axis=(1, 2)).mean()
        lines.append(
            ArmSummary(
                arm=arm,
                seeds=len(runs),
                mean=float(per_seed.mean()),
                std=_std(per_seed),
                per_seed=tuple(per_seed.tolist()),
                class_means=dict(zip(scores.classes, runs.mean(axis=0).tolist(), strict=True)),
                class_stds={label: _std(runs[:, k]) for k, label in enumerate(scores.classes)},
                true_negatives=float(empty),
            )
        )
    return lines


def _std(values: np.ndarray) -> float | None:
    return float(values.std(ddof=1)) if len(values) > 1 else None
