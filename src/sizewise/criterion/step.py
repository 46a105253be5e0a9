"""The one step from logits to a loss: a single node of autograd, whoever asks for it and wherever it runs.

A step takes the sums in one pass, evaluates the terms on them, and keeps ∂term/∂sums: a few numbers for each image and
class. Its backward is one more pass. Two backends do that: Triton kernels where they can, and everywhere else the
operator with the formula as plain torch code. Under ``torch.compile`` and the transforms of ``torch.func`` there is no
node, since those look at the operator and the formula themselves.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from sizewise.criterion.plain_step import PlainStep
from sizewise.criterion.watch import call_back, say_unwatched, say_unwatched_while_compiling
from sizewise.private_apis import apply_of, in_dispatch_mode, in_torch_func
from sizewise.stats.inputs import full_size_logits, plain
from sizewise.stats.kernels.backend import MOST_CLASSES, kernels
from sizewise.stats.region_stats import RegionStats

if TYPE_CHECKING:
    from sizewise.criterion.criterion import Criterion
    from sizewise.criterion.snapshot import Snapshot


class Backend(Protocol):
    """The forward and backward of a step for one form of input."""

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
        """L, the terms' values, the sums; the input as backward wants it; and what it needs of the formula.

        ``derive`` says whether there will be a backward; for the rest see :func:`take_step`. Of the values the last
        ones count, one for each term: a tensor may hold other numbers before them.
        """

    def backward(
        self, kept: Any, saved: tuple[Any, ...], upstream: Sequence[Tensor | None], wants_logits: bool
    ) -> tuple[Tensor | None, Sequence[Tensor | None]]:
        """The gradient of the logits, and of what is learned; ``upstream`` belongs to L and then to each value."""


class Taken:
    """One step: L, and for whoever asks each term's value and the sums, without a graph of their own.

    Everything but L is put together only when it is asked for: most callers never do.
    """

    __slots__ = ("backend", "fields", "names", "scale", "separate", "sums", "total", "truth", "values")

    def __init__(self, snapshot: "Snapshot", truth: RegionStats | None, scale: float, separate: bool) -> None:
        self.names, self.fields = snapshot.names, snapshot.fields
        self.truth, self.scale, self.separate = truth, scale, separate
        self.backend: Backend
        self.total: Tensor
        self.values: Any
        self.sums: Tensor

    @property
    def terms(self) -> dict[str, Tensor]:
        """Each term's value by name; they have a gradient if they were asked for separately."""
        return dict(zip(self.names, self.values[-len(self.names) :], strict=True))

    @property
    def stats(self) -> RegionStats:
        """The sums, and with them those of cells where some term is per component."""
        return RegionStats(self.fields, self.sums, self.truth, getattr(self.backend, "cell_stats", None))

    def forward(
        self, backend: Backend, logits: Tensor, target: Tensor, mask: Tensor | None, learned: Any, derive: bool
    ) -> tuple[tuple[Tensor | None, ...], Any]:
        """Fill in what the backend finds; what its backward needs."""
        truth = None if self.truth is None else self.truth.sums
        self.total, self.values, self.sums, saved, kept = backend.forward(
            logits, target, mask, truth, self.scale, learned, derive
        )
        self.backend = backend
        return saved, kept


