"""From a case's logits to its label map, in the image's own geometry: argmax, or a decision for Dice, IoU or size."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sizewise.checks import check_word
from sizewise.decisions.decide import decide
from sizewise.decisions.rule import METRICS
from sizewise.errors import BadInput
from sizewise.metrics.cases_csv import ARGMAX
from sizewise.train.inference import enlarged, labels_at
from sizewise.train.keep_largest import largest_only
from sizewise.train.task import Task


def decision_names(words: Iterable[str], *, argument: str) -> tuple[str, ...]:
    """Decisions by name, each once and argmax first: checkpoints and comparisons rest on it.

    >>> decision_names(["dice"], argument="decide")
    ('argmax', 'dice')
    """
    names = tuple(dict.fromkeys((ARGMAX, *words)))
    for name in names:
        try:
            check_word("decisions", f"`{argument}`", name, (ARGMAX, *(one for one in METRICS if one != ARGMAX)))
        except ValueError as error:
            raise BadInput(str(error)) from error
    return names


@dataclass(frozen=True)
class LabelMaker:
    """Makes label maps of a task's predictions.

    Attributes:
        task: says which classes are scored, and whether regions may overlap.
        temperature: what logits are divided by before anything but argmax, which it does not change.
        largest: classes of which only the largest component is kept, see ``keep_largest``.
    """

    task: Task
    temperature: float = 1.0
    largest: tuple[int, ...] = ()

    @torch.inference_mode()
    def label_map(self, logits: Tensor, shape: tuple[int, ...], decision: str = ARGMAX) -> np.ndarray:
        """(*S) uint8, or (C, *S) of 0 and 1 for multi-label, from one case's logits (1, K, *s).

        Logits, not labels, are brought to the image's size: a class is chosen for each pixel of the original, and the
        sums that a decision rests on are over the whole case.
        """
        task = self.task
        if decision == ARGMAX:
            labels = labels_at(logits, shape, sigmoid=task.sigmoid)
        else:
            labels = decide(
                enlarged(logits, shape),
                metric=decision,
                activation="sigmoid" if task.sigmoid else "softmax",
                background=background_of(task),
                temperature=self.temperature,
            ).to(torch.uint8)
        if task.sigmoid and not task.multilabel:
            labels = labels[:, 0]
        label_map = labels[0].cpu().numpy()
        return largest_only(label_map, self.largest, multilabel=task.multilabel) if self.largest else label_map

    @torch.inference_mode()
    def probabilities(self, logits: Tensor, shape: tuple[int, ...]) -> np.ndarray:
        """(K, *S) float16 at the image's size, as the network gives them: no temperature."""
        large = enlarged(logits, shape)
        return (torch.sigmoid(large) if self.task.sigmoid else torch.softmax(large, 1))[0].half().cpu().numpy()


def background_of(task: Task) -> int | None:
    """The class that a decision does not score: the one that the task does not score either."""
    return 0 if task.first_class else None
