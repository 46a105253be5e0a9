"""The parts of a prepared call: the order of fields, the number of programs, the label's type, and one launch."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from sizewise.stats.fields import Kind
from sizewise.stats.kernels.shapes import Shape

LABEL_KINDS = (Kind.FOCAL, Kind.OVERLAP)
SIZE_KINDS = (Kind.SIZE, Kind.KEPT_SIZE)
# One program's count of pixels stays exact in float32.
MOST_PIXELS_A_PROGRAM = 1 << 23

Fields = Sequence[tuple[int, float]]


class Launch:
    """One kernel with everything but its tensors; later calls go past Triton's argument analysis.

    A launch belongs to one set of shapes, strides, dtypes and pointer alignments, so the first analysis stays right.
    """

    def __init__(self, kernel: Any, grid: int, warps: int, numbers: tuple[int, ...], constants: dict[str, Any]) -> None:
        self.kernel, self.grid, self.warps = kernel, (grid, 1, 1), warps
        self.numbers, self.constants = numbers, constants
        self.tail = (*numbers, *constants.values())
        self.run: Callable[..., None] | None = None

    def __call__(self, *tensors: Tensor, stream: int | None = None) -> None:
        """Launch on ``stream``, by default the current one. Addresses spare the launcher a look at each tensor."""
        if self.run is not None:
            self.run(*[tensor.data_ptr() for tensor in tensors], *self.tail, stream=stream)
            return
        compiled = self.kernel[self.grid](
            *tensors, *self.numbers, **self.constants, num_warps=self.warps, enable_fp_fusion=True
        )
        if isinstance(compiled, triton.compiler.CompiledKernel):  # the interpreter returns nothing
            self.run = compiled[self.grid]


class Sorted(NamedTuple):
    """The forward kernel's order of fields: without a softmax, those of τ = 1, then each other temperature."""

    kinds: tuple[int, ...]
    parameters: tuple[float, ...]
    places: tuple[int, ...]
    temperatures: tuple[float, ...]
    starts: tuple[int, ...]
    paired: tuple[int, ...]


def temperature_of(kind: int, parameter: float) -> float:
    """The temperature of the softmax that a field needs; 0 for none."""
    if kind in SIZE_KINDS:
        return parameter
    return 1.0 if kind in LABEL_KINDS else 0.0


def sort_fields(fields: Fields, chunks: int, can_pair: bool) -> Sorted:
    """Fields in groups of one softmax, where each one's sums start, and which two come from one comparison."""

    def rank(place: int) -> tuple:
        kind, parameter = fields[place]
        temperature = temperature_of(kind, parameter)
        is_nll = kind == Kind.FOCAL and parameter == 0
        return temperature != 0, temperature != 1, temperature, kind == Kind.COUNT, not is_nll

    places = sorted(range(len(fields)), key=rank)
    ordered = [fields[place] for place in places]
    temperatures, starts, start, last = [], [], 0, 0.0
    for kind, parameter in ordered:
        temperature = temperature_of(kind, parameter)
        temperatures.append(temperature if temperature != last else 0.0)
        last = temperature
        starts.append(start)
        start += 1 if kind in (Kind.PIXELS, Kind.KEPT_PIXELS) else chunks
    paired = [0] * len(fields)
    pair = [(int(Kind.COUNT), 0.0), (int(Kind.FOCAL), 0.0)]
    for place in range(1, len(ordered)):
        if can_pair and [(int(kind), parameter) for kind, parameter in ordered[place - 1 : place + 1]] == pair:
            paired[place - 1 : place + 1] = [1, 2]
    return Sorted(
        tuple(int(kind) for kind, _ in ordered),
        tuple(float(parameter) for _, parameter in ordered),
        tuple(places),
        tuple(temperatures),
        tuple(starts),
        tuple(paired),
    )


def gradient_constants(fields: Fields) -> dict[str, tuple]:
    """The label's fields, and the size fields by temperature, as the backward kernel takes them."""
    labels = [(kind, parameter, place) for place, (kind, parameter) in enumerate(fields) if kind in LABEL_KINDS]
    sizes = {parameter: place for place, (kind, parameter) in enumerate(fields) if kind == Kind.SIZE}
    kept_sizes = {parameter: place for place, (kind, parameter) in enumerate(fields) if kind == Kind.KEPT_SIZE}
    temperatures = sorted({*sizes, *kept_sizes, *([1.0] if labels else [])}, key=lambda one: (one != 1, one))
    return {
        "KINDS": tuple(int(kind) for kind, _, _ in labels),
        "GAMMAS": tuple(float(gamma) for _, gamma, _ in labels),
        "FIELDS": tuple(place for _, _, place in labels),
        "TEMPERATURES": tuple(temperatures),
        "SIZES": tuple(sizes.get(one, -1) for one in temperatures),
        "KEPT_SIZES": tuple(kept_sizes.get(one, -1) for one in temperatures),
    }


def programs_per_row(pixels: int, rows: int, shape: Shape, processors: int, fewest_tiles: int) -> int:
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
