"""A trainer of ours on made-up plans: enough for nnU-Net to build it and its loss, without data."""

from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import torch
from torchvision_stub import import_peer

from sizewise.integrations.nnunet.factory import find_trainer

import_peer("nnunetv2.training.nnUNetTrainer.nnUNetTrainer", needs_torchvision=True)
# nnU-Net's search for a trainer imports all of its own, and these warn
import_peer("nnunetv2.training.nnUNetTrainer.primus.primus_trainers", needs_torchvision=True)

SHAPES = [(8, 8), (4, 4), (2, 2)]  # three levels; the last has weight 0
WEIGHTS = [2 / 3, 1 / 3, 0]
LABELS = {"background": 0, "body": 1, "core": 2}
REGIONS = {"background": 0, "whole": [1, 2], "core": 2}


def build(name: str, labels: dict = LABELS, *, batch_dice: bool = False, trainer: Any = None) -> Any:
    """The trainer, with its log kept quiet; nnUNet_results must be set."""
    plans = {
        "dataset_name": "Dataset900_Hand",
        "plans_name": "nnUNetPlans",
        "label_manager": "LabelManager",
        "continue_training": False,
        "configurations": {
            "2d": {
                "data_identifier": "nnUNetPlans_2d",
                "batch_size": 2,
                "patch_size": list(SHAPES[0]),
                "batch_dice": batch_dice,
                "architecture": {
                    "network_class_name": "",
                    "_kw_requires_import": [],
                    "arch_kwargs": {"n_stages": 4, "strides": [[1, 1], [2, 2], [2, 2], [2, 2]]},
                },
            }
        },
    }
    dataset = {"labels": labels, "channel_names": {"0": "CT"}, "file_ending": ".nii.gz"}
    if any(isinstance(value, list) for value in labels.values()):
        dataset["regions_class_order"] = [1, 2]
    trainer = find_trainer(name) if trainer is None else trainer
    with redirect_stdout(StringIO()):
        return trainer(plans, "2d", 0, dataset, torch.device("cpu"))


def levels(channels: int, *, seed: int = 0) -> list[torch.Tensor]:
    """Logits of each level, with a gradient."""
    draw = torch.Generator().manual_seed(seed)
    return [torch.randn(2, channels, *shape, generator=draw, dtype=torch.float64).requires_grad_() for shape in SHAPES]


def label_levels(values: int, *, seed: int = 1) -> list[torch.Tensor]:
    """Label maps (N, 1, *S) of each level, as nnU-Net's loader hands them: int16."""
    draw = torch.Generator().manual_seed(seed)
    return [torch.randint(0, values, (2, 1, *shape), generator=draw).short() for shape in SHAPES]


def region_levels(*, ignore: bool = False) -> list[torch.Tensor]:
    """Regions (N, C, *S) of each level, bool; with ``ignore``, a last channel that marks label 3."""
    targets = []
    for labels in label_levels(4 if ignore else 3):
        channels = [(labels == 1) | (labels == 2), labels == 2, labels == 3]
        targets.append(torch.cat(channels[: 3 if ignore else 2], 1))
    return targets
