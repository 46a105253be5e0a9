"""The step on a GPU: four launches, and as few calls from Python as there can be.

The formula of a criterion is a few dozen tiny operations on (N, K) tensors and as many in its backward. Each costs the
host ten times what it costs the device, and together more than the two passes over the logits. So a step launches two
kernels for the sums, one for the formula and its derivative, and one for the gradient. What depends on shapes, dtypes
and options is prepared in the first call and found again by a key.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from sizewise.criterion.fused.axes import Unsupported
from sizewise.criterion.fused.kernel import FormulaKernel
from sizewise.criterion.plain_step import per_term
from sizewise.private_apis import cuda_stream
from sizewise.stats.kernels.backend import covers
from sizewise.stats.kernels.call import BackwardCall, ForwardCall
from sizewise.stats.kernels.kept_tensors import numbers_on
from sizewise.stats.kernels.label_errors import record_of
from sizewise.stats.kernels.passes import backward_call, form_of, forward_call, on_device_of
from sizewise.stats.kernels.upsampled_call import UpsampledBackwardCall
from sizewise.stats.operator import region_gradient
from sizewise.stats.reference import compute_dtype
from sizewise.stats.upsampling import needed_upsample

if TYPE_CHECKING:
    from sizewise.criterion.criterion import Criterion
    from sizewise.criterion.snapshot import Snapshot

# What is prepared for one form of input stays; a program with ever new shapes prepares anew now and then.
MOST_PLANS = 256
UNSEEN: Any = object()


def fused_step(
    snapshot: "Snapshot", criterion: "Criterion", logits: Tensor, target: Any, mask: Any, has_truth: bool
) -> "FusedStep | None":
    """The launches for such input, or None where plain torch has to do."""
    if type(target) is not Tensor or (mask is not None and type(mask) is not Tensor):
        logits, target, mask = snapshot.prepare(logits, target, mask)
    form, plans = form_of(logits, target, mask), snapshot.plans[has_truth]
    plan = plans.get(form, UNSEEN)
    if plan is UNSEEN:
        if logits.is_cuda and torch.cuda.is_current_stream_capturing():
            return None  # someone else's graph is being captured: no time to compile
        plan = make_step(snapshot, criterion, logits, target, mask, has_truth, form)
        remember(plans, form, plan)
    return plan


def remember(plans: dict[tuple, Any], form: tuple, plan: Any) -> None:
    """Keep what was prepared for one form of input."""
    if len(plans) >= MOST_PLANS:
        plans.clear()
    plans[form] = plan


def make_step(
    snapshot: "Snapshot",
    criterion: "Criterion",
    logits: Tensor,
    target: Any,
    mask: Any,
    has_truth: bool,
    form: tuple,
) -> "FusedStep | None":
    """Check the input, and prepare its steps; None for input or formulas that kernels do not cover."""
    logits, target, mask = snapshot.prepare(logits, target, mask)
    if logits.numel() == 0 or logits.dim() > 5 or not snapshot.fits(logits.device):
        return None
    ignore_index, sigmoid, kinds, parameters, upsample = snapshot.reading
    upsample = needed_upsample(logits, target, upsample)
    if upsample is not None and not covers(logits.shape[-1], target.shape[-1], upsample):
        return None
    reading = (ignore_index, sigmoid, tuple(zip(kinds, parameters, strict=True)))
    record = record_of(logits.device)

    def compiled(call: Callable[..., None], *tensors: Any) -> None:
        with on_device_of(logits):  # which each thread has its own of
            call(*tensors)

    # The first call compiles for seconds: the kernels side by side, while the formula is being written.
    with ThreadPoolExecutor(3, thread_name_prefix="sizewise") as pool, on_device_of(logits):
        sums = forward_call(logits, target, mask, *reading, upsample)
        for one in sums.compilations(logits, target, mask, record.tensor):
            pool.submit(compiled, one)
        formula = formula_kernel(snapshot, criterion, logits, has_truth)
        if formula is None or not formula.takes(logits.shape[0]):
            return None
        gradient = backward_call(logits, target, mask, torch.empty_like(logits), *reading, formula.planes, upsample)
        pool.submit(compiled, gradient.compile, logits, target, mask)
        if not formula.agrees_with(criterion, snapshot.fields, sums_like(snapshot, logits), has_truth):
            snapshot.formulas[formula_key(logits, has_truth)] = None
            return None
        return FusedStep(snapshot, formula, sums, gradient, logits, target, mask, form)


def formula_kernel(
    snapshot: "Snapshot", criterion: "Criterion", logits: Tensor, has_truth: bool
) -> FormulaKernel | None:
    """The formula as a kernel for so many classes, or None where it is left to torch."""
    key = formula_key(logits, has_truth)
    if key not in snapshot.formulas:
        like, options = sums_like(snapshot, logits), {"one_image": logits.shape[0] == 1, "has_truth": has_truth}
        cell_fields = snapshot.cell_fields if snapshot.has_cells else ()
        try:
            made = FormulaKernel(criterion, snapshot.fields, like, cell_fields=cell_fields, **options)
        except Unsupported:
            made = None
        snapshot.formulas[key] = made
    return snapshot.formulas[key]


def formula_key(logits: Tensor, has_truth: bool) -> tuple:
    """What a formula's kernel depends on beside its criterion."""
    return (logits.shape[1], compute_dtype(logits.dtype), logits.device, logits.shape[0] == 1, has_truth)


