"""Which implementation takes a CUDA tensor: the kernels, or the reference where Triton cannot run them."""

import warnings
from functools import cache
from types import ModuleType

from torch import Tensor

from sizewise.stats import reference
from sizewise.stats.upsampling import CORNERS, axis_of

OLDEST_TRITON = (3, 4)
# Beyond, a tile of all classes does not fit the registers of a program; the reference streams over any number.
MOST_CLASSES = 4096
# Where logits are upsampled, a program's lanes hold all columns of pixels that touch one cell, four in each.
MOST_COLUMNS = 128


def backend(logits: Tensor, target: Tensor, sigmoid: bool, upsample: str | None) -> ModuleType:
    """The module whose ``region_sums`` and ``region_gradient`` take this input."""
    if not sigmoid and logits.shape[1] > MOST_CLASSES:
        return reference
    if upsample is not None and not covers(logits.shape[-1], target.shape[-1], upsample):
        return reference
    return kernels() or reference


def covers(cells: int, pixels: int, upsample: str) -> bool:
    """Whether the pixels around each cell of the last axis fit the columns of a program."""
    return cells > 0 and axis_of(cells, pixels, upsample == CORNERS).widest(1) <= MOST_COLUMNS


@cache
def kernels() -> ModuleType | None:
    """The module with the kernels' launches, or None, said once, where Triton is missing or too old."""
    try:
        import triton
    except ImportError:
        say("Triton is not installed")
        return None
    version = tuple(int(number) for number in triton.__version__.split(".")[:2])
    if version < OLDEST_TRITON:
        say(f"Triton {triton.__version__} is older than {'.'.join(map(str, OLDEST_TRITON))}")
        return None
    from sizewise.stats.kernels import passes

    return passes


def say(why: str) -> None:
    """Warn that the slow path runs."""
    warnings.warn(
        f"sizewise: {why}, so losses on CUDA tensors run the plain torch reference: the same values, but several times "
        "slower. Install a PyTorch build for CUDA, which brings Triton along.",
        RuntimeWarning,
        stacklevel=4,
    )
