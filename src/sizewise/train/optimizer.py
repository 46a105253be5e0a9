"""Optimizers, in the form that a captured step needs: state and learning rate on the device."""

from typing import Any

import torch
from torch import Tensor, nn

from sizewise.train.config import RunConfig


def make_optimizer(config: RunConfig, model: nn.Module, *, captured: bool, on_gpu: bool) -> torch.optim.Optimizer:
    """Adam or SGD; on a GPU fused, unless gradients are scaled. A captured step reads its rate from a tensor."""
    rate: Any = config.learning_rate
    if captured:
        device = next(model.parameters()).device
        rate = torch.tensor(config.learning_rate, dtype=torch.float32, device=device)
    on_gpu = on_gpu and config.precision != "float16"  # a fused step unscales by itself, too late to clip
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if config.optimizer == "adam":
        return torch.optim.Adam(
            parameters, lr=rate, weight_decay=config.weight_decay, fused=on_gpu, capturable=captured
        )
    return torch.optim.SGD(
        parameters,
        lr=rate,
        momentum=config.momentum,
        nesterov=config.momentum > 0,
        weight_decay=config.weight_decay,
        fused=on_gpu,
    )


def set_learning_rates(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the rate of the next step; written to the device only when it changes."""
    for group in optimizer.param_groups:
        if group.get("rate_set") == rate:
            continue
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate
        group["rate_set"] = rate
