"""Before a loss is timed it has to be right: its value and gradient against the reference in float64."""

import torch
from torch import Tensor

import sizewise as sw
from sizewise.stats import reference
from sizewise.stats.region_stats import RegionStats

# Rounding of the gradient to the logits' dtype is all that bfloat16 adds.
LARGEST_ERROR = {torch.float32: 1e-5, torch.bfloat16: 4e-3}


def check_loss(name: str, logits: Tensor, target: Tensor) -> None:
    """Raise ``RuntimeError`` unless the loss by that name agrees with the reference on this input."""
    criterion = sw.loss(name).to(logits.device)
    loss = criterion(logits, target)
    (gradient,) = torch.autograd.grad(loss, logits)
    fields = criterion.stats(logits.detach(), target).fields
    kinds, parameters = [int(field.kind) for field in fields], [field.parameter for field in fields]
    arguments = (logits.detach().double(), target.unsqueeze(1), None, None, False, kinds, parameters)
    sums = reference.region_sums(*arguments).requires_grad_()
    exact = criterion.from_stats(RegionStats(fields, sums))
    (coefficients,) = torch.autograd.grad(exact, sums)
    exact_gradient = reference.region_gradient(coefficients, *arguments)
    errors = {
        "value": relative_error(loss.detach(), exact.detach()),
        "gradient": relative_error(gradient, exact_gradient),
    }
    for what, error in errors.items():
        if not error <= LARGEST_ERROR[logits.dtype]:  # NaN is no agreement either
            raise RuntimeError(
                f"bench: the {what} of {name} on {tuple(logits.shape)} is off by {error:.1e} of its norm from float64."
            )


def relative_error(result: Tensor, exact: Tensor) -> float:
    """‖result − exact‖ / ‖exact‖."""
    return float((result.double() - exact).norm() / exact.norm().clamp(min=1e-30))
