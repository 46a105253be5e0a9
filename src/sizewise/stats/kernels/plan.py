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
# A power of few multiplications replaces a second exponential.
LARGEST_POWER = 16
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

    def __call__(self, *tensors: Tensor) -> None:
        if self.run is not None:
            self.run(*tensors, *self.tail)
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
    powers: tuple[int, ...]
    starts: tuple[int, ...]


def temperature_of(kind: int, parameter: float) -> float:
    """The temperature of the softmax that a field needs; 0 for none."""
    if kind in SIZE_KINDS:
        return parameter
    return 1.0 if kind in LABEL_KINDS else 0.0


def power_for(temperature: float, has_plain: bool, dtype: torch.dtype) -> int:
    """τ as an exponent, where exp(τ x) is taken as exp(x)^τ; 0 where it is not.

    In float64 its ten times larger rounding error would show, and speed is no concern.
    """
    fits = temperature == int(temperature) and 2 <= temperature <= LARGEST_POWER
    return int(temperature) if fits and has_plain and dtype == torch.float32 else 0


def sort_fields(fields: Fields, chunks: int, dtype: torch.dtype) -> Sorted:
    """Fields in groups of one softmax, and where each one's sums start."""

    def rank(place: int) -> tuple[bool, bool, float]:
        temperature = temperature_of(*fields[place])
        return temperature != 0, temperature != 1, temperature

    places = sorted(range(len(fields)), key=rank)
    has_plain = any(temperature_of(*field) == 1 for field in fields)
    temperatures, powers, starts, start, last = [], [], [], 0, 0.0
    for place in places:
        temperature = temperature_of(*fields[place])
        new = temperature != last
        last = temperature
        temperatures.append(temperature if new else 0.0)
        powers.append(power_for(temperature, has_plain, dtype) if new and temperature > 0 else 0)
        starts.append(start)
        start += 1 if fields[place][0] in (Kind.PIXELS, Kind.KEPT_PIXELS) else chunks
    return Sorted(
        tuple(int(fields[place][0]) for place in places),
        tuple(float(fields[place][1]) for place in places),
        tuple(places),
        tuple(temperatures),
        tuple(powers),
        tuple(starts),
    )


def gradient_constants(fields: Fields, dtype: torch.dtype) -> dict[str, tuple]:
    """The label's fields, and the size fields by temperature, as the backward kernel takes them."""
    labels = [(kind, parameter, place) for place, (kind, parameter) in enumerate(fields) if kind in LABEL_KINDS]
    sizes = {parameter: place for place, (kind, parameter) in enumerate(fields) if kind == Kind.SIZE}
    kept_sizes = {parameter: place for place, (kind, parameter) in enumerate(fields) if kind == Kind.KEPT_SIZE}
    temperatures = sorted({*sizes, *kept_sizes, *([1.0] if labels else [])}, key=lambda one: (one != 1, one))
    has_plain = bool(temperatures) and temperatures[0] == 1
    return {
        "KINDS": tuple(int(kind) for kind, _, _ in labels),
        "GAMMAS": tuple(float(gamma) for _, gamma, _ in labels),
        "FIELDS": tuple(place for _, _, place in labels),
        "TEMPERATURES": tuple(temperatures),
        "POWERS": tuple(power_for(one, has_plain, dtype) for one in temperatures),
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
    """The integer type to compare labels in, and whether ``ignore_index`` can occur in it."""
    if dtype.is_floating_point:
        return tl.int32, False
    narrow = dtype.itemsize < 4 or dtype == torch.int32
    fits = ignore_index is not None and not (narrow and not -(1 << 31) <= ignore_index < 1 << 31)
    return (tl.int32 if narrow else tl.int64), fits
