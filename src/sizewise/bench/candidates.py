"""What is measured: our losses, the plain formula, and the peers' own, each as a function of logits and labels."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import torch
from torch import Tensor
from torch.nn import functional

import sizewise as sw
from sizewise.models.torchvision_ops import make_torchvision_importable

LossFunction = Callable[[Tensor, Tensor], Tensor]
COMPILED = "RCE, torch.compile"
CAPTURED = ("sizewise", "torch")  # libraries whose losses never wait for the device, so that a CUDA graph holds them


@dataclass(frozen=True)
class Candidate:
    """A loss to time: who made it, its name, and how to build it for K classes (None: not for this K)."""

    library: str
    name: str
    build: Callable[[int], LossFunction]


def candidates(names: tuple[str, ...], device: str = "cpu") -> list[Candidate]:
    """Our losses by ``names``, then torch's and those of every peer that is installed."""
    made = [Candidate("sizewise", name, partial(our_loss, name, device)) for name in names]
    if device == "cuda":
        made.append(Candidate("sizewise", COMPILED, partial(compiled_rce, device)))
    made += [
        Candidate("torch", "CE", lambda _: torch_ce),
        Candidate("torch", "RCE, plain formula", lambda _: plain_rce),
    ]
    if device == "cuda":  # on a CPU the compiler takes longer than the benchmark
        made.append(Candidate("torch", COMPILED, lambda _: torch.compile(plain_rce, dynamic=False)))
    if find_spec("monai"):
        made += [Candidate("monai", "DiceCE", monai_dice_ce), Candidate("monai", "Focal", monai_focal)]
    if find_spec("nnunetv2"):
        made.append(Candidate("nnunetv2", "Dice + CE", nnunet_dice_ce))
    if find_spec("segmentation_models_pytorch"):
        made.append(Candidate("smp", "Dice + CE", smp_dice_ce))
    return made


def our_loss(name: str, device: str, classes: int) -> LossFunction:
    """One of our losses by name."""
    return sw.loss(name).to(device)


def compiled_rce(device: str, classes: int) -> LossFunction:
    """Our RCE inside of torch.compile."""
    return torch.compile(sw.loss("RCE").to(device), fullgraph=True, dynamic=False)


def torch_ce(logits: Tensor, target: Tensor) -> Tensor:
    """Torch's cross-entropy, which takes labels as int64."""
    return functional.cross_entropy(logits, target.long())


def plain_rce(logits: Tensor, target: Tensor) -> Tensor:
    """RCE as one would write it down: cross-entropy plus the L1 distance of tempered proportions."""
    axes = tuple(range(2, logits.dim()))
    predicted = torch.softmax(10 * logits, 1).mean(axes)
    target = target.long()
    one_hot = functional.one_hot(target, logits.shape[1]).movedim(-1, 1)
    true = one_hot.to(logits.dtype).mean(axes)
    return functional.cross_entropy(logits, target) + (predicted - true).abs().mean()


def monai_dice_ce(classes: int) -> LossFunction:
    """MONAI's DiceCELoss; one-hot from labels as its users do."""
    from monai.losses import DiceCELoss

    loss = DiceCELoss(to_onehot_y=True, softmax=True)
    return lambda logits, target: loss(logits, target.unsqueeze(1))


def monai_focal(classes: int) -> LossFunction:
    """MONAI's FocalLoss in its softmax form."""
    from monai.losses import FocalLoss

    loss = FocalLoss(to_onehot_y=True, use_softmax=True)
    return lambda logits, target: loss(logits, target.unsqueeze(1))


def nnunet_dice_ce(classes: int) -> LossFunction:
    """The loss that nnU-Net trains with."""
    make_torchvision_importable()
    from nnunetv2.training.loss.compound_losses import DC_and_CE_loss
    from nnunetv2.training.loss.dice import MemoryEfficientSoftDiceLoss

    options = {"batch_dice": False, "smooth": 1e-5, "do_bg": False, "ddp": False}
    loss = DC_and_CE_loss(options, {}, weight_ce=1, weight_dice=1, dice_class=MemoryEfficientSoftDiceLoss)
    return lambda logits, target: loss(logits, target.unsqueeze(1))


def smp_dice_ce(classes: int) -> LossFunction:
    """SMP's DiceLoss plus torch's cross-entropy, as its examples add them."""
    make_torchvision_importable()
    from segmentation_models_pytorch.losses import DiceLoss

    dice = DiceLoss("multiclass")
    return lambda logits, target: dice(logits, target.long()) + functional.cross_entropy(logits, target.long())
