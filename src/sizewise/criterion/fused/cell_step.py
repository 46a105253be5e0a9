"""The step on a GPU with terms per component: one pass for the sums of images and of cells, and one for the gradient.

The sums of cells stay integers until the formula reads them, and the backward pass reads the coefficients of a pixel's
image and of its cells at once, so that the logits are read as often as without cells.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from sizewise.criterion.cell_stats import CellPass, cells_for
from sizewise.criterion.fused.kernel import FormulaKernel
from sizewise.criterion.fused.step import UNSEEN, dense_planes, formula_kernel, formula_key, remember, sums_like
from sizewise.criterion.plain_step import per_term
from sizewise.private_apis import cuda_stream
from sizewise.stats.cells import Cells
from sizewise.stats.fields import Kind
from sizewise.stats.kernels.cell_passes import GradientCall, SumsCall, takes
from sizewise.stats.kernels.kept_tensors import numbers_on
from sizewise.stats.kernels.label_errors import record_of
from sizewise.stats.kernels.passes import form_of, on_device_of
from sizewise.stats.kernels.shapes import power_of_two
from sizewise.stats.region_stats import RegionStats

if TYPE_CHECKING:
    from sizewise.criterion.criterion import Criterion
    from sizewise.criterion.snapshot import Snapshot


def fused_cell_step(
    snapshot: "Snapshot", criterion: "Criterion", logits: Tensor, target: Any, mask: Any, cells: Any, has_truth: bool
) -> "tuple[CellStep | None, Any]":
    """The launches for such input, or None where plain torch has to do; and the cells, which are found only once."""
    given = snapshot.prepare(logits, target, mask)
    cells = cells_for(criterion, *given, cells)
    form, plans = cell_form(*given, cells), snapshot.plans[has_truth]
    plan = plans.get(form, UNSEEN)
    if plan is UNSEEN:
        if logits.is_cuda and torch.cuda.is_current_stream_capturing():
            return None, cells  # someone else's graph is being captured: no time to compile
        plan = make_plan(snapshot, criterion, *given, cells, has_truth)
        remember(plans, form, plan)
    return None if plan is None else CellStep(plan, snapshot, given[1:], cells, form), cells


def cell_form(logits: Tensor, target: Tensor, mask: Tensor | None, cells: Cells) -> tuple:
    """All of the input that the launches depend on. The number of cells is rounded up, so that few are prepared."""
    maps = cells.maps
    layout = (maps.shape, maps.stride(), maps.dtype, maps.data_ptr() & 15)
    return (*form_of(logits, target, mask), *layout, cells.classes, rounded(cells))


def rounded(cells: Cells) -> int:
    """For how many cells an image the launches are."""
    return power_of_two(max(1, cells.most))


def make_plan(
    snapshot: "Snapshot",
    criterion: "Criterion",
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None,
    cells: Cells,
    has_truth: bool,
) -> "Plan | None":
    """Prepare the launches; None for input or formulas that kernels do not cover."""
    _, sigmoid, kinds, parameters, upsample = snapshot.reading
    if logits.numel() == 0 or logits.dim() > 5 or upsample is not None or not snapshot.fits(logits.device):
        return None
    if not takes(logits, cells.maps, cells.classes, sigmoid, snapshot.cell_reading[2]):
        return None
    if {Kind.KEPT_SIZE, Kind.KEPT_PIXELS} & set(kinds):  # the gradient of pixels without a label
        return None
    formula = formula_kernel(snapshot, criterion, logits, has_truth)
    if formula is None or not formula.takes(logits.shape[0], rounded(cells)):
        return None
    every = range(len(snapshot.cell_fields))
    read = every if criterion.watches else formula.cells_read
    plan = Plan(snapshot, formula, logits, target, mask, cells, tuple(zip(kinds, parameters, strict=True)), read)
    with ThreadPoolExecutor(2, thread_name_prefix="sizewise") as pool:
        pool.submit(plan.compile_sums, logits, target, mask, cells.maps)
        pool.submit(plan.compile_gradient, logits, target, mask, cells.maps)
        like = sums_like(snapshot, logits)
        if not formula.agrees_with(criterion, snapshot.fields, like, has_truth, snapshot.cell_fields):
            snapshot.formulas[formula_key(logits, has_truth)] = None
            return None
    return plan


class Plan:
    """The launches for input of one form; ``read`` are the places of the fields of cells that are taken."""

    def __init__(
        self,
        snapshot: "Snapshot",
        formula: FormulaKernel,
        logits: Tensor,
        target: Tensor,
        mask: Tensor | None,
        cells: Cells,
        fields: tuple[tuple[int, float], ...],
        read: Sequence[int],
    ) -> None:
        self.cell_reading, self.fields, self.read = snapshot.cell_reading, fields, read
        self.most, self.device = rounded(cells), logits.get_device()
        tensors = [logits, target, logits if mask is None else mask, cells.maps]
        about = (mask is not None, cells.classes, self.most, self.cell_reading)
        self.sums = SumsCall(tensors, *about, fields, read)
        self.formula, self.launch = formula, formula.launch(logits.shape[0], self.most, min(cells.classes))
        planes = (formula.cell_planes, fields, formula.planes)
        self.gradient = GradientCall([*tensors, torch.empty_like(logits)], *about, *planes, writes=True)
        self.record, self.one = record_of(logits.device), numbers_on(logits.device, torch.float64, 1.0)

    def compile_sums(self, logits: Tensor, target: Tensor, mask: Tensor | None, maps: Tensor) -> None:
        """Compile the pass for the sums."""
        with on_device_of(logits):
            for compile_one in self.sums.compilations(logits, target, mask, maps, self.record.tensor):
                compile_one()

    def compile_gradient(self, logits: Tensor, target: Tensor, mask: Tensor | None, maps: Tensor) -> None:
        """Compile the gradient."""
        with on_device_of(logits):
            some = torch.empty(1, dtype=self.sums.dtype, device=logits.device)
            kept = logits if mask is None else mask
            self.gradient.launch.compile(some, some, some, logits, target, kept, maps, logits)


class CellStep:
    """One step with its cells; see :class:`sizewise.criterion.step.Backend`."""

    def __init__(
        self,
        plan: Plan,
        snapshot: "Snapshot",
        prepared: tuple[Tensor, Tensor | None],
        cells: Cells,
        form: tuple,
    ) -> None:
        self.plan, self.snapshot, self.prepared, self.cells, self.form = plan, snapshot, prepared, cells, form
        self.table: Tensor
        self.on_cells: Tensor

    def forward(
        self,
        logits: Tensor,
        target: Tensor,
        mask: Tensor | None,
        truth: Tensor | None,
        scale: float,
        learned: Sequence[Tensor],
        derive: bool,
    ) -> tuple[Tensor, Any, Tensor, tuple[Tensor | None, ...], Any]:
        """See :class:`sizewise.criterion.step.Backend`."""
        plan = self.plan
        if plan.record.words[0]:
            plan.record.raise_error()
        target, mask = self.prepared
        with on_device_of(logits):
            stream = cuda_stream(plan.device)
            given = (logits, target, mask, self.cells.maps, plan.record.tensor)
            sums, self.table = plan.sums.both(*given, stream=stream)
            factor = plan.one if scale == 1 else numbers_on(sums.device, torch.float64, scale)
            total, kept, self.on_cells = plan.formula(sums, truth, factor, plan.launch, stream, self.table)
        return total, kept, sums, (logits, target, mask), kept

    @property
    def cell_stats(self) -> RegionStats:
        """The sums of cells as numbers: all of them for callbacks, else those that the formula reads."""
        read = list(self.plan.read)
        sums = self.plan.sums.as_floats(self.table)[read]
        rows = sums.unflatten(1, (-1, self.plan.most))[:, :, : self.cells.most].flatten(1, 2)
        return RegionStats(tuple(self.snapshot.cell_fields[place] for place in read), rows)

    def backward(
        self, kept: Tensor, saved: tuple[Any, ...], upstream: Sequence[Tensor | None], wants_logits: bool
    ) -> tuple[Tensor | None, Sequence[Tensor | None]]:
        """See :class:`sizewise.criterion.step.Backend`."""
        (logits, target, mask), total, plan = saved, upstream[0], self.plan
        shape = plan.sums.sums_shape[1:]
        if total is None or (len(upstream) > 1 and any(one is not None for one in upstream[1:])):
            kept = kept.clone()
            factors = plan.formula.parts(kept, shape)[1]
            factors.copy_(per_term(factors, upstream))
            total = numbers_on(kept.device, kept.dtype, 1.0)
        if torch.is_grad_enabled() or cell_form(logits, target, mask, self.cells) != self.form:
            coefficients, factors, _ = plan.formula.parts(kept, shape)
            on_images = dense_planes(coefficients, factors, plan.formula.planes, len(plan.fields)) * total
            self.on_cells[:, :, : min(self.cells.classes)] = 0  # which nobody has written
            on_cells = dense_planes(self.on_cells, factors, plan.formula.cell_planes, len(plan.cell_reading[2])) * total
            on_cells = on_cells if self.snapshot.sigmoid else on_cells.squeeze(-1)
            cells = Cells(self.cells.maps, self.cells.classes, plan.most)
            return CellPass(self.snapshot, cells).gradient(on_images, on_cells, logits, target, mask), ()
        gradient = torch.empty_like(logits)
        if plan.gradient.empty:
            return gradient.zero_(), ()
        with on_device_of(logits):
            given = (logits, target, mask, self.cells.maps, gradient)
            plan.gradient(self.on_cells, kept, total, *given, stream=cuda_stream(plan.device))
        return gradient, ()
