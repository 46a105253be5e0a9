"""Importing peers: without torchvision's compiled operators, and without their warnings becoming our errors."""

import warnings
from types import ModuleType

import pytest

from sizewise.models.torchvision_ops import make_torchvision_importable


def import_peer(name: str, *, needs_torchvision: bool = False) -> ModuleType:
    """The module, or a skip of the file that asks for it, with the reason."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs, on import; ours stay errors
        if needs_torchvision:
            make_torchvision_importable()
        return pytest.importorskip(name, reason=f"{name.partition('.')[0]} is not installed: pip install '.[peers]'")
