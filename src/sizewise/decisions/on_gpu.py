"""Input on a GPU: the same passes as :class:`sizewise.decisions.streaming.Given`, as kernels."""

import torch
from torch import Tensor

from sizewise.decisions.rule import Rule
from sizewise.decisions.streaming import Given, Sums
from sizewise.stats.kernels.backend import MOST_CLASSES, kernels


def takes_kernels(values: Tensor) -> bool:
    """Whether the kernels run on these logits or probabilities."""
    usable = values.is_cuda and 2 < values.dim() <= 5 and values.numel() > 0 and values.shape[1] <= MOST_CLASSES
    return usable and kernels() is not None


class KernelGiven(Given):
    """The input of a decision on a GPU; nothing here makes the host wait."""

    def best(self, metric: str, prune: float, scope: str) -> Tensor:
        """The labels that are best for Dice or IoU."""
        from sizewise.decisions.kernels.launches import kernel_decision

        labels, form = self._labels()
        kernel_decision(self, form).best(self, form, metric, prune, scope == "batch")
        return labels

    def label(self, rule: Rule) -> Tensor:
        from sizewise.decisions.kernels.launches import kernel_decision

        labels, form = self._labels()
        kernel_decision(self, form).write(self, form, rule)
        return labels

    def take(self, rule: Rule) -> Sums:
        """The sums of a rule; in place of the largest p, whether any is above 0."""
        from sizewise.decisions.kernels.launches import kernel_decision

        _, form = self._labels()
        return kernel_decision(self, form).take(self, form, None if rule.is_argmax else rule)

    def _labels(self) -> tuple[Tensor, Tensor]:
        """Room for the labels, and the same with an axis of channels."""
        device = self.values.device
        if self.sigmoid:
            labels = torch.empty((self.images, self.channels, *self.spatial), dtype=torch.bool, device=device)
            return labels, labels
        labels = torch.empty((self.images, *self.spatial), dtype=torch.int64, device=device)
        return labels, labels.unsqueeze(1)
