"""One eager step on a GPU, with as few calls from Python as there can be.

The formula of a criterion is a few dozen tiny operations on (N, K) tensors and as many in its backward. Each costs the
host ten times what it costs the device, and together more than the two passes over the logits. So a step is four
launches: two for the sums, one for the value and its derivative ∂L/∂sums (the formula as one kernel, written from the
same torch code, see :mod:`sizewise.stats.formula`), and one for the gradient. What depends on shapes, dtypes and
options is prepared in the first call and found again by a key.
"""

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from sizewise.stats import reference
from sizewise.stats.formula.record import Formula
from sizewise.stats.inputs import prepare
from sizewise.stats.kernels.backend import MOST_CLASSES, kernels
from sizewise.stats.operator import region_gradient
from sizewise.stats.prepared import Prepared

if TYPE_CHECKING:
    from sizewise.stats.formula.kernel import FormulaKernel

# What is prepared for one form of input stays; a program with ever new shapes prepares anew now and then.
MOST_PLANS = 256
UNSEEN: Any = object()
_same_device = nullcontext()


def steps_on_gpu(logits: Any) -> bool:
    """Whether the kernels take these logits, and nobody is watching the single operations."""
    return (
        type(logits) is Tensor
        and logits.is_cuda
        and not torch.is_inference_mode_enabled()
        and not torch.jit.is_tracing()
        and logits.dim() > 2
        and 0 < logits.shape[1] <= MOST_CLASSES
        and kernels() is not None
        and not torch._C._are_functorch_transforms_active()
        and not torch._C._len_torch_dispatch_stack()
    )


def gpu_step(prepared: Prepared, where: str, formula: Formula, logits: Tensor, target: Any, mask: Any) -> Tensor | None:
    """The loss with a graph of one node, or None where single operations have to do; ``where`` opens the messages."""
    if type(target) is not Tensor or (mask is not None and type(mask) is not Tensor):
        logits, target, mask = prepare(where, logits, target, mask, prepared.ignore_index, prepared.activation)
    key = form_of(logits, target, mask)
    plan = prepared.plans.get(key, UNSEEN)
    if plan is UNSEEN:
        if logits.is_cuda and torch.cuda.is_current_stream_capturing():
            return None  # someone else's graph is being captured: no time to compile
        plan = make_plan(prepared, where, formula, logits, target, mask, key)
        if len(prepared.plans) >= MOST_PLANS:
            prepared.plans.clear()
        prepared.plans[key] = plan
    return None if plan is None else apply_step(logits, target, mask, plan)


def form_of(logits: Tensor, target: Tensor, mask: Tensor | None) -> tuple:
    """All that a plan depends on besides the criterion, pointer alignment included: kernels read 16 bytes at a time."""
    own, other = logits.data_ptr(), target.data_ptr()
    return (
        logits.shape,
        logits.stride(),
        logits.dtype,
        logits.get_device(),
        target.shape,
        target.stride(),
        target.dtype,
        target.get_device(),
        (own | other) & 15 and (own & 15, other & 15),
        None if mask is None else (mask.shape, mask.stride(), mask.dtype, mask.get_device(), mask.data_ptr() & 15),
    )


def make_plan(
    prepared: Prepared, where: str, formula: Formula, logits: Tensor, target: Any, mask: Any, form: tuple
) -> "StepPlan | None":
    """Check the input, and prepare its steps; None for input or formulas that the plan does not cover."""
    logits, target, mask = prepare(where, logits, target, mask, prepared.ignore_index, prepared.activation)
    if logits.numel() == 0 or logits.dim() > 5:
        return None
    with on_device_of(logits):
        kernel = formula_kernel(prepared, formula, logits)
        if kernel is None or not kernel.takes(logits.shape[0]):
            return None
        return StepPlan(prepared, kernel, logits, target, mask, form)


