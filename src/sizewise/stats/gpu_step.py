"""One eager step on a GPU, with as few calls from Python as there can be.

The formula of a criterion is a few dozen tiny operations on (N, K) tensors and as many in its backward. Each costs the
host ten times what it costs the device, and together more than the two passes over the logits. So the value and its
derivative ∂L/∂field are taken together in the forward, by the same plain torch code and autograd as everywhere, and
from the second call on as one CUDA graph. The backward is then a single kernel.
"""

import weakref
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import torch
from torch import Tensor, nn

from sizewise.stats import fields as f
from sizewise.stats import reference
from sizewise.stats.fields import Field
from sizewise.stats.inputs import prepare
from sizewise.stats.kernels.backend import MOST_CLASSES, backend, kernels
from sizewise.stats.operator import region_gradient
from sizewise.stats.region_stats import RegionStats

Formula = Callable[[RegionStats], Tensor]
# Each graph keeps 2 MiB of the GPU's memory. Beyond, steps of other shapes and streams run the formula as it is.
MOST_GRAPHS = 16
UNSEEN, SEEN, NEVER = "unseen", "seen", "never"


class Prepared:
    """What a step needs to know of a criterion, as long as none of its options changes.

    The weights λ and all other buffers may change in place: the graphs read them where they lie. Weights that were left
    on the CPU enter a graph as numbers, so they are compared.
    """

    def __init__(self, criterion: nn.Module) -> None:
        modules = list(criterion.modules())
        self.owner = weakref.ref(criterion)  # a replica on another device copies what its original holds
        self.changes = criterion.changes
        self.options = [(one.__dict__, one.__dict__.get("changes")) for one in modules[1:]]
        self.children = [(one._modules, tuple(one._modules.values())) for one in modules if one._modules]
        buffers = [(one, name, tensor) for one in modules for name, tensor in one._buffers.items()]
        self.buffers = [(one._buffers, name, tensor) for one, name, tensor in buffers]
        weights = getattr(criterion, "weights", None)
        self.numbers, devices = [], set()
        for one, _, tensor in buffers:
            if tensor is not None and one is weights and tensor.device.type == "cpu":
                self.numbers.append((tensor, tensor.item()))
            elif tensor is not None:
                devices.add(tensor.device)
        self.devices = devices
        wanted: Sequence[Field] = criterion.fields  # type: ignore[assignment]
        self.fields = tuple(dict.fromkeys((f.COUNT, f.PIXELS, *wanted)))
        self.ignore_index: Any = criterion.ignore_index
        self.activation: Any = criterion.activation
        self.sigmoid = self.activation == "sigmoid"
        kinds = tuple(int(field.kind) for field in self.fields)
        parameters = tuple(field.parameter for field in self.fields)
        self.reading = (self.ignore_index, self.sigmoid, kinds, parameters)
        self.graphs: dict[tuple, FormulaGraph | str] = {}
        # Ranks must meet in every call, and what a term of someone else's does besides its formula is not known.
        self.known = all(
            type(one).__module__.startswith(("sizewise.", "torch.nn.")) and getattr(one, "scope", "") != "global"
            for one in modules
        ) and not any(tensor is not None and tensor.requires_grad for _, _, tensor in buffers)

    def is_current(self, criterion: nn.Module) -> bool:
        """Whether the criterion is still the same, but for the values of its buffers."""
        return (
            self.owner() is criterion
            and self.changes == criterion.changes
            and all(options.get("changes") == changes for options, changes in self.options)
            and all(tuple(modules.values()) == children for modules, children in self.children)
            and all(buffers.get(name) is tensor for buffers, name, tensor in self.buffers)
            and all(tensor.item() == number for tensor, number in self.numbers)
        )

    def takes(self, logits: Tensor) -> bool:
        """Whether steps with these logits may be replayed."""
        return self.known and (not self.devices or self.devices == {logits.device})


