"""The biases as functions of the proportions alone: where each is smallest, and how steep it is."""

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from sizewise.checks import check_number
from sizewise.terms.dice_bias import dice_bias


def dice_bias_at(predicted: Tensor, true: Tensor, *, smooth: float = 0.0) -> Tensor:
    r"""Dice's size bias log(p̂_k + ŷ_k + ε) of each region; the sum over the last axis is the bias of the image.

    The sum is concave, so over the simplex it is smallest at a vertex: see :func:`dice_bias_minimiser`.

    Args:
        predicted: p̂, with the regions on the last axis.
        true: ŷ, of the same shape, or one that broadcasts.
        smooth: ε >= 0 as a proportion, which is a term's ``smooth`` over |Ω|. With 0, a region that is neither true nor
            predicted has −inf.

    >>> import torch, sizewise as sw
    >>> true = torch.tensor([0.75, 0.25])
    >>> round(float(sw.theory.dice_bias_at(true, true).sum()), 4)  # log 1.5 + log 0.5, at the truth
    -0.2877
    >>> round(float(sw.theory.dice_bias_at(torch.tensor([1.0, 0.0]), true).sum()), 4)  # log 1.75 + log 0.25: lower
    -0.8267
    """
    smooth = check_number("dice_bias_at", "smooth", smooth, minimum=0)
    return dice_bias(predicted, true, predicted.new_ones(()), smooth=smooth)


def dice_bias_minimiser(true: Tensor) -> Tensor:
    r"""The proportions at which Dice's size bias is smallest: all pixels in a region that is largest in ŷ.

    For every p̂ of the simplex, Σ_k log(p̂_k + ŷ_k + ε) is at least its value here, if ε > 0 or every class is present.
    (Else it is −inf wherever an absent class is not predicted.) Of several largest regions each is a minimiser; this is
    the first.

    Args:
        true: ŷ, floating point, with the regions on the last axis.

    >>> import torch, sizewise as sw
    >>> sw.theory.dice_bias_minimiser(torch.tensor([0.2, 0.5, 0.3])).tolist()
    [0.0, 1.0, 0.0]
    """
    return one_hot(true.argmax(-1), true.shape[-1]).to(true.dtype)


def dice_bias_slope(predicted: Tensor, true: Tensor, *, smooth: float = 0.0) -> Tensor:
    r"""∂/∂p̂_k of Dice's size bias: 1 / (p̂_k + ŷ_k + ε). Positive, and largest for the smallest region.

    Args:
        predicted: p̂, with the regions on the last axis.
        true: ŷ.
        smooth: ε >= 0, as a proportion.

    >>> import torch, sizewise as sw
    >>> sw.theory.dice_bias_slope(torch.tensor([1.0, 0.0]), torch.tensor([0.75, 0.25]), smooth=0.25).tolist()
    [0.5, 2.0]
    """
    return 1 / (predicted + true + check_number("dice_bias_slope", "smooth", smooth, minimum=0))


def size_l1_slope(predicted: Tensor, target: Tensor) -> Tensor:
    r"""∂/∂p̂_k of the L1 size penalty |p̂_k − t_k|: −1, 0 or 1, however small p̂_k is.

    Args:
        predicted: p̂, with the regions on the last axis.
        target: t.

    >>> import torch, sizewise as sw
    >>> sw.theory.size_l1_slope(torch.tensor([1 - 1e-6, 1e-6]), torch.tensor([0.75, 0.25])).tolist()
    [1.0, -1.0]
    """
    return torch.sign(predicted - target)


def size_kl_slope(predicted: Tensor, target: Tensor) -> Tensor:
    r"""∂/∂p̂_k of the KL size penalty t_k log(t_k / p̂_k) − t_k + p̂_k: 1 − t_k / p̂_k, without bound as p̂_k goes to 0.

    The slope of cross-entropy's bias is smaller by 1 in every region; where proportions sum to 1, that pulls the same.
    p̂_k = 0 counts as the smallest normal number, so the result is finite, and 1 where t_k = 0.

    Args:
        predicted: p̂, with the regions on the last axis.
        target: t.

    >>> import torch, sizewise as sw
    >>> target = torch.tensor([0.75, 0.25])
    >>> sw.theory.size_kl_slope(torch.tensor([0.5, 0.5]), target).tolist()
    [-0.5, 0.5]
    >>> sw.theory.size_kl_slope(torch.tensor([0.9990234375, 0.0009765625]), target)[1].item()  # 1/1024 predicted
    -255.0
    """
    return 1 - target / predicted.clamp(min=torch.finfo(predicted.dtype).tiny)