def formula_kernel(prepared: Prepared, formula: Formula, logits: Tensor) -> "FormulaKernel | None":
    """The formula as a kernel for so many classes, or None where it is left to torch."""
    from sizewise.stats.formula.kernel import FormulaKernel
    from sizewise.stats.formula.values import Unsupported

    channels, dtype = logits.shape[1], reference.compute_dtype(logits.dtype)
    key = (channels, dtype, logits.device)
    if key not in prepared.formulas:
        like = torch.empty((), dtype=dtype, device=logits.device)
        try:
            made = FormulaKernel(formula, prepared.fields, channels, prepared.sigmoid, like)
        except Unsupported:
            made = None
        prepared.formulas[key] = made
    return prepared.formulas[key]


class StepPlan:
    """The launches of a step for input of one form."""

    def __init__(
        self,
        prepared: Prepared,
        kernel: "FormulaKernel",
        logits: Tensor,
        target: Tensor,
        mask: Tensor | None,
        form: tuple,
    ) -> None:
        from sizewise.stats.kernels.call import BackwardCall, ForwardCall
        from sizewise.stats.kernels.label_errors import record_of

        self.form, self.reading = form, prepared.reading
        kinds, parameters = prepared.reading[2:]
        options = (prepared.ignore_index, prepared.sigmoid, list(zip(kinds, parameters, strict=True)))
        self.sums = ForwardCall(logits, target, mask, *options)
        self.formula, self.inputs, self.mirrors = kernel.launch(logits.shape[0]), kernel.inputs, kernel.mirrors
        self.gradient = BackwardCall(logits, target, mask, torch.empty_like(logits), *options, has_upstream=True)
        self.record = record_of(logits.device)
        self.device = logits.get_device()
        self.target_shape, self.mask_shape = target.shape, None if mask is None else mask.shape

    def forward(self, logits: Tensor, target: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """L and ∂L/∂sums."""
        if self.record.words[0]:
            self.record.raise_error()
        with on_device_of(logits):
            stream = current_stream(self.device)
            sums = self.sums(logits, target, mask, self.record.tensor, stream=stream)
            for mirror in self.mirrors:
                mirror.refresh()
            coefficients = torch.empty_like(sums)
            value = torch.empty((), dtype=sums.dtype, device=sums.device)
            self.formula(sums, value, coefficients, *self.inputs, stream=stream)
        return value, coefficients

    def backward(
        self, coefficients: Tensor, logits: Tensor, target: Tensor, mask: Tensor | None, upstream: Tensor
    ) -> Tensor:
        """∂(final loss)/∂logits, with ``upstream`` = ∂(final loss)/∂L."""
        gradient = torch.empty_like(logits)
        with on_device_of(logits):
            self.gradient(coefficients, logits, target, mask, gradient, upstream, stream=current_stream(self.device))
        return gradient


def current_stream(device: int) -> int | None:
    """The raw stream that launches go to; None without a GPU."""
    return torch._C._cuda_getCurrentRawStream(device) if device >= 0 else None


def on_device_of(tensor: Tensor) -> Any:
    """Launches go to the current device, which may be another than the tensor's."""
    device = tensor.get_device()
    return _same_device if device < 0 or device == torch._C._cuda_getDevice() else torch.cuda.device(device)


class Step(torch.autograd.Function):
    """From the logits to the loss in one node."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        logits, target, mask, plan = arguments
        value, coefficients = plan.forward(logits, target, mask)
        ctx.save_for_backward(logits, target, mask, coefficients)
        ctx.plan = plan
        return value

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        logits, target, mask, coefficients = ctx.saved_tensors
        (upstream,) = gradients
        plan: StepPlan = ctx.plan
        # The operator says that there is no second derivative; and it takes tensors that hooks, as those that keep them
        # on the CPU between the passes, brought back in another layout.
        if torch.is_grad_enabled() or form_of(logits, target, mask) != plan.form:
            mask = None if mask is None else mask.view(plan.mask_shape)
            arguments = (logits, target.view(plan.target_shape), mask, *plan.reading)
            return region_gradient(coefficients * upstream, *arguments), None, None, None
        return plan.backward(coefficients, logits, target, mask, upstream), None, None, None


# Function.apply looks for transforms of functorch, which ``steps_on_gpu`` has done, in as much time as a launch takes.
apply_step = super(torch.autograd.Function, Step).apply