class Step(torch.autograd.Function):
    """From the logits to L, and to each term's value where they are asked for separately, in one node."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Any:
        taken, backend, logits, target, mask, *learned = arguments
        saved, ctx.kept = taken.forward(backend, logits, target, mask, learned, True)
        ctx.save_for_backward(*saved)
        ctx.backend = backend
        if not taken.separate:
            return taken.total
        ctx.set_materialize_grads(False)
        return (taken.total, *taken.values[-len(taken.names) :])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        logits, learned = ctx.backend.backward(ctx.kept, ctx.saved_tensors, gradients, ctx.needs_input_grad[2])
        return None, None, logits, None, None, *learned


apply_step = apply_of(Step)


def take_step(
    criterion: "Criterion",
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None,
    *,
    separate: bool = False,
    truth: RegionStats | None = None,
    scale: float = 1.0,
    cells: Any = None,
) -> Taken:
    """L, the terms' values and the sums of one batch.

    Args:
        criterion: what to evaluate.
        logits: (N, K, *S).
        target: labels or probabilities.
        mask: the pixels to use.
        separate: whether each value gets a gradient of its own; else L alone does.
        truth: where the true proportions for size terms come from, if not from ``target``: sums of the same fields.
        scale: a factor on L and on every value.
        cells: the cells of the target's components, where they are known and some term is per component.
    """
    if torch.compiler.is_compiling():
        if criterion.watches:
            say_unwatched_while_compiling(criterion)
        return _operations(criterion, logits, target, mask, truth, scale, cells)
    snapshot = criterion.snapshot()
    if type(logits) is not Tensor:  # MONAI's networks pass on the MetaTensor of their input
        logits = plain(snapshot.label, "logits", logits)
    if snapshot.has_cells and snapshot.upsample is not None:
        logits = full_size_logits(snapshot.label, logits, target, snapshot.upsample)
    if in_torch_func() or in_dispatch_mode() or type(logits) is not Tensor or torch.jit.is_tracing():
        return _operations(criterion, logits, target, mask, truth, scale, cells)
    taken = Taken(snapshot, truth, scale, separate)
    learned = snapshot.learned()
    backend = None
    if snapshot.fusible and not learned and takes_kernels(logits):
        if snapshot.has_cells:
            backend, cells = fused_cell_step()(snapshot, criterion, logits, target, mask, cells, truth is not None)
        else:
            backend = fused_step()(snapshot, criterion, logits, target, mask, truth is not None)
    if backend is None:
        backend = PlainStep(snapshot, criterion, cells)
    if torch.is_grad_enabled() and (logits.requires_grad or learned):
        outputs = apply_step(taken, backend, logits, target, mask, *learned)
        if separate:
            taken.total, *taken.values = outputs
        else:
            taken.total = outputs
    else:
        taken.forward(backend, logits, target, mask, learned, False)
    if criterion.watches:
        if logits.is_cuda and torch.cuda.is_current_stream_capturing():
            say_unwatched(criterion)
        else:
            call_back(criterion.watches, taken.stats, taken.terms, scale)
    return taken


def takes_kernels(logits: Tensor) -> bool:
    """Whether the kernels run on these logits."""
    return logits.is_cuda and logits.dim() > 2 and 0 < logits.shape[1] <= MOST_CLASSES and kernels() is not None


def fused_step() -> Callable[..., Backend | None]:
    """The function that finds the kernels for some input, loaded with Triton when the first CUDA tensor comes."""
    if not _fused:
        from sizewise.criterion.fused.step import fused_step as loaded

        _fused.append(loaded)
    return _fused[0]


def fused_cell_step() -> Callable[..., tuple[Backend | None, Any]]:
    """The same with terms per component."""
    from sizewise.criterion.fused.cell_step import fused_cell_step as loaded

    return loaded


_fused: list[Callable[..., Any]] = []


def _operations(
    criterion: "Criterion",
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None,
    truth: RegionStats | None,
    scale: float,
    cells: Any = None,
) -> Any:
    """The same as single operations, for those who look at each."""
    stats = criterion.stats(logits, target, mask, cells=cells)
    if truth is not None:
        stats = stats.with_size_truth(truth)
    values = criterion.terms_from_stats(stats)
    total = criterion.total(values)
    if scale != 1:
        total, values = scale * total, {name: scale * value for name, value in values.items()}
    return Operations(total, values, stats)


class Operations:
    """What :class:`Taken` holds, from single operations."""

    def __init__(self, total: Tensor, terms: dict[str, Tensor], stats: RegionStats) -> None:
        self.total, self.terms, self.stats = total, terms, stats
