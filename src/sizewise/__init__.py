"""Segmentation losses with their region-size bias made explicit.

>>> import torch, sizewise as sw
>>> criterion = sw.loss("RCE")
>>> logits = torch.randn(2, 3, 16, 16, requires_grad=True)
>>> criterion(logits, torch.randint(0, 3, (2, 16, 16))).backward()

A public name is loaded when it is first used, so that ``sizewise --help`` need not wait for torch, and the losses need
nothing but torch; ``load_run`` and ``advise`` alone are of the other half, which the extra ``train`` brings.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sizewise import theory
    from sizewise.advice.advise import advise
    from sizewise.criterion import Criterion, Loss, WeightSchedule
    from sizewise.decisions.decide import decide
    from sizewise.decisions.decision import Decision
    from sizewise.decisions.fit import fit_decision
    from sizewise.deep_supervision import DeepSupervision
    from sizewise.losses import loss, loss_names
    from sizewise.stats import RegionStats, region_stats
    from sizewise.stats.cells import Cells, components
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
    from sizewise.terms.per_component import per_component
    from sizewise.tiles import tiled_backward
    from sizewise.train.trained_run import load_run

__version__ = "0.1.0"

__all__ = [
    "BalancedCrossEntropy",
    "Cells",
    "Criterion",
    "CrossEntropy",
    "Decision",
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
    "WeightSchedule",
    "advise",
    "check",
    "components",
    "decide",
    "fit_decision",
    "load_run",
    "loss",
    "loss_names",
    "per_component",
    "region_stats",
    "theory",
    "tiled_backward",
]

_HOMES = {
    "Cells": "stats.cells",
    "components": "stats.cells",
    "per_component": "terms.per_component",
    "Criterion": "criterion",
    "Decision": "decisions.decision",
    "DeepSupervision": "deep_supervision",
    "Loss": "criterion",
    "WeightSchedule": "criterion",
    "RegionStats": "stats",
    "advise": "advice.advise",
    "check": "stats.kernels.label_errors",
    "decide": "decisions.decide",
    "fit_decision": "decisions.fit",
    "load_run": "train.trained_run",
    "loss": "losses",
    "loss_names": "losses",
    "region_stats": "stats",
    "theory": "theory",
    "tiled_backward": "tiles",
}  # every other public name is a term


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'sizewise' has no attribute {name!r}")
    module = import_module(f"sizewise.{_HOMES.get(name, 'terms')}")
    value = module if name == "theory" else getattr(module, name)
    globals()[name] = value  # found without this function from now on
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
