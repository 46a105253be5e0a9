"""One kind of call, prepared: everything that depends on shapes, strides, dtypes and fields, but not on the values."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import triton.language as tl
from torch import Tensor

from sizewise.stats.fields import Kind
from sizewise.stats.kernels import word_calls
from sizewise.stats.kernels.backward import gradient_tiles
from sizewise.stats.kernels.field_order import (
    Fields,
    Grouped,
    Planes,
    Sorted,
    gradient_constants,
    group_fields,
    sort_fields,
)
from sizewise.stats.kernels.finish import add_programs
from sizewise.stats.kernels.forward import partial_sums
from sizewise.stats.kernels.launch import Launch, label_type, programs_per_row
from sizewise.stats.kernels.layout import joint_layout, padded, plain_layout, reach
from sizewise.stats.kernels.piece_calls import sums_launch
from sizewise.stats.kernels.shapes import Shape, WordShape, backward_shape, forward_shape, power_of_two
from sizewise.stats.reference import compute_dtype

# Without a GPU the kernels run in Triton's interpreter; two processors make it use several programs.
INTERPRETED_PROCESSORS = 2
# Below, the programs' sums would take more than a percent of the memory that the logits take.
FEWEST_TILES_A_PROGRAM = 4
# Above, what the programs found wrong with the target is joined before the second stage looks at it.
MOST_STRAYS = 1 << 13
# The second stage adds up this many values in one step.
FINISH_ELEMENTS = 1024
MOST_SCANNED = 4096


class Call:
    """What both passes have in common. ``tensors`` are logits, target, mask (or the logits for none), gradient."""

    def __init__(
        self,
        tensors: list[Tensor],
        has_mask: bool,
        ignore_index: int | None,
        sigmoid: bool,
        fields: Fields,
        upsample: str | None = None,
    ) -> None:
        logits, target = tensors[:2]
        images, self.channels = logits.shape[:2]
        self.rows, self.classes = (images * self.channels, 2) if sigmoid else (images, self.channels)
        self.pixels = target[0, 0].numel()
        self.dtype, self.device = compute_dtype(logits.dtype), logits.device
        self.classes_last = not sigmoid and self.channels > 1 and logits.stride(1) == 1
        self.tensors, self.sigmoid, self.itemsize = tensors, sigmoid, logits.dtype.itemsize
        layout = joint_layout(tensors) if upsample is None else plain_layout(target.shape[2:], tensors)
        assert layout is not None, "passes.walkable has made copies where there is no joint layout"
        self.layout = layout
        self.label, has_ignore = label_type(target.dtype, ignore_index)
        self.ignore = ignore_index if has_ignore and ignore_index is not None else 0
        self.target_constants = {
            "AXES": len(layout.sizes),
            "SIGMOID": sigmoid,
            "SHARES": target.dtype.is_floating_point,
        }
        self.flags: dict[str, Any] = {
            **self.target_constants,
            "HAS_MASK": has_mask,
            "HAS_IGNORE": has_ignore,
            "UNLABELLED": any(kind == Kind.KEPT_SIZE for kind, _ in fields),
        }
        self.triton_dtype = tl.float64 if self.dtype == torch.float64 else tl.float32
        self.processors = INTERPRETED_PROCESSORS
        if self.device.type == "cuda":
            self.processors = torch.cuda.get_device_properties(self.device).multi_processor_count

    def numbers(self, programs: int, *places: int) -> tuple[int, ...]:
        """The kernels' integer arguments, with the strides of the tensors at ``places``."""
        sizes = self.layout.sizes
        strides: list[int] = []
        for place in places:
            tensor = self.tensors[place]
            per_channel = tensor.stride(1) if tensor.shape[1] > 1 else 0  # one channel serves all
            strides += [tensor.stride(0), per_channel, *padded(self.layout.strides[place])]
        height = sizes[-2] if len(sizes) > 1 else 1
        return self.pixels, programs, self.channels, self.rows, self.ignore, sizes[-1], height, *strides

    def ends(self, block: int, programs: int) -> dict[str, Any]:
        """The constants that depend on the number of pixels."""
        furthest = max(reach(self.layout.sizes, strides) for strides in self.layout.strides)
        return {
            "EVEN": self.pixels % block == 0,
            "WIDE": furthest + block * programs >= 1 << 31,
            "LABEL": self.label,
            "DTYPE": self.triton_dtype,
        }

    def set_second_stage(self, kinds: tuple[int, ...], places: tuple[int, ...], programs: int) -> None:
        """Prepare the launch that adds up the sums of so many programs, whose field f goes to ``places[f]``."""
        cells = self.rows * programs
        self.workspace_size = cells * ((1 if self.itemsize == 8 else 2) + len(kinds) * self.classes)
        images = self.rows // self.channels if self.sigmoid else self.rows
        self.sums_shape = (len(kinds), images, self.channels, *((2,) if self.sigmoid else ()))
        self.strays = cells if cells > MOST_STRAYS else 0
        parts = min(FINISH_ELEMENTS, power_of_two(programs))
        together = min(power_of_two(self.classes), max(1, FINISH_ELEMENTS // parts))
        grid = self.rows * -(-self.classes // together) * len(kinds)
        constants = {
            "KINDS": kinds,
            "FIELDS": places,
            "K": self.classes,
            "CLASSES": together,
            "PARTS": parts,
            "SCAN": min(MOST_SCANNED, power_of_two(cells)),
            **self.target_constants,
            "IGNORE": int(self.flags["HAS_IGNORE"]),
            "UNSIGNED": int(self.tensors[1].dtype == torch.uint64),
            "DTYPE": self.triton_dtype,
        }
        numbers = (1 if self.strays else cells, *self.numbers(programs, 1))
        self.add_programs = Launch(add_programs, grid, 4, numbers, constants)

    def second_stage(self, workspace: Tensor, record: Tensor, target: Tensor, stream: int | None) -> Tensor:
        """The sums of all programs, which left theirs and what they found wrong in the workspace."""
        sums = torch.empty(self.sums_shape, dtype=self.dtype, device=self.device)
        if self.strays:
            cells = workspace[: self.strays * 8 // self.dtype.itemsize].view(torch.int64)
            highest = cells.amax()
            cells[0] = torch.where(highest != 0, highest, cells.amin())
        self.add_programs(workspace, sums, record, target, stream=stream)
        return sums


class ForwardCall(Call):
    """The two launches of the forward pass."""

    def __init__(
        self,
        logits: Tensor,
        target: Tensor,
        mask: Tensor | None,
        ignore_index: int | None,
        sigmoid: bool,
        fields: Fields,
        upsample: str | None = None,
    ) -> None:
        tensors = [logits, target, logits if mask is None else mask]
        super().__init__(tensors, mask is not None, ignore_index, sigmoid, fields, upsample)
        takes_labels = upsample is None and not target.dtype.is_floating_point
        words = word_calls.sums_shape(self, takes_labels)
        shape = words or forward_shape(self.classes, self.classes_last, self.itemsize)
        order: Grouped | Sorted
        self.tables: list[Tensor] = []
        if upsample is None:
            programs = programs_per_row(self.pixels, self.rows, shape, self.processors, FEWEST_TILES_A_PROGRAM)
        else:
            order = group_fields(fields)
            self.partial_sums, self.tables, programs = sums_launch(self, tensors, fields, order, upsample)
        if words is not None:
            order = group_fields(fields)
            self.partial_sums = word_calls.sums_launch(self, words, order, programs)
        elif upsample is None:
            chunks = -(-self.classes // shape.chunk)
            order = sort_fields(fields, chunks, shape.chunk == 1 and not target.dtype.is_floating_point)
            self.partial_sums = self._tiles_launch(shape, order, programs)
        self.set_second_stage(order.kinds, order.places, programs)
        self.tensors = []  # the plan outlives the call, its tensors must not

    def _tiles_launch(self, shape: Shape | WordShape, order: Sorted, programs: int) -> Launch:
        constants = {
            "KINDS": order.kinds,
            "PARAMETERS": order.parameters,
            "TEMPERATURES": order.temperatures,
            "STARTS": order.starts,
            "PAIRED": order.paired,
            "K": self.classes,
            "CHUNK": shape.chunk,
            "BLOCK": shape.block,
            "VECTOR": shape.vector,
            **self.flags,
            **self.ends(shape.block, programs),
        }
        numbers = self.numbers(programs, 0, 1, 2)
        return Launch(partial_sums, self.rows * programs, shape.warps, numbers, constants)

    def compilations(
        self, logits: Tensor, target: Tensor, mask: Tensor | None, record: Tensor
    ) -> list[Callable[[], None]]:
        """What there is to compile, for threads that do it side by side."""
        some = torch.empty(1, dtype=self.dtype, device=self.device)
        kept = logits if mask is None else mask
        return [
            partial(self.partial_sums.compile, logits, target, kept, some, *self.tables),
            partial(self.add_programs.compile, some, some, record, target),
        ]

    def __call__(
        self, logits: Tensor, target: Tensor, mask: Tensor | None, record: Tensor, *, stream: int | None = None
    ) -> Tensor:
        workspace = torch.empty(self.workspace_size, dtype=self.dtype, device=self.device)
        self.partial_sums(logits, target, logits if mask is None else mask, workspace, *self.tables, stream=stream)
        return self.second_stage(workspace, record, target, stream)


class BackwardCall(Call):
    """The one launch of the backward pass."""

    def __init__(
        self,
        logits: Tensor,
        target: Tensor,
        mask: Tensor | None,
        gradient: Tensor,
        ignore_index: int | None,
        sigmoid: bool,
        fields: Fields,
        planes: Planes,
    ) -> None:
        tensors = [logits, target, logits if mask is None else mask, gradient]
        super().__init__(tensors, mask is not None, ignore_index, sigmoid, fields)
        words = word_calls.gradient_shape(self)
        shape = words or backward_shape(self.classes, self.classes_last, self.itemsize)
        programs = programs_per_row(self.pixels, self.rows, shape, self.processors, 1)
        if words is not None:
            self.gradient_tiles = word_calls.gradient_launch(self, words, fields, planes, programs)
        else:
            constants = {
                **gradient_constants(fields, planes),
                "K": self.classes,
                "CHUNK": shape.chunk,
                "BLOCK": shape.block,
                **self.flags,
                **self.ends(shape.block, programs),
            }
            self.gradient_tiles = Launch(
                gradient_tiles, self.rows * programs, shape.warps, self.numbers(programs, 0, 1, 2, 3), constants
            )
        self.empty = not self.gradient_tiles.constants["TEMPERATURES"]
        self.tensors = []

    def compile(self, logits: Tensor, target: Tensor, mask: Tensor | None) -> None:
        """Compile the launch."""
        some = torch.empty(1, dtype=self.dtype, device=self.device)
        if not self.empty:
            self.gradient_tiles.compile(some, some, logits, target, logits if mask is None else mask, logits)

    def __call__(
        self,
        coefficients: Tensor,
        upstream: Tensor,
        logits: Tensor,
        target: Tensor,
        mask: Tensor | None,
        gradient: Tensor,
        *,
        stream: int | None = None,
    ) -> None:
        if self.empty:  # counts alone have no gradient
            gradient.zero_()
        else:
            kept = logits if mask is None else mask
            self.gradient_tiles(coefficients, upstream, logits, target, kept, gradient, stream=stream)
