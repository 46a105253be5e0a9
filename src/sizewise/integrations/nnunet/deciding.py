"""nnU-Net's validation with another decision than argmax: plans that hand out a label manager which decides.

nnU-Net turns logits into label maps in worker processes, and all that reaches them of ours are the plans: the label
manager is made from these there. So nothing of nnU-Net is replaced; it resamples, crops and writes as ever.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from sizewise.decisions.decide import decide
from sizewise.errors import import_extra

if TYPE_CHECKING:
    from nnunetv2.utilities.plans_handling.plans_handler import PlansManager
else:
    PlansManager = import_extra(
        "nnunetv2.utilities.plans_handling.plans_handler", extra="nnunet", reason="a decision in nnU-Net"
    ).PlansManager


class DecidingLabels:
    """Comes before nnU-Net's ``LabelManager`` among a label manager's bases."""

    metric: str
    has_regions: bool
    regions_class_order: list[int] | None

    def convert_logits_to_segmentation(self, predicted_logits: np.ndarray | Tensor) -> np.ndarray | Tensor:
        """A label map (*S) of logits (K, *S), or of those of regions (C, *S)."""
        return self._decided(predicted_logits, "logits")

    def convert_probabilities_to_segmentation(
        self, predicted_probabilities: np.ndarray | Tensor
    ) -> np.ndarray | Tensor:
        """The same of probabilities."""
        return self._decided(predicted_probabilities, "probabilities")

    def _decided(self, values: np.ndarray | Tensor, given: str) -> np.ndarray | Tensor:
        scores = torch.as_tensor(values).detach().unsqueeze(0)
        activation = "sigmoid" if self.has_regions else "softmax"
        decided = decide(scores, metric=self.metric, activation=activation, given=given)[0]
        if self.has_regions:
            labels = torch.zeros(decided.shape[1:], dtype=torch.int16, device=decided.device)
            for region, label in zip(decided, self.regions_class_order or (), strict=True):
                labels[region] = label  # later ones lie on top, as nnU-Net has it
            decided = labels
        return decided.numpy() if isinstance(values, np.ndarray) else decided


class DecidingPlans(PlansManager):
    """nnU-Net's plans, whose label manager decides for a metric.

    Args:
        plans: the dictionary of a ``PlansManager``.
        metric: see :func:`sizewise.decide`.
    """

    def __init__(self, plans: dict, metric: str) -> None:
        super().__init__(plans)
        self.metric = metric

    @property
    def label_manager_class(self) -> type:
        """nnU-Net's own, or the one that the plans name, with decisions before it."""
        return type("DecidingLabelManager", (DecidingLabels, super().label_manager_class), {"metric": self.metric})


class RenamedSummary:
    """A logger for nnU-Net's final scores, under names of their own."""

    def __init__(self, logger: Any, metric: str) -> None:
        self.logger, self.metric = logger, metric

    def log_summary(self, key: str, value: Any) -> None:
        """``final_val/foreground_dice`` becomes ``final_val_decided_dice/foreground_dice``."""
        self.logger.log_summary(key.replace("final_val/", f"final_val_decided_{self.metric}/"), value)


@contextmanager
def deciding(trainer: Any, metric: str) -> Iterator[Path]:
    """While it lasts, the trainer's validation decides for ``metric``, and writes below the folder that is given here.

    The maps that a cascade's next stage is trained on stay argmax's, as ``nnUNetv2_predict`` will make them.
    """
    folder = Path(trainer.output_folder) / f"decided_{metric}"
    configuration = copy(trainer.configuration_manager)
    configuration.configuration = configuration.configuration | {"next_stage": None}
    stand_ins = {
        "plans_manager": DecidingPlans(trainer.plans_manager.plans, metric),
        "configuration_manager": configuration,
        "output_folder": str(folder),
        "logger": RenamedSummary(trainer.logger, metric),
    }
    own = {name: getattr(trainer, name) for name in stand_ins}
    try:
        for name, value in stand_ins.items():
            setattr(trainer, name, value)
        yield folder
    finally:
        for name, value in own.items():
            setattr(trainer, name, value)
