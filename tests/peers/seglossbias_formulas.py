"""The losses of the paper's released code (by-liu/SegLossBias), written anew from their formulas."""

import torch
import torch.nn.functional as F
from comparison import IGNORED
from torch import Tensor

EPS = 1e-10  # in every proportion of the released code
TAU = 10.0  # a factor on the logits, in size terms alone


def proportions(probabilities: Tensor, valid: Tensor) -> Tensor:
    """(Σ over the valid pixels + EPS) / (their number + EPS), per image and channel."""
    return ((probabilities * valid).sum((2, 3)) + EPS) / (valid.sum((2, 3)) + EPS)


def class_proportions(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """p̂ and ŷ of softmax classes, (N, K); 255 is ignored."""
    valid = (labels != IGNORED).unsqueeze(1).double()
    one_hot = F.one_hot(labels.where(labels != IGNORED, 0), logits.shape[1]).movedim(-1, 1)
    return proportions((TAU * logits).softmax(1), valid), proportions(one_hot, valid)


def channel_proportions(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """p̂ and ŷ of sigmoid channels, (N, C): the foreground's alone."""
    everywhere = torch.ones(len(logits), 1, *logits.shape[2:], dtype=torch.float64)
    return proportions((TAU * logits).sigmoid(), everywhere), proportions(labels.double(), everywhere)


def l1(predicted: Tensor, true: Tensor) -> Tensor:
    return (predicted - true).abs().mean()


def kl(predicted: Tensor, true: Tensor) -> Tensor:
    return (true * torch.log(true / predicted)).sum(1).mean()


def dice_bias(predicted: Tensor, true: Tensor) -> Tensor:
    return torch.log(predicted + true + EPS).mean()


def dice_score(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """2I / max(P + T, 1e-7) per class over the batch, without smoothing; and which classes are present."""
    valid = (labels != IGNORED).unsqueeze(1)
    one_hot = F.one_hot(labels.where(labels != IGNORED, 0), logits.shape[1]).movedim(-1, 1) * valid
    probabilities = logits.softmax(1) * valid
    sizes = (probabilities.sum((0, 2, 3)) + one_hot.sum((0, 2, 3))).clamp(min=1e-7)
    return 2 * (probabilities * one_hot).sum((0, 2, 3)) / sizes, one_hot.sum((0, 2, 3)) > 0


def dice(logits: Tensor, labels: Tensor, log: bool) -> Tensor:
    score, present = dice_score(logits, labels)
    loss = -score.clamp(min=1e-7).log() if log else 1 - score
    return (loss * present).mean()


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(logits, labels, ignore_index=IGNORED)


def focal(logits: Tensor, labels: Tensor) -> Tensor:
    """One-vs-rest sigmoid focal losses with γ = 2: the mean over pixels, the sum over classes."""
    one_hot = F.one_hot(labels, logits.shape[1]).movedim(-1, 1).double()
    nll = F.binary_cross_entropy_with_logits(logits, one_hot, reduction="none")
    return ((1 - torch.exp(-nll)) ** 2 * nll).mean((0, 2, 3)).sum()
