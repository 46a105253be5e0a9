"""One kernel launch with everything but its tensors, and what its numbers are made of."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from sizewise.private_apis import direct_launcher, prepare_triton
from sizewise.stats.kernels.shapes import PieceShape, Shape, WordShape

# One program's count of pixels stays exact in float32.
MOST_PIXELS_A_PROGRAM = 1 << 23


class Launch:
    """One kernel with everything but its tensors; later calls go past Triton's argument analysis.

    A launch belongs to one set of shapes, strides, dtypes and pointer alignments, so the first analysis stays right.
    """

    def __init__(
        self,
        kernel: Any,
        grid: int,
        warps: int,
        numbers: tuple[int, ...],
        constants: dict[str, Any],
        **options: Any,  # of Triton's compiler
    ) -> None:
        self.kernel, self.grid, self.warps = kernel, (grid, 1, 1), warps
        self.numbers, self.constants, self.options = numbers, constants, options
        self.tail = (*numbers, *constants.values())
        self.run: Callable[..., None] | None = None

    def __call__(self, *tensors: Tensor, stream: int | None = None) -> None:
        """Launch on ``stream``, by default the current one. Addresses spare the launcher a look at each tensor."""
        if self.run is not None:
            self.run(*[tensor.data_ptr() for tensor in tensors], *self.tail, stream=stream)
            return
        if isinstance(self.kernel, triton.JITFunction):
            prepare_triton()
        compiled = self.kernel[self.grid](*tensors, *self.numbers, **self._settings())
        self.run = direct_launcher(compiled, self.grid, len(tensors) + len(self.tail))

    def compile(self, *tensors: Tensor) -> None:
        """Compile for such tensors without launching; most of it lets go of the interpreter, so threads do it at once.

        With it the function that launches, which Triton has a C compiler make. What goes wrong here goes wrong again in
        the first launch, which is the place to say so.
        """
        if self.run is None and isinstance(self.kernel, triton.JITFunction):  # the interpreter has nothing to compile
            with suppress(Exception):
                prepare_triton()
                direct_launcher(
                    self.kernel.warmup(*tensors, *self.numbers, **self._settings(), grid=self.grid), self.grid
                )

    def _settings(self) -> dict[str, Any]:
        return {**self.constants, "num_warps": self.warps, "enable_fp_fusion": True, **self.options}


def programs_per_row(
    pixels: int, rows: int, shape: Shape | WordShape | PieceShape, processors: int, fewest_tiles: int
) -> int:
    """How many programs share a row, so that all are busy and end together."""
    tiles = -(-pixels // shape.block)
    wanted = min(-(-processors * shape.waves // rows), -(-tiles // fewest_tiles))
    wanted = max(wanted, -(-pixels // MOST_PIXELS_A_PROGRAM), 1)
    return -(-tiles // -(-tiles // wanted))


def label_type(dtype: torch.dtype, ignore_index: int | None) -> tuple[Any, bool]:
    """The integer type to compare labels in, and whether labels of this dtype can equal ``ignore_index``."""
    if dtype.is_floating_point:
        return tl.int32, False
    narrow = dtype.itemsize < 4 or dtype == torch.int32
    lowest = 0 if not dtype.is_signed else -(1 << 31) if narrow else -(1 << 63)
    fits = ignore_index is not None and lowest <= ignore_index < (1 << 31 if narrow else 1 << 63)
    return (tl.int32 if narrow else tl.int64), fits
