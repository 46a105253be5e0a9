"""Callbacks that see the sums and values of every step."""

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from sizewise.private_apis import runs_while_compiling
from sizewise.stats.fields import Field
from sizewise.stats.region_stats import RegionStats
from sizewise.stats.take_stats import named_fields

if TYPE_CHECKING:
    from sizewise.criterion.criterion import Criterion

Callback = Callable[[RegionStats, dict[str, Tensor]], Any]


class Watch:
    """One callback of a criterion; :meth:`remove` ends it. As a context it ends with its block."""

    def __init__(self, criterion: "Criterion", callback: Callback, fields: Sequence[str]) -> None:
        if not callable(callback):
            raise TypeError(f"watch: callback must be a function of (stats, terms), got {type(callback).__name__}.")
        self.criterion, self.callback = criterion, callback
        self.fields: tuple[Field, ...] = tuple(named_fields("watch", fields))
        criterion.watches = (*criterion.watches, self)

    def remove(self) -> None:
        """Call the callback no more."""
        self.criterion.watches = tuple(one for one in self.criterion.watches if one is not self)

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def call_back(watches: Sequence[Watch], stats: RegionStats, terms: dict[str, Tensor], scale: float) -> None:
    """Hand the detached sums and values of a step to every callback, the values without the step's ``scale``."""
    with torch.no_grad():
        stats = stats.detach()
        terms = {name: value.detach() if scale == 1 else value.detach() / scale for name, value in terms.items()}
        for watch in watches:
            watch.callback(stats, terms)


def say_unwatched(criterion: "Criterion") -> None:
    """Say once that callbacks are not called where no Python runs between the steps."""
    if not criterion.__dict__.get("said_unwatched"):
        criterion.__dict__["said_unwatched"] = True
        warnings.warn(
            f"{criterion.label}: the callbacks of watch() are not called under torch.compile, or while a CUDA graph is "
            "captured. Log what terms() returns instead.",
            RuntimeWarning,
            stacklevel=2,
        )


@runs_while_compiling
def say_unwatched_while_compiling(criterion: "Criterion") -> None:
    """The same for the compiler, which runs this once, when it reads the code."""
    say_unwatched(criterion)
