"""A formula compiled to one kernel: sums in, the loss and its derivative out."""

import itertools
import linecache
from functools import lru_cache
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from sizewise.stats.fields import Field
from sizewise.stats.formula.record import Formula, record
from sizewise.stats.formula.values import Unsupported
from sizewise.stats.formula.write import Writer
from sizewise.stats.kernels.plan import Launch
from sizewise.stats.kernels.shapes import power_of_two

# One program holds all sums in its registers.
MOST_SUMS = 1 << 14
SUMS_A_WARP = 128
NAME = "formula"
_numbers = itertools.count()


class FormulaKernel:
    """The formula of one criterion for K classes; the number of images may change.

    Raises:
        Unsupported: for formulas that are left to torch.
    """

    def __init__(self, formula: Formula, fields: tuple[Field, ...], classes: int, sigmoid: bool, like: Tensor) -> None:
        shape = (len(fields), images_unlike(classes), classes, *((2,) if sigmoid else ()))
        if classes > MOST_SUMS:
            raise Unsupported("too many classes")
        try:
            recording = record(formula, fields, torch.ones(shape, dtype=like.dtype, device=like.device))
        except (ValueError, RuntimeError) as error:
            # Proportions given for each image of a batch; weights made in inference mode, which no graph may save.
            raise Unsupported(str(error)) from error
        writer = Writer(recording)
        self.inputs, self.mirrors = writer.inputs, writer.mirrors
        self.classes, self.regions = classes, 2 if sigmoid else 1
        self.kernel = compiled(writer.source(NAME))
        self.launches: dict[int, Launch] = {}

    def takes(self, images: int) -> bool:
        """Whether the sums of so many images fit one program."""
        return power_of_two(images) * power_of_two(self.classes) * self.regions <= MOST_SUMS

    def launch(self, images: int) -> Launch:
        """The launch for a number of images; its tensors are sums, value, coefficients and ``inputs``."""
        launch = self.launches.get(images)
        if launch is None:
            block, classes = power_of_two(images), power_of_two(self.classes)
            constants = {"NB": block, "K": self.classes, "KB": classes, "R": self.regions}
            warps = min(16, max(1, block * classes * self.regions // SUMS_A_WARP))
            launch = self.launches[images] = Launch(self.kernel, 1, warps, (images,), constants)
        return launch


def images_unlike(classes: int) -> int:
    """A number of images for the recording: any will do that can be told from the other sizes.

    >>> images_unlike(2), images_unlike(19), images_unlike(150)
    (3, 20, 67)
    """
    if classes < 64:
        return max(classes + 1, 3)
    return 67 if classes not in (67, 68) else 73


@lru_cache(maxsize=256)
def compiled(source: str) -> Any:
    """The written kernel as a function of Triton's, which reads the source of what it compiles."""
    file = f"<sizewise formula {next(_numbers)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {"tl": tl, "__name__": __name__}
    exec(compile(source, file, "exec"), names)
    return triton.jit(names[NAME])
