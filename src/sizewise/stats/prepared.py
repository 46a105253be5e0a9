"""What a step on a GPU needs to know of a criterion, and whether that is still so."""

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from sizewise.stats import fields as f
from sizewise.stats.fields import Field

if TYPE_CHECKING:
    from sizewise.stats.formula.kernel import FormulaKernel
    from sizewise.stats.gpu_step import StepPlan


class Prepared:
    """What a step needs to know of a criterion, as long as none of its options changes.

    The weights λ and all other buffers may change in place: the kernel reads them where they lie.
    """

    def __init__(self, criterion: nn.Module) -> None:
        modules = list(criterion.modules())
        self.owner = weakref.ref(criterion)  # a replica on another device copies what its original holds
        # What must stay the very same object, and how many there must be: one short loop in every call.
        self.watched = [(one.__dict__, "changes", one.__dict__.get("changes")) for one in modules]
        self.lengths = []
        for holder in (held for one in modules for held in (one._modules, one._buffers)):
            self.watched += [(holder, name, value) for name, value in holder.items()]
            self.lengths.append((holder, len(holder)))
        buffers = [(one, tensor) for one in modules for tensor in one._buffers.values() if tensor is not None]
        self.tensors = [tensor for _, tensor in buffers]
        # λ may stay on the CPU; all else would have to be copied in every step.
        weights = getattr(criterion, "weights", None)
        self.devices = {tensor.device for one, tensor in buffers if one is not weights or tensor.device.type != "cpu"}
        wanted: Sequence[Field] = criterion.fields  # type: ignore[assignment]
        self.fields = tuple(dict.fromkeys((f.COUNT, f.PIXELS, *wanted)))
        self.ignore_index: Any = criterion.ignore_index
        self.activation: Any = criterion.activation
        self.sigmoid = self.activation == "sigmoid"
        kinds = tuple(int(field.kind) for field in self.fields)
        parameters = tuple(field.parameter for field in self.fields)
        self.reading = (self.ignore_index, self.sigmoid, kinds, parameters)
        self.plans: dict[tuple, StepPlan | None] = {}
        self.formulas: dict[tuple, FormulaKernel | None] = {}
        # Ranks must meet in every call; what a term of someone else's does besides its formula is not known; parameters
        # are learned; and a replica of DataParallel lives for one call, in which no kernel pays.
        self.known = not getattr(criterion, "_is_replica", False) and all(
            type(one).__module__.startswith(("sizewise.", "torch.nn."))
            and getattr(one, "scope", "") != "global"
            and not one._parameters
            for one in modules
        )

    def is_current(self, criterion: nn.Module) -> bool:
        """Whether the criterion is still the same, but for the values of its buffers."""
        if self.owner() is not criterion:
            return False
        for holder, name, value in self.watched:
            if holder.get(name) is not value:
                return False
        for holder, length in self.lengths:  # a generator takes longer  # noqa: SIM110
            if len(holder) != length:
                return False
        return True

    def takes(self, logits: Tensor) -> bool:
        """Whether the formula may become a kernel for these logits."""
        return (
            self.known
            and (not self.devices or self.devices == {logits.device})
            and not any(tensor.requires_grad for tensor in self.tensors)  # learned, through the graph of the formula
        )
