"""The operations of a criterion's formula and of its derivative, as a graph whose sizes are symbols.

The formula is plain torch code on :class:`RegionStats`. It is run once on stand-ins that have sizes and no values, and
what it does is written down below autograd, so that the operations of the derivative are in the graph as well.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, fx, nn

from sizewise.criterion.criterion import Criterion
from sizewise.criterion.fused.axes import Unsupported
from sizewise.criterion.plain_step import derivatives, unseen_by_hooks
from sizewise.private_apis import graph_with_symbols
from sizewise.stats.fields import Field
from sizewise.stats.region_stats import RegionStats

# Stands for every number of images above one.
SEVERAL = 5
# Stands for every number of cells in an image.
CELLS = 7


class Trace(NamedTuple):
    """The graph from the sums to what a step needs.

    Attributes:
        graph: its operations in order.
        sums: the node of the sums, (fields, N, K) or (fields, N, C, 2); where size targets come from other sums, these
            follow as further fields.
        cells: the node of the sums of cells, (fields, N, M, K) or (fields, N, M, C, 2); None where no term has any.
        buffers: the nodes of the criterion's constants, each with its tensor.
        total, factors, values, coefficients: L, ∂L/∂term, each term's value, and ∂term/∂sums (None where it is 0).
        cell_coefficients: the same for the sums of cells.
        images, classes: the symbols of N and K, or their numbers where the formula works for that number alone.
        cell_symbols: the names of the symbols that the sums of cells have of their own.
    """

    graph: fx.Graph
    sums: fx.Node
    cells: fx.Node | None
    buffers: list[tuple[fx.Node, Tensor]]
    total: fx.Node
    factors: list[fx.Node | None]
    values: list[fx.Node]
    coefficients: list[fx.Node | None]
    cell_coefficients: list[fx.Node | None]
    images: Any
    classes: Any
    cell_symbols: dict[Any, str]


class _Formula(nn.Module):
    """The criterion under a parent, so that stand-ins can be put in the place of its buffers."""

    def __init__(self, criterion: Criterion, fields: tuple[Field, ...], cell_fields: tuple[Field, ...]) -> None:
        super().__init__()
        self.criterion, self.fields, self.cell_fields = criterion, fields, cell_fields

    def forward(self, given: Tensor, cells: Tensor | None) -> list[Tensor | None]:
        own = len(self.fields)
        with torch.enable_grad():
            leaf = given[:own].detach().requires_grad_()
            targets = RegionStats(self.fields, given[own:]) if len(given) > own else None
            stats, inputs = RegionStats(self.fields, leaf, targets), [leaf]
            if cells is not None:
                torch._check(cells.shape[1] == given.shape[1])
                inputs.append(cells.detach().requires_grad_())
                stats = stats.with_cells(RegionStats(self.cell_fields, inputs[1].flatten(1, 2)))
            terms = self.criterion.terms_from_stats(stats)
            total, values = self.criterion.total(terms), list(terms.values())
            factors = derivatives(total, values)
            rows = [derivatives(value, inputs) for value in values]
        coefficients = [row[place] for place in range(len(inputs)) for row in rows]
        return [total.detach(), *factors, *(value.detach() for value in values), *coefficients]


def trace(
    criterion: Criterion,
    fields: tuple[Field, ...],
    like: Tensor,
    *,
    one_image: bool,
    has_truth: bool,
    cell_fields: tuple[Field, ...] = (),
) -> Trace:
    """The graph for sums such as ``like``, of one image or of any other number of them, and any number of cells.

    Raises:
        Unsupported: where the formula cannot be written down, or depends on the number of images.
    """
    names = [name for name, buffer in criterion.named_buffers() if buffer is not None]
    buffers = [buffer for name, buffer in criterion.named_buffers() if buffer is not None]
    formula = _Formula(criterion, fields, cell_fields)
    shape = (len(fields) * (2 if has_truth else 1), 1 if one_image else SEVERAL, *like.shape[2:])
    same_in_every_call = (0, 3)  # the fields, and the two regions of a sigmoid channel

    def run(sums: Tensor, *rest: Tensor) -> list[Tensor | None]:
        cells, own = (rest[0], rest[1:]) if cell_fields else (None, rest)
        swapped = {f"criterion.{name}": one for name, one in zip(names, own, strict=True)}
        return torch.func.functional_call(formula, swapped, (sums, cells))

    try:
        with torch.inference_mode(False), torch.autocast(like.device.type, enabled=False), unseen_by_hooks():
            sums = torch.empty(shape, dtype=like.dtype, device=like.device)
            constants = [buffer.clone() if buffer.is_inference() else buffer for buffer in buffers]
            cells, fixed = [], []
            if cell_fields:
                cells = [
                    torch.empty((len(cell_fields), shape[1], CELLS, *shape[2:]), dtype=like.dtype, device=like.device)
                ]
                fixed = [(0, 4)]
            made, fakes, known = graph_with_symbols(
                run, [sums, *cells, *constants], [same_in_every_call, *fixed, *(() for _ in constants)]
            )
    except Exception as error:
        # Terms that look at values, shapes given for each image, an operation without a rule for symbols: whatever it
        # is, the same code runs as it stands with torch.
        raise Unsupported(f"{type(error).__name__}: {error}") from error
    images, classes = (_expression(size) for size in fakes[0].shape[1:3])
    cell_symbols: dict[Any, str] = {}
    if cell_fields:
        sizes = (_expression(size) for size in fakes[1].shape[1:4])
        cell_symbols = {one: name for one, name in zip(sizes, "NMK", strict=True) if not isinstance(one, int)}
    several = {images, *(one for one, name in cell_symbols.items() if name != "K")}
    for guard in known.guards:
        same_number = all(side.is_symbol for side in guard.expr.args)  # of images, in both kinds of sums
        if several & guard.expr.free_symbols and not same_number:
            raise Unsupported("the formula depends on the number of images, or of cells")
    nodes = list(made.graph.nodes)
    places = [node for node in nodes if node.op == "placeholder"]
    outputs = list(nodes[-1].args[0])
    terms = (len(outputs) - 1) // (4 if cell_fields else 3)
    return Trace(
        made.graph,
        places[0],
        places[1] if cell_fields else None,
        list(zip(places[2 if cell_fields else 1 :], buffers, strict=True)),
        outputs[0],
        outputs[1 : 1 + terms],
        outputs[1 + terms : 1 + 2 * terms],
        outputs[1 + 2 * terms : 1 + 3 * terms],
        outputs[1 + 3 * terms :],
        images,
        classes,
        cell_symbols,
    )


def _expression(size: Any) -> Any:
    """A size as its symbol, or as a number once the formula has fixed it."""
    return size if isinstance(size, int) else size.node.expr
