"""What a step knows of a criterion, and whether that is still so."""

import weakref
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from sizewise.module import Module
from sizewise.stats import fields as f
from sizewise.stats.fields import Field
from sizewise.stats.inputs import check_ignore_index, prepare
from sizewise.stats.take_stats import reading_of

if TYPE_CHECKING:
    from sizewise.criterion.criterion import Criterion

# Modules of torch that hold others, and nothing that a formula could read.
CONTAINERS = (nn.ModuleDict, nn.ModuleList, nn.Sequential)


class Snapshot:
    """What a step knows of a criterion, as long as none of its options changes.

    The weights λ and all other buffers may change in place: they are read in every step.

    Attributes:
        fields: the sums to take: those of the terms, and those that callbacks asked for.
        reading: how the operator reads its input: ignore_index, sigmoid, the fields as numbers, and upsample.
        has_cells: whether some term is per component; ``cell_fields`` and ``cell_reading`` are then those of the cells.
        fusible: whether the formula may become a kernel: all that it depends on is seen to change. Ranks must meet in
            every call, and a replica of ``DataParallel`` lives for one call, in which no kernel pays.
        plans: what the kernels prepared for each form of input, without and with size targets from elsewhere.
    """

    def __init__(self, criterion: "Criterion") -> None:
        modules = list(criterion.modules())
        self.owner = weakref.ref(criterion)  # a replica on another device copies what its original holds
        self.label, self.names = criterion.label, criterion.names
        # What must stay the very same object, and how many there must be: two short loops in every call. Our modules
        # count what is set or registered; those of torch don't.
        self.watched: list[tuple[dict[str, Any], str, Any]] = [
            (one.__dict__, "changes", one.changes) for one in modules if isinstance(one, Module)
        ]
        self.lengths: list[tuple[dict[str, Any], int]] = []
        for one in modules:
            for holder in (one._modules, one._buffers, one._parameters):
                self.watched += [(holder, name, value) for name, value in holder.items()]
                if not isinstance(one, Module):
                    self.lengths.append((holder, len(holder)))
        self.buffers = [tensor for one in modules for tensor in one._buffers.values() if tensor is not None]
        self.parameters = [tensor for one in modules for tensor in one._parameters.values() if tensor is not None]
        self.tensors = (*self.parameters, *self.buffers)
        asked = (field for watch in criterion.watches for field in watch.fields)
        self.fields: tuple[Field, ...] = tuple(dict.fromkeys((f.COUNT, f.PIXELS, *criterion.fields, *asked)))
        self.ignore_index = check_ignore_index(self.label, criterion.ignore_index)
        self.activation = criterion.activation
        self.upsample = criterion.upsample
        self.sigmoid = self.activation == "sigmoid"
        kinds = [int(field.kind) for field in self.fields]
        parameters = [field.parameter for field in self.fields]
        self.reading = (self.ignore_index, self.sigmoid, kinds, parameters, self.upsample)
        self.cell_fields, self.cell_reading = reading_of(criterion.cell_fields, self.ignore_index, self.activation)
        self.has_cells = bool(criterion.cell_fields)
        self.fusible = (
            not getattr(criterion, "_is_replica", False)
            and "global" not in criterion.scopes
            and not self.parameters
            and all(isinstance(one, (Module, *CONTAINERS)) for one in modules)
        )
        self.plans: tuple[dict[tuple, Any], dict[tuple, Any]] = ({}, {})
        self.formulas: dict[tuple, Any] = {}

    def is_current(self, criterion: "Criterion") -> bool:
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

    def prepare(self, logits: Any, target: Any, mask: Any) -> tuple[Tensor, Tensor, Tensor | None]:
        """The input as the operator takes it, checked."""
        return prepare(self.label, logits, target, mask, self.ignore_index, self.activation, self.upsample)

    def learned(self) -> list[Tensor]:
        """The parameters, and the buffers that have become parameters in all but name."""
        return [tensor for tensor in self.tensors if tensor.requires_grad]

    def fits(self, device: torch.device) -> bool:
        """Whether a kernel on ``device`` can read every constant: single numbers, as λ, are copied where needed."""
        return all(
            tensor.device == device or (not tensor.dim() and tensor.device.type == "cpu") for tensor in self.buffers
        )
