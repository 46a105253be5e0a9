"""Before the losses are timed they have to be right: values and gradients against the reference in float64."""

from collections.abc import Sequence

import torch
from torch import Tensor

import sizewise as sw
from sizewise.stats import fields as f
from sizewise.stats import reference
from sizewise.stats.region_stats import RegionStats

# Rounding of the gradient to the logits' dtype is all that bfloat16 adds.
LARGEST_ERROR = {torch.float32: 1e-5, torch.bfloat16: 4e-3}


def check_losses(names: Sequence[str], logits: Tensor, target: Tensor) -> None:
    """Raise ``RuntimeError`` unless the losses agree with the reference: the value, and the first image's gradient."""
    criteria = {name: sw.loss(name).to(logits.device) for name in names}
    wanted = [f.COUNT, f.PIXELS, *(field for criterion in criteria.values() for field in criterion.fields)]
    fields = tuple(dict.fromkeys(wanted))
    kinds, parameters = [int(field.kind) for field in fields], [field.parameter for field in fields]
    options = (None, None, False, kinds, parameters)
    exact_logits, labels = logits.detach().double(), target.unsqueeze(1)
    sums = reference.region_sums(exact_logits, labels, *options).requires_grad_()
    for name, criterion in criteria.items():
        loss = criterion(logits, target)
        (gradient,) = torch.autograd.grad(loss, logits)
        exact = criterion.from_stats(RegionStats(fields, sums))
        (coefficients,) = torch.autograd.grad(exact, sums)
        exact_gradient = reference.region_gradient(coefficients[:, :1], exact_logits[:1], labels[:1], *options)
        for what, result, wanted_result in (("value", loss, exact), ("gradient", gradient[:1], exact_gradient)):
            error = relative_error(result.detach(), wanted_result.detach())
            if not error <= LARGEST_ERROR[logits.dtype]:  # NaN is no agreement either
                where = f"the {what} of {name} on {tuple(logits.shape)}"
                raise RuntimeError(f"bench: {where} is off by {error:.1e} of its norm from float64.")


def relative_error(result: Tensor, exact: Tensor) -> float:
    """‖result − exact‖ / ‖exact‖."""
    return float((result.double() - exact).norm() / exact.norm().clamp(min=1e-30))
