"""The values of a step's terms, which remember the weighted sum that came with them."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor


class TermValues(dict[str, Tensor]):
    """Each term's unweighted value by name. The weighted sum came from the same step, and is kept with them."""

    def __init__(self, values: dict[str, Tensor], total: Tensor, lambdas: Sequence[Tensor]) -> None:
        super().__init__(values)
        self.total = total
        self._values, self._versions = tuple(values.values()), _versions(lambdas)

    def holds(self, lambdas: Sequence[Tensor]) -> bool:
        """Whether ``total`` is still the sum of these values with these weights λ."""
        same = all(one is other for one, other in zip(self.values(), self._values, strict=True))
        return same and self._versions is not None and self._versions == _versions(lambdas)

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


def _versions(lambdas: Sequence[Tensor]) -> list[tuple[int, int]] | None:
    if any(one.is_inference() for one in lambdas):  # these don't count their changes
        return None
    return [(id(one), one._version) for one in lambdas]
