"""Segmentation losses with their region-size bias made explicit.

>>> import torch, sizewise as sw
>>> criterion = sw.loss("RCE")
>>> logits = torch.randn(2, 3, 16, 16, requires_grad=True)
>>> criterion(logits, torch.randint(0, 3, (2, 16, 16))).backward()
"""

from sizewise import theory
from sizewise.criterion import Criterion, Loss
from sizewise.deep_supervision import DeepSupervision
from sizewise.losses import loss, loss_names
from sizewise.stats import RegionStats, region_stats
from sizewise.stats.kernels.label_errors import check
from sizewise.terms import (
    BalancedCrossEntropy,
    CrossEntropy,
    Dice,
    DiceBias,
    Focal,
    GeneralizedDice,
    Jaccard,
    LogDice,
    SizeBarrier,
    SizeBounds,
    SizeKL,
    SizeL1,
    Tversky,
)
from sizewise.tiles import tiled_backward

__version__ = "0.1.0"

__all__ = [
    "BalancedCrossEntropy",
    "Criterion",
    "CrossEntropy",
    "DeepSupervision",
    "Dice",
    "DiceBias",
    "Focal",
    "GeneralizedDice",
    "Jaccard",
    "LogDice",
    "Loss",
    "RegionStats",
    "SizeBarrier",
    "SizeBounds",
    "SizeKL",
    "SizeL1",
    "Tversky",
    "check",
    "loss",
    "loss_names",
    "region_stats",
    "theory",
    "tiled_backward",
]
