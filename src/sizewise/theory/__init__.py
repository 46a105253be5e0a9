"""What the losses do to region sizes, as exact functions of the region statistics, and what decisions do; τ = 1.

>>> import torch, sizewise as sw
>>> from sizewise import theory
>>> stats = sw.region_stats(torch.zeros(1, 2, 1, 4), torch.tensor([[[0, 0, 0, 1]]]))
>>> theory.decompose(stats).size_error.tolist()  # half of each was predicted, of 3/4 and 1/4
[[-0.25, 0.25]]
"""

from sizewise.theory.decomposition import Decomposition, decompose
from sizewise.theory.parts import Parts, cross_entropy_parts, dice_matching, log_dice_parts
from sizewise.theory.proportions import proportions, size_pull
from sizewise.theory.size_bias import (
    dice_bias_at,
    dice_bias_minimiser,
    dice_bias_slope,
    size_kl_slope,
    size_l1_slope,
)
from sizewise.theory.thresholds import dice_threshold, expected_accuracy, expected_dice, size_threshold

__all__ = [
    "Decomposition",
    "Parts",
    "cross_entropy_parts",
    "decompose",
    "dice_bias_at",
    "dice_bias_minimiser",
    "dice_bias_slope",
    "dice_matching",
    "dice_threshold",
    "expected_accuracy",
    "expected_dice",
    "log_dice_parts",
    "proportions",
    "size_kl_slope",
    "size_l1_slope",
    "size_pull",
    "size_threshold",
]
