"""Which implementation takes a CUDA tensor: the kernels, or the reference where Triton cannot run them."""

import warnings
from functools import cache
from types import ModuleType

from torch import Tensor

from sizewise.stats import reference

OLDEST_TRITON = (3, 4)
# Beyond, a tile of all classes does not fit the registers of a program; the reference streams over any number.
MOST_CLASSES = 4096


def backend(logits: Tensor, sigmoid: bool) -> ModuleType:
    """The module whose ``region_sums`` and ``region_gradient`` take these logits."""
    if not sigmoid and logits.shape[1] > MOST_CLASSES:
        return reference
    return kernels() or reference


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
