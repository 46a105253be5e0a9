"""Importing peers: without torchvision's compiled operators, and without their warnings becoming our errors."""

import importlib
import importlib.util
import warnings
from types import ModuleType

import pytest
import torch

_LIBRARIES: list[torch.library.Library] = []  # an operator lives as long as the library that declared it


def make_torchvision_importable() -> None:
    """Declare the two operators that ``import torchvision`` looks up by name, if its own do not load.

    Its wheels are built for one torch: next to another one (a CPU build, say) the compiled operators are missing and
    the import fails, although no loss needs them.
    """
    if importlib.util.find_spec("torchvision") is None:
        return
    try:
        importlib.import_module("torchvision")
    except RuntimeError:  # operator torchvision::nms does not exist
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _LIBRARIES.append(library)


def import_peer(name: str, *, needs_torchvision: bool = False) -> ModuleType:
    """The module, or a skip of the file that asks for it, with the reason."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs, on import; ours stay errors
        if needs_torchvision:
            make_torchvision_importable()
        return pytest.importorskip(name, reason=f"{name.partition('.')[0]} is not installed: pip install '.[peers]'")
