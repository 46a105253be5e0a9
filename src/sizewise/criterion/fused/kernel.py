"""The formula of a criterion compiled to one kernel: sums in, the terms' values and their derivatives out."""

import itertools
import linecache
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from sizewise.criterion.criterion import Criterion
from sizewise.criterion.fused.axes import Unsupported
from sizewise.criterion.fused.mirror import Mirror
from sizewise.criterion.fused.trace import trace
from sizewise.criterion.fused.verify import agrees
from sizewise.criterion.fused.write import NAME, Writer
from sizewise.stats.fields import Field
from sizewise.stats.kernels.launch import Launch
from sizewise.stats.kernels.raw_access import read, write
from sizewise.stats.kernels.shapes import power_of_two

# One program holds all sums in its registers.
MOST_SUMS = 1 << 14
# Every warp repeats what has no cells, so there are few, as long as a thread's registers hold its share of the sums.
FEWEST_A_WARP, MOST_A_WARP, FEW_WARPS, MOST_WARPS = 128, 512, 8, 16
_numbers = itertools.count()


class FormulaKernel:
    """The formula of one criterion for K classes, and for one image or any larger number of them.

    It gives L, and one tensor of all that is kept: the coefficients ∂term/∂field as (planes, N, K), of which ``planes``
    says the term and the place of the field; ∂L/∂term of each term; and each term's value. With terms per component it
    also gives the coefficients of the sums of cells, (planes, N · M, K), see ``cell_planes``; of those sums it
    reads the fields at the places ``cells_read``. L, values and coefficients are multiplied by a scale, a number in a
    tensor.

    Raises:
        Unsupported: for formulas that are left to torch.
    """

    def __init__(
        self,
        criterion: Criterion,
        fields: tuple[Field, ...],
        like: Tensor,
        *,
        one_image: bool,
        has_truth: bool,
        cell_fields: tuple[Field, ...] = (),
    ) -> None:
        self.classes, self.sigmoid = like.shape[2], like.dim() == 4
        if self.classes > MOST_SUMS:
            raise Unsupported("too many classes")
        found = trace(criterion, fields, like, one_image=one_image, has_truth=has_truth, cell_fields=cell_fields)
        writer = Writer(found, len(fields), self.classes, self.sigmoid, cell_fields)
        self.units = writer.units
        self.terms, self.planes = len(found.values), tuple(writer.planes)
        self.cell_planes = tuple(writer.cell_planes)
        self.kept_per_image = len(self.planes) * self.classes * self.regions
        self.source = writer.source()
        self.cells_read = writer.cells_read
        self.mirrors = [Mirror(one, like.device) for _, one in found.buffers if is_elsewhere(one, like.device)]
        copies = {id(mirror.original): mirror.copy for mirror in self.mirrors}
        self.inputs = [copies.get(id(one), one) for _, one in found.buffers]
        self.kernel = compiled(self.source)
        self.launches: dict[tuple[int, int, int], Launch] = {}
        self.verified = False

    def agrees_with(
        self,
        criterion: Criterion,
        fields: tuple[Field, ...],
        like: Tensor,
        has_truth: bool,
        cell_fields: tuple[Field, ...] = (),
    ) -> bool:
        """Whether it gives what the torch code gives; compared once, with a warning where it does not."""
        if not self.verified and not agrees(self, criterion, fields, like, has_truth, cell_fields):
            warnings.warn(
                f"sizewise: {criterion.label} runs as single torch operations: its kernel gave another value than its "
                f"torch code. Please report this, with {criterion!r}.",
                RuntimeWarning,
                stacklevel=2,
            )
            return False
        self.verified = True
        return True

    def takes(self, images: int, cells: int = 1) -> bool:
        """Whether the sums of so many images, with so many cells each, fit one program."""
        return cells > 0 and self._elements(images, cells) <= MOST_SUMS

    def _elements(self, images: int, cells: int) -> int:
        return power_of_two(images) * power_of_two(cells) * power_of_two(self.classes) * self.regions

    @property
    def regions(self) -> int:
        """The length of the axis r."""
        return 2 if self.sigmoid else 1

    def launch(self, images: int, cells: int = 1, first: int = 0) -> Launch:
        """The launch for a number of images and cells; its tensors are those of :meth:`__call__`, in order.

        ``first`` is the lowest class that has cells: sums of those below it are known to be 0, and their coefficients
        are not written.
        """
        launch = self.launches.get((images, cells, first))
        if launch is None:
            blocks = {"NB": power_of_two(images), "MB": power_of_two(cells), "FIRST": first}
            constants = {**blocks, "K": self.classes, "KB": power_of_two(self.classes), "R": self.regions}
            launch = Launch(self.kernel, 1, warps_for(self._elements(images, cells)), (images, cells), constants)
            self.launches[images, cells, first] = launch
        return launch

    def __call__(
        self,
        sums: Tensor,
        truth: Tensor | None,
        scale: Tensor,
        launch: Launch,
        stream: int | None = None,
        table: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """L, what is kept, and what is kept of cells, whose sums are a ``table`` of integers."""
        for mirror in self.mirrors:
            mirror.refresh()
        total = sums.new_empty(())
        kept = sums.new_empty(self.kept_per_image * sums.shape[1] + 2 * self.terms)
        on_cells = kept if table is None else sums.new_empty((len(self.cell_planes), *table.shape[1:]))
        given = (sums if one is None else one for one in (truth, table))
        launch(sums, *given, total, kept, on_cells, scale, *self.inputs, stream=stream)
        return total, kept, on_cells

    def parts(self, kept: Tensor, shape: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        """What is kept, apart: coefficients as (planes, *shape), ∂L/∂term, and values."""
        planes, factors, values = kept.tensor_split([len(kept) - 2 * self.terms, len(kept) - self.terms])
        return planes.view(len(self.planes), *shape), factors, values


def warps_for(elements: int) -> int:
    """In how many warps one program works on so many sums, a power of two.

    >>> [warps_for(elements) for elements in (16, 512, 4096, 1 << 14)]
    [1, 4, 8, 16]
    """
    few = min(FEW_WARPS, max(1, elements // FEWEST_A_WARP))
    return min(MOST_WARPS, max(few, elements // MOST_A_WARP))


def is_elsewhere(tensor: Tensor, device: torch.device) -> bool:
    """Whether a kernel cannot read a tensor: λ may have stayed on the CPU."""
    return tensor.device != device


@lru_cache(maxsize=256)
def compiled(source: str) -> Any:
    """The written kernel as a function of Triton's, which reads the source of what it compiles."""
    file = f"<sizewise formula {next(_numbers)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {"tl": tl, "read": read, "write": write, "__name__": __name__}
    exec(compile(source, file, "exec"), names)
    return triton.jit(names[NAME])
