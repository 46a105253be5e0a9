"""The mean of each term of the loss over an epoch, for nnU-Net's log."""

from torch import Tensor

from sizewise.criterion.criterion import Criterion
from sizewise.stats.region_stats import RegionStats


class TermMeans:
    """Watches a criterion and adds up its values, of deep supervision those of the full resolution.

    Nothing waits for the device until :meth:`take` is called.

    >>> import torch, sizewise as sw
    >>> criterion = sw.loss("RCE")
    >>> means = TermMeans(criterion)
    >>> for labels in (torch.zeros(1, 4, 4).long(), torch.ones(1, 4, 4).long()):
    ...     means.next_batch()
    ...     loss = criterion(torch.zeros(1, 2, 4, 4), labels)
    >>> means.take()
    {'CrossEntropy': 0.6931..., 'SizeL1': 0.5}
    """

    def __init__(self, criterion: Criterion) -> None:
        self.sums: dict[str, Tensor] = {}
        self.batches = 0
        self._first = False
        criterion.watch(self._add)

    def next_batch(self) -> None:
        """The first values from here on are those of a new batch."""
        self._first = True

    def _add(self, stats: RegionStats, terms: dict[str, Tensor]) -> None:
        if self._first:
            self._first = False
            self.batches += 1
            self.sums = {name: value + self.sums.get(name, 0) for name, value in terms.items()}

    def take(self) -> dict[str, float]:
        """The means since the last call, and start anew."""
        means = {name: float(value) / self.batches for name, value in self.sums.items()}
        self.sums, self.batches = {}, 0
        return means
