"""nnU-Net's commands, imported, with torchvision's missing operators declared before."""

import torch
from torchvision_stub import import_peer

torch.set_num_threads(1)
for module in (
    "nnunetv2.experiment_planning.plan_and_preprocess_entrypoints",
    "nnunetv2.inference.predict_from_raw_data",
    "nnunetv2.run.run_training",
):
    import_peer(module, needs_torchvision=True)
