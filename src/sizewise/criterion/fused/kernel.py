"""The formula of a criterion compiled to one kernel: sums in, the terms' values and their derivatives out."""

import itertools
import linecache
import warnings
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
from sizewise.criterion.fused.write import NAME, Writer
from sizewise.criterion.plain_step import evaluate
from sizewise.stats.fields import Field
from sizewise.stats.kernels.launch import Launch
from sizewise.stats.kernels.shapes import power_of_two

# One program holds all sums in its registers.
MOST_SUMS = 1 << 14
SUMS_A_WARP = 128
_numbers = itertools.count()


class FormulaKernel:
    """The formula of one criterion for K classes, and for one image or any larger number of them.

    Its outputs are ∂L/∂term for each term, then L, then each term's value; and the coefficients ∂term/∂field as
    (planes, N, K), of which ``planes`` says the term and the place of the field. L, values and coefficients are
    multiplied by a scale, a number in a tensor.

    Raises:
        Unsupported: for formulas that are left to torch.
    """

    def __init__(
        self, criterion: Criterion, fields: tuple[Field, ...], like: Tensor, *, one_image: bool, has_truth: bool
    ) -> None:
        self.classes, self.sigmoid = like.shape[2], like.dim() == 4
        if self.classes > MOST_SUMS:
            raise Unsupported("too many classes")
        found = trace(criterion, fields, like, one_image=one_image, has_truth=has_truth)
        writer = Writer(found, len(fields), self.classes, self.sigmoid)
        self.terms, self.planes = len(found.values), tuple(writer.planes)
        self.source = writer.source()
        self.mirrors = [Mirror(one, like.device) for _, one in found.buffers if is_elsewhere(one, like.device)]
        copies = {id(mirror.original): mirror.copy for mirror in self.mirrors}
        self.inputs = [copies.get(id(one), one) for _, one in found.buffers]
        self.kernel = compiled(self.source)
        self.launches: dict[int, Launch] = {}
        images = 1 if one_image else 3
        self._compare(criterion, fields, torch.empty(len(fields), images, *like.shape[2:]).to(like), has_truth)

    def takes(self, images: int) -> bool:
        """Whether the sums of so many images fit one program."""
        return power_of_two(images) * power_of_two(self.classes) * self.regions <= MOST_SUMS

    @property
    def regions(self) -> int:
        """The length of the axis r."""
        return 2 if self.sigmoid else 1

    def launch(self, images: int) -> Launch:
        """The launch for a number of images; its tensors are those of :meth:`__call__`, in order."""
        launch = self.launches.get(images)
        if launch is None:
            block, classes = power_of_two(images), power_of_two(self.classes)
            constants = {"NB": block, "K": self.classes, "KB": classes, "R": self.regions}
            warps = min(16, max(1, block * classes * self.regions // SUMS_A_WARP))
            launch = self.launches[images] = Launch(self.kernel, 1, warps, (images,), constants)
        return launch

    def __call__(
        self, sums: Tensor, truth: Tensor | None, scale: Tensor, launch: Launch, stream: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Outputs and coefficients."""
        for mirror in self.mirrors:
            mirror.refresh()
        outputs = torch.empty(2 * self.terms + 1, dtype=sums.dtype, device=sums.device)
        coefficients = torch.empty((max(1, len(self.planes)), *sums.shape[1:]), dtype=sums.dtype, device=sums.device)
        launch(sums, sums if truth is None else truth, outputs, coefficients, scale, *self.inputs, stream=stream)
        return outputs, coefficients

    def _compare(self, criterion: Criterion, fields: tuple[Field, ...], like: Tensor, has_truth: bool) -> None:
        """Run the kernel once beside the torch code that it was written from; a term may do what nobody foresaw."""
        if not self.takes(like.shape[1]) or any(one.is_inference() for one in criterion.buffers()):
            return  # autograd takes no constants that were made in inference mode
        random = torch.Generator().manual_seed(0)
        sums, truth = (1 + 50 * torch.rand(like.shape, generator=random).to(like) for _ in range(2))
        targets = truth if has_truth else None
        scale = torch.ones(1, dtype=torch.float64, device=like.device)
        outputs, planes = self(sums, targets, scale, self.launch(like.shape[1]))
        with torch.inference_mode(False):
            total, values, kept = evaluate(
                criterion, fields, sums.double(), None if targets is None else targets.double(), [], True
            )
        assert kept is not None
        wanted = [torch.cat((kept.factors, total.view(1), torch.stack(values)))]
        wanted += [kept.sums[term, field] for term, field in self.planes]
        for found, one in zip((outputs, *planes), wanted, strict=False):
            if not torch.allclose(found.double(), one, rtol=1e-4, atol=1e-4 * float(one.abs().max()), equal_nan=True):
                warnings.warn(
                    f"sizewise: {criterion.label} runs as single torch operations: its kernel gave another value than "
                    f"its torch code. Please report this, with {criterion!r}.",
                    RuntimeWarning,
                    stacklevel=2,
                )
                raise Unsupported("the kernel and the torch code differ")


def is_elsewhere(tensor: Tensor, device: torch.device) -> bool:
    """Whether a kernel cannot read a tensor: λ may have stayed on the CPU."""
    return tensor.device != device


@lru_cache(maxsize=256)
def compiled(source: str) -> Any:
    """The written kernel as a function of Triton's, which reads the source of what it compiles."""
    file = f"<sizewise formula {next(_numbers)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {"tl": tl, "__name__": __name__}
    exec(compile(source, file, "exec"), names)
    return triton.jit(names[NAME])
