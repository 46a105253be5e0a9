"""The backward pass for logits smaller than the target, prepared."""

import torch
from torch import Tensor

from sizewise.stats.fields import Kind
from sizewise.stats.kernels.call import Call
from sizewise.stats.kernels.field_order import Fields, Planes, gradient_constants
from sizewise.stats.kernels.launch import Launch
from sizewise.stats.kernels.piece_calls import Grid, strides_of
from sizewise.stats.kernels.shapes import piece_shape, power_of_two
from sizewise.stats.kernels.upsampled_backward import gradient_of_pieces


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
        shape = piece_shape(self.classes)
        grid = Grid(logits, target, upsample, shape)
        width = grid.pieces[0]
        lanes = max(shape.block, power_of_two(width.most_around_one()))
        height, depth = grid.pieces[1].axis, grid.pieces[2].axis
        cells = width.cells_in(lanes)
        blocks = -(-width.axis.cells // cells)
        # A segment's first row is visited by its neighbour too, so it is as long as leaves enough programs.
        others = self.rows * blocks * depth.cells
        segments = max(1, min(-(-height.cells // 2), -(-self.processors * shape.waves // others)))
        segment = -(-height.cells // segments)
        segments = -(-height.cells // segment)
        numbers = [self.channels, self.rows, self.ignore, *grid.numbers, cells, blocks, segment, segments]
        numbers += strides_of(self, tensors)
        constants = {
            **gradient_constants(fields, planes),
            "BESIDE": any(kind == Kind.FOCAL and gamma != 0 for kind, gamma in fields),
            "TAPS": width.most_around_one(),
            "K": self.classes,
            **grid.constants,
            "LANES": lanes,
            **{name: value for name, value in self.flags.items() if name != "AXES"},
            "LABEL": self.label,
            "DTYPE": self.triton_dtype,
        }
        self.tables = grid.tables
        self.empty = not constants["TEMPERATURES"]
        warps = max(shape.warps, lanes // 32)
        self.gradient_cells = Launch(
            gradient_of_pieces, others * segments, warps, tuple(numbers), constants, **shape.options
        )
        self.tensors = []

    def compile(self, logits: Tensor, target: Tensor, mask: Tensor | None) -> None:
        """Compile the launch."""
        some = torch.empty(1, dtype=self.dtype, device=self.device)
        if not self.empty:
            kept = logits if mask is None else mask
            self.gradient_cells.compile(some, some, logits, target, kept, some, *self.tables)

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
            return
        # What several rows of pixels give to a cell is added up in memory: half precision would round it every time.
        whole = gradient.dtype == self.dtype
        sums = gradient.zero_() if whole else torch.zeros_like(gradient, dtype=self.dtype)
        kept = logits if mask is None else mask
        self.gradient_cells(coefficients, upstream, logits, target, kept, sums, *self.tables, stream=stream)
        if not whole:
            gradient.copy_(sums)
