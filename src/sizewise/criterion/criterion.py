"""What can be called on logits: a single term, or a weighted sum of terms that shares one pass."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from sizewise.checks import check_weight
from sizewise.criterion.cell_stats import stats_with_cells
from sizewise.criterion.snapshot import Snapshot
from sizewise.criterion.step import take_step
from sizewise.criterion.term_values import TermValues
from sizewise.criterion.watch import Callback, Watch
from sizewise.module import Module
from sizewise.stats.fields import Field
from sizewise.stats.region_stats import RegionStats
from sizewise.stats.take_stats import take_stats

if TYPE_CHECKING:
    from sizewise.criterion.weighted_sum import Loss


class Criterion(Module, ABC):
    """Maps logits and target to a loss through :class:`RegionStats`. Criteria add up and scale."""

    ignore_index: int | None = None
    activation: str = "softmax"
    upsample: str | None = None
    watches: tuple[Watch, ...] = ()

    @property
    @abstractmethod
    def label(self) -> str:
        """The name that opens this criterion's messages."""

    @property
    @abstractmethod
    def fields(self) -> tuple[Field, ...]:
        """The sums that it needs."""

    @property
    def cell_fields(self) -> tuple[Field, ...]:
        """The sums that it needs of each component's cell; none for most."""
        return ()

    def cell_classes(self, known: int, sigmoid: bool) -> tuple[int, ...]:
        """The classes, of so many, whose components it looks at."""
        return ()

    @property
    @abstractmethod
    def scopes(self) -> frozenset[str]:
        """Over what its terms pool their sums: "image", "batch", "global"."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of its terms, in order."""

    @property
    def lambdas(self) -> tuple[Tensor, ...]:
        """The weights λ of its terms; none for a single term."""
        return ()

    @abstractmethod
    def terms_from_stats(self, stats: RegionStats) -> dict[str, Tensor]:
        """Each term's unweighted value by name."""

    @abstractmethod
    def total(self, terms: dict[str, Tensor]) -> Tensor:
        """The weighted sum of the values that :meth:`terms` returned."""

    def stats(self, logits: Tensor, target: Tensor, mask: Tensor | None = None, *, cells: Any = None) -> RegionStats:
        """One pass over the logits that takes exactly the sums this criterion needs, and another for those of cells."""
        if self.cell_fields:
            return stats_with_cells(self, logits, target, mask, cells)
        return self.image_stats(logits, target, mask)

    def image_stats(self, logits: Tensor, target: Tensor, mask: Tensor | None = None) -> RegionStats:
        """The sums of each image alone."""
        return take_stats(
            self.label,
            logits,
            target,
            mask,
            ignore_index=self.ignore_index,
            activation=self.activation,
            fields=self.fields,
            upsample=self.upsample,
        )

    def from_stats(self, stats: RegionStats) -> Tensor:
        """The loss, from sums that were taken before: those of several passes, say."""
        return self.total(self.terms_from_stats(stats))

    def terms(
        self, logits: Tensor, target: Tensor, mask: Tensor | None = None, *, cells: Any = None
    ) -> dict[str, Tensor]:
        """Each term's unweighted value by name, graph kept: log them, then call :meth:`total`."""
        taken = take_step(self, logits, target, mask, separate=True, cells=cells)
        if torch.compiler.is_compiling():
            return taken.terms
        return TermValues(taken.terms, taken.total, self.lambdas)

    def forward(self, logits: Tensor, target: Tensor, mask: Tensor | None = None, *, cells: Any = None) -> Tensor:
        """The loss of ``logits`` (N, K, *S) for ``target``, over the pixels where ``mask`` is True.

        A target is a constant: probabilities that come from another network get no gradient.

        ``cells`` is what :func:`components` returned for the target; a criterion with component-wise terms finds them
        by itself where they are not given, others have no use for them.
        """
        return take_step(self, logits, target, mask, cells=cells).total

    def watch(self, callback: Callback, *, fields: Sequence[str] = ()) -> Watch:
        """Call ``callback(stats, terms)`` after every step, with its sums and its unweighted values, both detached.

        Under ``torch.compile``, and while a CUDA graph is captured, there is nobody to call: a warning says so, once.
        A copy of the criterion is not watched.

        Args:
            callback: takes :class:`RegionStats` and a dict of each term's value.
            fields: sums to take along besides those that the terms need, as for :func:`region_stats`; they change no
                value.

        Returns:
            A handle whose ``remove()`` ends it.

        >>> import torch, sizewise as sw
        >>> criterion = sw.loss("RCE")
        >>> handle = criterion.watch(lambda stats, terms: print(stats.count.tolist(), list(terms)))
        >>> loss = criterion(torch.zeros(1, 2, 4, 4), torch.zeros(1, 4, 4, dtype=torch.long))
        [[16.0, 0.0]] ['CrossEntropy', 'SizeL1']
        >>> handle.remove()
        """
        return Watch(self, callback, fields)

    def at(self, share: float) -> None:
        """Hear the share of training that is done, from 0 to 1: ``train`` says it before every step.

        Here it changes nothing. A term of one's own that changes over training overrides it and writes into a buffer
        in place, which a captured CUDA graph and the kernels see.
        """

    def snapshot(self) -> Snapshot:
        """What a step needs to know of this criterion, made anew after an option was set."""
        snapshot = self.__dict__.get("_snapshot")
        if snapshot is None or not snapshot.is_current(self):
            snapshot = self.__dict__["_snapshot"] = Snapshot(self)
        return snapshot

    def __getstate__(self) -> dict[str, Any]:
        own = ("_snapshot", "watches", "said_unwatched")  # what belongs to this very object
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def __add__(self, other: "Criterion") -> "Loss":
        from sizewise.criterion.weighted_sum import added

        return added(self, other) if isinstance(other, Criterion) else NotImplemented

    def __radd__(self, other: int) -> "Criterion":
        # sum([a, b]) starts from the integer 0
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, weight: float) -> "Loss":
        from sizewise.criterion.weighted_sum import scaled

        return scaled(self, check_weight(self.label, weight))

    __rmul__ = __mul__
