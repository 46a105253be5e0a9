"""The one step from logits to a loss: a single node of autograd, whoever asks for it and wherever it runs.

A step takes the sums in one pass, evaluates the terms on them, and keeps ∂term/∂sums: a few numbers for each image and
class. Its backward is one more pass. Two backends do that: Triton kernels where they can, and everywhere else the
operator with the formula as plain torch code. Under ``torch.compile`` and the transforms of ``torch.func`` there is no
node, since those look at the operator and the formula themselves.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import torch
from torch import Tensor

from sizewise.criterion.plain_step import PlainStep
from sizewise.criterion.watch import call_back, say_unwatched, say_unwatched_while_compiling
from sizewise.private_apis import apply_of, in_dispatch_mode, in_torch_func
from sizewise.stats.inputs import plain
from sizewise.stats.kernels.backend import MOST_CLASSES, kernels
from sizewise.stats.region_stats import RegionStats

if TYPE_CHECKING:
    from sizewise.criterion.criterion import Criterion
    from sizewise.criterion.snapshot import Snapshot


class Taken(NamedTuple):
    """What a step gives: L, each term's value, and the sums, without their graph."""

    total: Tensor
    terms: dict[str, Tensor]
    stats: RegionStats


class TermValues(dict[str, Tensor]):
    """Each term's unweighted value by name. The weighted sum came from the same step, and is kept with them."""

    def __init__(self, values: dict[str, Tensor], total: Tensor, lambdas: Sequence[Tensor]) -> None:
        super().__init__(values)
        self.total = total
        self._values, self._versions = tuple(values.values()), _versions(lambdas)

    def holds(self, lambdas: Sequence[Tensor]) -> bool:
        """Whether ``total`` is still the sum of these values with these weights λ."""
        same = all(one is other for one, other in zip(self.values(), self._values, strict=True))
        return same and self._versions is not None and self._versions == _versions(lambdas)

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


def with_total(values: dict[str, Tensor], total: Tensor, criterion: "Criterion") -> dict[str, Tensor]:
    """The values, with the sum that ``criterion`` would make of them."""
    return values if torch.compiler.is_compiling() else TermValues(values, total, criterion.lambdas)


def _versions(lambdas: Sequence[Tensor]) -> list[tuple[int, int]] | None:
    if any(one.is_inference() for one in lambdas):  # these don't count their changes
        return None
    return [(id(one), one._version) for one in lambdas]


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
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor | None, ...], Any]:
        """(L, each term's value, the sums); the input as backward wants it; and what is kept of the formula.

        ``derive`` says whether there will be a backward.
        """

    def backward(
        self, kept: Any, saved: tuple[Any, ...], upstream: Sequence[Tensor | None], wants_logits: bool
    ) -> tuple[Tensor | None, Sequence[Tensor | None]]:
        """The gradient of the logits, and of what is learned; ``upstream`` belongs to L and to each value."""


class Step(torch.autograd.Function):
    """From the logits to L, the terms' values and the sums in one node."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, ...]:
        backend, truth, scale, logits, target, mask, *learned = arguments
        outputs, saved, ctx.kept = backend.forward(logits, target, mask, truth, scale, learned, True)
        ctx.save_for_backward(*saved)
        ctx.backend = backend
        ctx.mark_non_differentiable(outputs[-1])
        ctx.set_materialize_grads(False)
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        logits, learned = ctx.backend.backward(ctx.kept, ctx.saved_tensors, gradients[:-1], ctx.needs_input_grad[3])
        return None, None, None, logits, None, None, *learned


apply_step = apply_of(Step)


def take_step(
    criterion: "Criterion",
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None,
    *,
    truth: RegionStats | None = None,
    scale: float = 1.0,
) -> Taken:
    """L, the terms' values and the sums of one batch.

    Args:
        criterion: what to evaluate.
        logits: (N, K, *S).
        target: labels or probabilities.
        mask: the pixels to use.
        truth: where the true proportions for size terms come from, if not from ``target``: sums of the same fields.
        scale: a factor on L and on every value.
    """
    if torch.compiler.is_compiling():
        if criterion.watches:
            say_unwatched_while_compiling(criterion)
        return _operations(criterion, logits, target, mask, truth, scale)
    snapshot = criterion.snapshot()
    if type(logits) is not Tensor:  # MONAI's networks pass on the MetaTensor of their input
        logits = plain(snapshot.label, "logits", logits)
    if in_torch_func() or in_dispatch_mode() or type(logits) is not Tensor or torch.jit.is_tracing():
        return _operations(criterion, logits, target, mask, truth, scale)
    learned = snapshot.learned
    sums = None if truth is None else truth.sums
    backend = backend_for(snapshot, criterion, logits, target, mask, sums, learned)
    if torch.is_grad_enabled() and (logits.requires_grad or learned):
        outputs = apply_step(backend, sums, scale, logits, target, mask, *learned)
    else:
        outputs = backend.forward(logits, target, mask, sums, scale, learned, False)[0]
    total, *values, sums = outputs
    terms = TermValues(dict(zip(snapshot.names, values, strict=True)), total, criterion.lambdas)
    taken = Taken(total, terms, RegionStats(snapshot.fields, sums, truth))
    if criterion.watches:
        if logits.is_cuda and torch.cuda.is_current_stream_capturing():
            say_unwatched(criterion)
        else:
            call_back(criterion.watches, taken.stats, terms, scale)
    return taken


def backend_for(
    snapshot: "Snapshot",
    criterion: "Criterion",
    logits: Tensor,
    target: Any,
    mask: Any,
    truth: Tensor | None,
    learned: Sequence[Tensor],
) -> Backend:
    """The kernels where they run and the formula can be one of them; else plain torch."""
    if snapshot.fusible and not learned and takes_kernels(logits):
        from sizewise.criterion.fused.step import fused_step

        fused = fused_step(snapshot, criterion, logits, target, mask, truth)
        if fused is not None:
            return fused
    return PlainStep(snapshot, criterion)


def takes_kernels(logits: Tensor) -> bool:
    """Whether the kernels run on these logits."""
    return logits.is_cuda and logits.dim() > 2 and 0 < logits.shape[1] <= MOST_CLASSES and kernels() is not None


def _operations(
    criterion: "Criterion", logits: Tensor, target: Tensor, mask: Tensor | None, truth: RegionStats | None, scale: float
) -> Taken:
    """The same as single operations, for those who look at each."""
    stats = criterion.stats(logits, target, mask)
    if truth is not None:
        stats = stats.with_size_truth(truth)
    values = criterion.terms_from_stats(stats)
    total = criterion.total(values)
    if scale != 1:
        total, values = scale * total, {name: scale * value for name, value in values.items()}
    return Taken(total, values, stats)