class FormulaGraph:
    """The value of a formula and its derivative, captured for sums of one shape on one stream."""

    def __init__(self, formula: Formula, fields: tuple[Field, ...], sums: Tensor) -> None:
        self.lock = Lock()  # threads that share a stream must not come between the sums and the copies
        self.sums = sums
        self.graph = torch.cuda.CUDAGraph()
        side = torch.cuda.Stream(sums.device)
        side.wait_stream(torch.cuda.current_stream(sums.device))
        with torch.cuda.stream(side):
            self.graph.capture_begin(capture_error_mode="thread_local")
            try:
                self.value, self.coefficients = value_and_coefficients(formula, fields, sums)
            finally:
                self.graph.capture_end()

    def __call__(self) -> tuple[Tensor, Tensor]:
        """Both as copies, which the next replay leaves alone."""
        self.graph.replay()
        return self.value.clone(), self.coefficients.clone()


def value_and_coefficients(formula: Formula, fields: tuple[Field, ...], sums: Tensor) -> tuple[Tensor, Tensor]:
    """L and ∂L/∂sums, by a graph of its own, which hooks on the caller's (as of checkpointing) must not see."""
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(_same, _same):
        leaf = sums.detach().requires_grad_()
        value = formula(RegionStats(fields, leaf))
        (coefficients,) = torch.autograd.grad(value, leaf)
    return value.detach(), coefficients


def _same(tensor: Tensor) -> Tensor:
    return tensor


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


def gpu_step(prepared: Prepared, where: str, formula: Formula, logits: Tensor, target: Any, mask: Any) -> Tensor:
    """The loss, whose graph is one node; ``where`` opens the messages."""
    logits, target, mask = prepare(where, logits, target, mask, prepared.ignore_index, prepared.activation)
    return Step.apply(logits, target, mask, prepared, formula)


def evaluate(
    prepared: Prepared, formula: Formula, logits: Tensor, target: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    """L and ∂L/∂sums: as plain operations in the first call, then captured, then replayed."""
    passes = backend(logits, prepared.sigmoid)
    graph = graph_of(prepared, formula, logits)
    if graph is None:
        sums = passes.region_sums(logits, target, mask, *prepared.reading)
        return value_and_coefficients(formula, prepared.fields, sums)
    with graph.lock, passes.on_device_of(logits):
        passes.region_sums(logits, target, mask, *prepared.reading, out=graph.sums)
        return graph()


def graph_of(prepared: Prepared, formula: Formula, logits: Tensor) -> FormulaGraph | None:
    """The graph for these logits on the current stream; None in the first call, which warms everything up.

    None as well where no graph can be captured, as inside the capture of someone else's.
    """
    if not logits.is_cuda or torch.cuda.is_current_stream_capturing():
        return None
    images, channels = logits.shape[:2]
    stream = torch._C._cuda_getCurrentRawStream(logits.device.index)
    key = (images, channels, logits.dtype, logits.device.index, stream)
    graph = prepared.graphs.get(key, UNSEEN)
    if graph is UNSEEN:
        prepared.graphs[key] = SEEN if len(prepared.graphs) < MOST_GRAPHS else NEVER
    elif graph is SEEN:
        shape = (len(prepared.fields), images, channels, *((2,) if prepared.sigmoid else ()))
        sums = torch.zeros(shape, dtype=reference.compute_dtype(logits.dtype), device=logits.device)
        try:
            graph = prepared.graphs[key] = FormulaGraph(formula, prepared.fields, sums)
        except RuntimeError:  # a driver or an allocator that cannot capture; the plain operations always work
            prepared.graphs[key] = NEVER
    return graph if isinstance(graph, FormulaGraph) else None


class Step(torch.autograd.Function):
    """From the logits to the loss in one node."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        logits, target, mask, prepared, formula = arguments
        value, coefficients = evaluate(prepared, formula, logits, target, mask)
        ctx.save_for_backward(logits, target, mask, coefficients)
        ctx.prepared = prepared
        return value

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        logits, target, mask, coefficients = ctx.saved_tensors
        (upstream,) = gradients
        arguments = (logits, target, mask, *ctx.prepared.reading)
        if torch.is_grad_enabled():  # a second derivative is wanted, and the operator says that there is none
            return region_gradient(coefficients * upstream, *arguments), None, None, None, None
        passes = backend(logits, ctx.prepared.sigmoid)
        return passes.region_gradient(coefficients, *arguments, upstream=upstream), None, None, None, None
