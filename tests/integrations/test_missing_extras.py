"""A library that is not installed: the sentence names the command that adds it."""

import subprocess
import sys


def test_each_integration_names_its_extra_and_importing_sizewise_needs_none_of_them():
    """With every library hidden: the losses for MONAI, SMP and Hugging Face, and its label maps, need none of them."""
    code = """
import sys
hidden = ("monai", "lightning", "torchmetrics", "transformers", "segmentation_models_pytorch", "torchvision")
sys.modules.update(dict.fromkeys(hidden))
import torch
import sizewise
from sizewise.integrations.monai import MonaiLoss
from sizewise.integrations.smp import SmpLoss
from sizewise.integrations.transformers import SemanticLoss, post_process_semantic_segmentation
MonaiLoss("RCE"), SmpLoss("RCE", mode="binary"), SemanticLoss("RCE")
from importlib import import_module
from sizewise.errors import BadInput
for name in ("lightning", "torchmetrics", "monai_metrics", "monai_transforms"):
    try:
        import_module(f"sizewise.integrations.{name}")
    except BadInput as error:
        print(error)
from sizewise.models.build import build_model
for name in ("fpn-resnet50", "monai-unet"):
    try:
        build_model(name, spatial_dims=2, in_channels=3, out_channels=2)
    except BadInput as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    needs = {
        "sizewise.integrations.lightning needs lightning": "lightning",
        "sizewise.integrations.torchmetrics needs torchmetrics": "torchmetrics",
        "sizewise.integrations.monai_metrics needs monai": "monai",
        "sizewise.integrations.monai_transforms needs monai": "monai",
        "a network of segmentation_models.pytorch needs segmentation_models_pytorch": "train",
        "a MONAI network needs monai": "train",
    }
    assert done.stdout.strip().splitlines() == [
        f"{reason}, which is not installed. Install it with: pip install 'sizewise[{extra}]'"
        for reason, extra in needs.items()
    ]
