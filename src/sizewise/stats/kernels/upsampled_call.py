"""The backward pass for logits smaller than the target, prepared."""

import torch
from torch import Tensor

from sizewise.stats.kernels.call import Call
from sizewise.stats.kernels.field_order import Fields, Planes, gradient_constants
from sizewise.stats.kernels.launch import Launch
from sizewise.stats.kernels.layout import padded
from sizewise.stats.kernels.shapes import cells_shape
from sizewise.stats.kernels.upsampled_backward import gradient_cells
from sizewise.stats.kernels.upsampling_table import axes_of, table_of
from sizewise.stats.upsampling import CORNERS, Axis, axis_of


def cells_in(axis: Axis, columns: int) -> int:
    """How many neighbouring cells so many columns of pixels cover."""
    cells = max(1, min(axis.cells, columns * axis.cells // axis.pixels))
    while cells > 1 and axis.widest(cells) > columns:
        cells -= 1
    return cells


class UpsampledBackwardCall(Call):
    """The one launch of the backward pass; used as :class:`sizewise.stats.kernels.call.BackwardCall`."""

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
        upsample: str,
    ) -> None:
        tensors = [logits, target, logits if mask is None else mask, gradient]
        super().__init__(tensors, mask is not None, ignore_index, sigmoid, fields, upsample)
        self.table = table_of(logits, target, upsample)
        axes = axes_of(logits, target, upsample)
        width, height, depth = [*axes, *[axis_of(1, 1, False)] * (3 - len(axes))]
        columns = width.widest(1)
        shape = cells_shape(self.classes, columns, width.pixels)
        cells = cells_in(width, shape.block)
        blocks = -(-width.cells // cells)
        # A segment's first row is visited by its neighbour too, so it is as long as leaves enough programs.
        others = self.rows * blocks * depth.cells
        segments = max(1, min(-(-height.cells // 2), -(-self.processors * shape.waves // others)))
        segment = -(-height.cells // segments)
        segments = -(-height.cells // segment)
        taps = max(width.starts[one + 1] - width.starts[max(0, one - 1)] for one in range(width.cells))
        numbers = [self.channels, self.rows, self.ignore]
        numbers += [axis.pixels for axis in (width, height, depth)] + [axis.cells for axis in (width, height, depth)]
        numbers += [cells, blocks, segment, segments, taps]
        for place, tensor in enumerate(tensors):
            per_channel = tensor.stride(1) if tensor.shape[1] > 1 else 0
            numbers += [tensor.stride(0), per_channel, *padded(self.layout.strides[place])]
        constants = {
            **gradient_constants(fields, planes),
            "K": self.classes,
            "CHUNK": shape.chunk,
            "BLOCK": shape.block,
            "AXES": len(axes),
            "CORNERS": upsample == CORNERS,
            **{name: value for name, value in self.flags.items() if name != "AXES"},
            "LABEL": self.label,
            "DTYPE": self.triton_dtype,
        }
        self.empty = not constants["TEMPERATURES"]
        programs = others * segments
        self.gradient_cells = Launch(gradient_cells, programs, shape.warps, tuple(numbers), constants)
        self.tensors = []

    def compile(self, logits: Tensor, target: Tensor, mask: Tensor | None) -> None:
        """Compile the launch."""
        some = torch.empty(1, dtype=self.dtype, device=self.device)
        if not self.empty:
            kept = logits if mask is None else mask
            self.gradient_cells.compile(some, some, logits, target, kept, logits, self.table)

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
        if self.empty:
            gradient.zero_()
        else:
            kept = logits if mask is None else mask
            self.gradient_cells(coefficients, upstream, logits, target, kept, gradient, self.table, stream=stream)
