"""RegionStats, the few sums per image and class that every loss is made of."""

from collections.abc import Sequence

import torch.distributed as dist
from torch import Tensor

from sizewise.checks import check_word
from sizewise.stats import fields as f
from sizewise.stats.fields import Field, Kind
from sizewise.stats.ranks import sum_over_ranks

SCOPES = ("image", "batch", "global")


class RegionStats:
    """The sums of one pass, each of shape (N, K), or (N, C, 2) = (background, foreground) for sigmoid channels.

    They are additive: ``a + b`` joins the tiles of an image, :meth:`pooled` the images of a batch, :meth:`all_reduce`
    the processes of a run. All of it keeps the graph to the logits.

    >>> import torch, sizewise as sw
    >>> stats = sw.region_stats(torch.zeros(1, 2, 4, 4), torch.ones(1, 4, 4, dtype=torch.long))
    >>> stats.count.tolist(), stats.size.tolist()
    ([[0.0, 16.0]], [[8.0, 8.0]])
    """

    def __init__(
        self,
        fields: Sequence[Field],
        sums: Tensor,
        size_truth: "RegionStats | None" = None,
        cells: "RegionStats | None" = None,
    ) -> None:
        assert len(fields) == len(sums), "one plane of sums for each field"
        self.cells = cells
        self.fields = tuple(fields)
        self.sums = sums
        self.size_truth = size_truth
        self._planes: tuple[Tensor, ...] | None = None
        self._numbers: Tensor | None = None
        self._divisors: dict[Field, Tensor] = {}
        self._scoped: dict[str, RegionStats] = {}

    @property
    def sigmoid(self) -> bool:
        """Whether the sums belong to sigmoid channels, each with a background and a foreground."""
        return self.sums.dim() == 4

    def field(self, field: Field) -> Tensor:
        """One sum, (N, K) or (N, C, 2); numbers of pixels carry no graph, since they have no gradient."""
        if field not in self.fields:
            held = ", ".join(str(one) for one in self.fields)
            raise ValueError(
                f"RegionStats: {field} was asked for, but these statistics hold {held}. Take them with "
                "criterion.stats(logits, target), or name the fields, temperature and gamma in region_stats(...). A "
                "term of your own names it in its fields."
            )
        place = self.fields.index(field)
        if field in f.NUMBERS_OF_PIXELS:
            if self._numbers is None:
                self._numbers = self.sums.detach()
            return self._numbers[place]
        if self._planes is None:
            self._planes = self.sums.unbind(0)  # one node in the graph, however many fields are read
        return self._planes[place]

    def divisor(self, field: Field) -> Tensor:
        """A number of pixels in the shape of the sums, (N, K) or (N, C, 2), with 1 in place of 0."""
        if field not in self._divisors:
            self._divisors[field] = self.field(field).clamp(min=1)
        return self._divisors[field]

    @property
    def count(self) -> Tensor:
        """T: the number of valid pixels of each region (the sum of y for probability targets)."""
        return self.field(f.COUNT)

    @property
    def pixels(self) -> Tensor:
        """|Ω|: the number of valid pixels, (N,), or (N, C) for sigmoid."""
        return self.field(f.PIXELS)[..., 0]

    @property
    def kept_pixels(self) -> Tensor:
        """The number of pixels that the mask keeps, labelled or not, (N,) or (N, C)."""
        return self.field(f.KEPT_PIXELS)[..., 0]

    @property
    def nll(self) -> Tensor:
        """Σ −log p over each region."""
        return self.field(f.NLL)

    @property
    def overlap(self) -> Tensor:
        """I: Σ p over each region."""
        return self.field(f.OVERLAP)

    @property
    def size(self) -> Tensor:
        """P: Σ p over all valid pixels."""
        return self.field(f.SIZE)

    @property
    def focal(self) -> Tensor:
        """Σ −(1−p)^γ log p over each region, where the statistics hold one γ; else see :meth:`focal_at`."""
        return self.field(self._only(Kind.FOCAL, f.NLL, "focal_at(gamma)"))

    @property
    def tempered_size(self) -> Tensor:
        """Σ softmax(τ z) over all valid pixels, where they hold one τ; else see :meth:`tempered_size_at`."""
        return self.field(self._only(Kind.SIZE, f.SIZE, "tempered_size_at(temperature)"))

    def focal_at(self, gamma: float) -> Tensor:
        """The focal sum for one exponent."""
        return self.field(f.focal(gamma))

    def tempered_size_at(self, temperature: float) -> Tensor:
        """The size sum for one temperature."""
        return self.field(f.tempered_size(temperature))

    def kept_size_at(self, temperature: float) -> Tensor:
        """The size sum over every pixel that the mask keeps, for one temperature."""
        return self.field(f.kept_size(temperature))

    def _only(self, kind: Kind, plain: Field, method: str) -> Field:
        held = [field for field in self.fields if field.kind == kind and field != plain]
        if len(held) > 1:
            values = ", ".join(f"{field.parameter:g}" for field in held)
            raise ValueError(f"RegionStats: there are several ({values}); choose one with {method}.")
        return held[0] if held else plain

    def __add__(self, other: "RegionStats") -> "RegionStats":
        if not isinstance(other, RegionStats):
            return NotImplemented
        if self.fields != other.fields or self.sums.shape != other.sums.shape:
            raise ValueError(
                "RegionStats: only statistics of the same images, classes and fields add up, got "
                f"{tuple(self.sums.shape[1:])} with {', '.join(map(str, self.fields))} and "
                f"{tuple(other.sums.shape[1:])} with {', '.join(map(str, other.fields))}."
            )
        if (self.size_truth is None) != (other.size_truth is None):
            raise ValueError("RegionStats: one side carries the size targets of another resolution, the other doesn't.")
        truth = None
        if self.size_truth is not None and other.size_truth is not None:
            truth = self.size_truth + other.size_truth
        cells = None if self.cells is None or other.cells is None else self.cells + other.cells
        return RegionStats(self.fields, self.sums + other.sums, truth, cells)

    def __radd__(self, other: int) -> "RegionStats":
        # sum([a, b]) starts from the integer 0
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def pooled(self) -> "RegionStats":
        """The sums over all images, as a batch of one."""
        truth = None if self.size_truth is None else self.size_truth.pooled()
        return RegionStats(self.fields, self.sums.sum(1, keepdim=True), truth)

    def all_reduce(self, group: dist.ProcessGroup | None = None) -> "RegionStats":
        """The sums over all ranks of ``group`` (default: every rank); every rank must hold the same shape."""
        truth = None if self.size_truth is None else self.size_truth.all_reduce(group)
        return RegionStats(self.fields, sum_over_ranks(self.sums, group), truth)

    def scoped(self, scope: str) -> "RegionStats":
        """Per ``"image"``, pooled over the ``"batch"``, or over the batches of all ranks (``"global"``)."""
        if scope == "image":
            return self
        check_word("RegionStats", "scope", scope, SCOPES)
        if scope not in self._scoped:
            pooled = self.scoped("batch").all_reduce() if scope == "global" else self.pooled()
            self._scoped[scope] = pooled
        return self._scoped[scope]

    def set_scoped(self, scope: str, stats: "RegionStats") -> None:
        """Let :meth:`scoped` return ``stats`` for a scope: sums that were pooled elsewhere."""
        self._scoped[check_word("RegionStats", "scope", scope, SCOPES)] = stats

    def with_size_truth(self, truth: "RegionStats") -> "RegionStats":
        """The same sums, but the true proportions that size terms aim at come from ``truth``.

        A label map that was sampled down has other proportions, and small regions vanish from it.
        """
        return RegionStats(self.fields, self.sums, truth, self.cells)

    def with_cells(self, cells: "RegionStats") -> "RegionStats":
        """The same sums, and with them those of each cell, which component-wise terms read."""
        return RegionStats(self.fields, self.sums, self.size_truth, cells)

    def detach(self) -> "RegionStats":
        """The same numbers without the graph."""
        truth = None if self.size_truth is None else self.size_truth.detach()
        cells = None if self.cells is None else self.cells.detach()
        return RegionStats(self.fields, self.sums.detach(), truth, cells)

    def __repr__(self) -> str:
        shape = "(N, C, 2)" if self.sigmoid else "(N, K)"
        return f"RegionStats({shape} = {tuple(self.sums.shape[1:])}: {', '.join(map(str, self.fields))})"
