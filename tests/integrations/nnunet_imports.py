"""nnU-Net's commands, imported, with torchvision's missing operators declared before."""

import warnings
from importlib import import_module

import torch

from sizewise.models.torchvision_ops import make_torchvision_importable

torch.set_num_threads(1)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # theirs, on import
    make_torchvision_importable()
    for module in (
        "nnunetv2.experiment_planning.plan_and_preprocess_entrypoints",
        "nnunetv2.inference.predict_from_raw_data",
        "nnunetv2.run.run_training",
    ):
        import_module(module)
