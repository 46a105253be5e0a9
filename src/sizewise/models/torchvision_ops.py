"""Lets a torchvision that was built for another torch be imported: the networks here pass through it, no more."""

import sys
import warnings
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import torch

from sizewise.errors import import_extra

_SCHEMAS: list[torch.library.Library] = []  # an operator lives as long as the library that declared it


def make_torchvision_importable() -> None:
    """Import torchvision, and where its compiled operators do not load, declare those that its import looks up.

    Its wheels are built for one torch. Next to another one (a CPU build, say) the import fails with "operator
    torchvision::nms does not exist", although the encoders use plain torch layers alone. A declared operator has a
    signature and no kernel, so that calling one, which detection networks do, still fails with torch's own message.
    """
    if "torchvision" in sys.modules or find_spec("torchvision") is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about its missing image codecs, which we do not use
        try:
            import_module("torchvision")
        except RuntimeError as error:
            if "torchvision::" not in str(error):
                raise
            for module in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
                del sys.modules[module]  # half imported
            library = torch.library.Library("torchvision", "FRAGMENT")
            for name in ("nms", "qnms"):
                library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            _SCHEMAS.append(library)
            import_module("torchvision")


def import_with_torchvision(module: str, *, extra: str, reason: str) -> ModuleType:
    """Import a library that imports torchvision, or say which extra brings it; its own warnings stay silent.

    >>> import_with_torchvision("json", extra="train", reason="reading settings").__name__
    'json'
    """
    if find_spec(module.partition(".")[0]) is not None:
        make_torchvision_importable()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_extra(module, extra=extra, reason=reason)
