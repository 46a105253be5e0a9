"""Any term per component: its value inside the cell of each true component, every component counting the same."""

from typing import Any

from torch import Tensor

from sizewise.criterion import Criterion, Loss
from sizewise.stats.cells import chosen
from sizewise.stats.fields import Field, Kind
from sizewise.stats.region_stats import RegionStats
from sizewise.terms.reduction import mean_over_images, pick, reduce_classes
from sizewise.terms.term import Term


class PerComponent(Term):
    """A term inside the cell of each true component: :func:`per_component` makes it.

    With x_km the term's value for class k on cell m of class k alone: the mean of x_km over the components of class k,
    then over the classes that have one (``class_weight`` and ``class_reduction`` are the term's; a sigmoid channel is a
    class, and weighs as its foreground does), then over the images that have one. With ``scope="batch"`` the first mean
    is over the components of the whole batch. An image without a component enters no mean; without any component the
    value is 0 with zero gradient.
    """

    def __init__(self, term: Term) -> None:
        if not isinstance(term, Term) or isinstance(term, PerComponent):
            raise TypeError(f"per_component: term must be a term, as Dice(), or a sum of terms, got {term!r}.")
        if term.scope == "global":
            raise ValueError(
                f'per_component: {term.label} has scope="global", which adds up the same image or class over ranks, '
                'and no two ranks have a cell in common. Use "image" or "batch".'
            )
        if any(field.kind in (Kind.KEPT_PIXELS, Kind.KEPT_SIZE) for field in term.fields):
            raise ValueError(
                f'per_component: {term.label} has pixels="all", and only pixels with a label belong to a component. '
                'Use pixels="valid".'
            )
        Criterion.__init__(self)  # scope and classes are the term's
        self.term = term
        self.scope = term.scope

    @property
    def label(self) -> str:
        return f"CC-{self.term.label}"

    @property
    def fields(self) -> tuple[Field, ...]:
        return ()

    @property
    def cell_fields(self) -> tuple[Field, ...]:
        return self.term.fields

    def cell_classes(self, known: int, sigmoid: bool) -> tuple[int, ...]:
        return chosen(self.term.choice.classes, known, sigmoid)

    def at(self, share: float) -> None:
        self.term.at(share)

    def value(self, stats: RegionStats) -> Tensor:
        cells = stats.cells
        if cells is None:
            raise ValueError(
                f"{self.label}: these statistics hold no sums of cells. Take them with criterion.stats(logits, target) "
                "or add them with stats.with_cells(region_stats(…, cells=…))."
            )
        sigmoid, choice = cells.sigmoid, self.term.choice
        values, present = self.term.per_cell(cells), cells.count[..., 1] > 0 if sigmoid else cells.count > 0
        weight = choice.weight_like(cells.count, sigmoid)
        weight = weight[..., 1] if weight is not None and sigmoid else weight
        images = stats.sums.shape[1] if self.scope == "image" else 1
        most = values.shape[0] // images if images else 0
        picked = [self._chosen(one, sigmoid) for one in (values, present)]
        values, present = (one.reshape(images, most, one.shape[-1]) for one in picked)
        number = present.sum(1)
        per_class = values.where(present, 0).sum(1) / number.clamp(min=1)
        if weight is not None:
            weight = self._chosen(weight.unsqueeze(0), sigmoid)
        # channels are problems of their own, whose mean is taken
        reduction = "mean" if sigmoid else getattr(self.term, "class_reduction", "mean")
        per_image, counted = reduce_classes(per_class, weight, number > 0, reduction)
        assert counted is not None
        return mean_over_images(per_image, counted)

    def _chosen(self, values: Tensor, sigmoid: bool) -> Tensor:
        """The chosen columns of (rows, K), or of (rows, C) for sigmoid."""
        classes = self.term.choice.classes
        if not sigmoid:
            return self.term.choice.select(values, False)
        return values if isinstance(classes, str) else pick(self.label, values, -1, classes)

    def options(self) -> dict[str, Any]:
        return self.term.options()

    def __repr__(self) -> str:
        return f"per_component({self.term!r})"


def per_component(criterion: Criterion) -> Criterion:
    """A term, or each term of a sum, per true component: inside its cell, every component counting the same.

    Class k is split into its components, and the image into one cell for each: all pixels that are nearest to it (see
    :func:`components`). The cell takes the image's place: a term is evaluated for class k on each cell of class k, so
    that a small component weighs as much as a large one, and a false alarm counts against the component next to it.
    ``per_component(Dice(classes="foreground"))`` is the named loss ``CC-Dice``.

    The cells are found in the target with scipy, on the CPU, in every call; give them with
    ``criterion(logits, target, cells=sizewise.components(target))`` where they are known before.

    Args:
        criterion: a term, as ``Dice()``, or a sum of terms.

    >>> import torch, sizewise as sw
    >>> target = torch.tensor([[0, 1, 0, 0, 0, 1]])
    >>> criterion = sw.CrossEntropy() + sw.per_component(sw.Dice(classes="foreground"))
    >>> criterion
    Loss(CrossEntropy() + per_component(Dice(classes='foreground')))
    >>> terms = criterion.terms(torch.zeros(1, 2, 6), target)
    >>> round(float(terms["CC-Dice"]), 4)  # cells of 4 and 2 pixels: 1 − (1 + 1) / (2 + 2) and 1 − (1 + 1) / (1 + 2)
    0.4167
    """
    if isinstance(criterion, Loss):
        wrapped = [weight * PerComponent(_term(one)) for one, weight in criterion.pairs()]
        total = sum(wrapped[1:], wrapped[0])
        return Loss(total, **criterion.reading)
    return PerComponent(_term(criterion))


def _term(criterion: Criterion) -> Term:
    if not isinstance(criterion, Term):
        raise TypeError(f"per_component: wanted a term, as Dice(), or a sum of terms, got {type(criterion).__name__}.")
    return criterion