def sums_like(snapshot: "Snapshot", logits: Tensor) -> Tensor:
    """A tensor of the sums' shape and kind."""
    regions = (2,) if snapshot.sigmoid else ()
    shape = (len(snapshot.fields), *logits.shape[:2], *regions)
    return torch.empty(shape, dtype=compute_dtype(logits.dtype), device=logits.device)


class FusedStep:
    """The launches of a step for input of one form; see :class:`sizewise.criterion.step.Backend`."""

    def __init__(
        self,
        snapshot: "Snapshot",
        formula: FormulaKernel,
        sums: ForwardCall,
        gradient: BackwardCall | UpsampledBackwardCall,
        logits: Tensor,
        target: Tensor,
        mask: Tensor | None,
        form: tuple,
    ) -> None:
        self.form, self.reading = form, snapshot.reading
        self.sums, self.gradient = sums, gradient
        self.formula, self.launch = formula, formula.launch(logits.shape[0])
        self.record = record_of(logits.device)
        self.device = logits.get_device()
        self.one = numbers_on(logits.device, torch.float64, 1.0)
        self.target_shape, self.mask_shape = target.shape, None if mask is None else mask.shape

    def forward(
        self,
        logits: Tensor,
        target: Tensor,
        mask: Tensor | None,
        truth: Tensor | None,
        scale: float,
        learned: Sequence[Tensor],
        derive: bool,
    ) -> tuple[Tensor, Any, Tensor, tuple[Tensor | None, ...], Any]:
        """See :class:`sizewise.criterion.step.Backend`."""
        if self.record.words[0]:
            self.record.raise_error()
        with on_device_of(logits):
            stream = cuda_stream(self.device)
            sums = self.sums(logits, target, mask, self.record.tensor, stream=stream)
            factor = self.one if scale == 1 else numbers_on(sums.device, torch.float64, scale)
            total, kept, _ = self.formula(sums, truth, factor, self.launch, stream)
        return total, kept, sums, (logits, target, mask), kept

    def backward(
        self,
        kept: Tensor,
        saved: tuple[Any, ...],
        upstream: Sequence[Tensor | None],
        wants_logits: bool,
    ) -> tuple[Tensor | None, Sequence[Tensor | None]]:
        """See :class:`sizewise.criterion.step.Backend`."""
        (logits, target, mask), total = saved, upstream[0]
        if total is None or (len(upstream) > 1 and any(one is not None for one in upstream[1:])):
            kept = kept.clone()
            factors = self.formula.parts(kept, self.sums.sums_shape[1:])[1]
            factors.copy_(per_term(factors, upstream))
            total = numbers_on(kept.device, kept.dtype, 1.0)
        # The operator says that there is no second derivative; and it takes tensors that hooks, as those that keep them
        # on the CPU between the passes, brought back in another layout.
        if torch.is_grad_enabled() or form_of(logits, target, mask) != self.form:
            mask = None if mask is None else mask.view(self.mask_shape)
            dense = self.dense(kept) * total
            return region_gradient(dense, logits, target.view(self.target_shape), mask, *self.reading), ()
        gradient = torch.empty_like(logits)
        with on_device_of(logits):
            self.gradient(kept, total, logits, target, mask, gradient, stream=cuda_stream(self.device))
        return gradient, ()

    def dense(self, kept: Tensor) -> Tensor:
        """∂L/∂sums as one plane for each field."""
        coefficients, factors, _ = self.formula.parts(kept, self.sums.sums_shape[1:])
        return dense_planes(coefficients, factors, self.formula.planes, len(self.reading[2]))


def dense_planes(coefficients: Tensor, factors: Tensor, planes: Sequence[tuple[int, int]], fields: int) -> Tensor:
    """∂L/∂sums as one plane for each field, from those of single terms."""
    dense = [torch.zeros(coefficients.shape[1:], dtype=factors.dtype, device=factors.device) for _ in range(fields)]
    for plane, (term, field) in zip(coefficients, planes, strict=True):
        dense[field] = dense[field] + plane * factors[term]
    return torch.stack(dense)
