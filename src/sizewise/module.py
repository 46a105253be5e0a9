"""What every module of this package has in common: constants that are never rounded, and options that are watched."""

from collections.abc import Callable
from typing import Any, Self

from torch import Tensor, nn


class Module(nn.Module):
    """A module that keeps the dtype of its constants, and counts how often an option of it was set."""

    changes = 0
    """Grows with every option that is set; what was prepared for the old options is then out of date."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name != "training":  # train() and eval() change nothing here
            self._changed()

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        super().register_buffer(name, tensor, persistent)
        self._changed()

    def register_parameter(self, name: str, param: nn.Parameter | None) -> None:
        super().register_parameter(name, param)
        self._changed()

    def add_module(self, name: str, module: nn.Module | None) -> None:
        super().add_module(name, module)
        self._changed()

    def _changed(self) -> None:
        self.__dict__["changes"] = self.changes + 1

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        return super()._apply(keeping_dtype(fn), recurse)


def keeping_dtype(fn: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Let ``.to()`` and ``.half()`` move a criterion's constants, but never round them."""

    def move(tensor: Tensor) -> Tensor:
        try:
            moved = fn(tensor)
        except TypeError:  # Apple's GPUs have no float64
            return fn(tensor.float())
        return moved if moved.dtype == tensor.dtype else tensor.to(moved.device)

    return move
