"""Region sizes as proportions of an image, and how a slope moves proportions that have to sum to one."""

from torch import Tensor

from sizewise.stats.region_stats import RegionStats
from sizewise.terms.reduction import or_one


def proportions(stats: RegionStats) -> tuple[Tensor, Tensor]:
    r"""The predicted and the true proportions, p̂_k = P_k / |Ω| and ŷ_k = T_k / |Ω|, with τ = 1.

    Args:
        stats: statistics that hold ``size``. Each result has the shape of its fields, (N, K) or (N, C, 2).

    Both sum to one over the regions of an image, except that an image without a valid pixel has zeros.

    >>> import torch, sizewise as sw
    >>> stats = sw.region_stats(torch.zeros(1, 2, 1, 4), torch.tensor([[[0, 0, 0, 1]]]))
    >>> predicted, true = sw.theory.proportions(stats)
    >>> predicted.tolist(), true.tolist()
    ([[0.5, 0.5]], [[0.75, 0.25]])
    """
    pixels = or_one(stats.pixels).unsqueeze(-1)
    return stats.size / pixels, stats.count / pixels


def size_pull(predicted: Tensor, slope: Tensor) -> Tensor:
    r"""Where a bias g(p̂) moves sizes that sum to one: −p̂_k (g_k − Σ_j p̂_j g_j), with g_k = ∂g/∂p̂_k.

    A slope alone misleads: Dice's bias rises with every size, yet not all sizes can shrink. This is minus the gradient
    of g to a shift of the logits that all pixels share, where all pixels predict alike. (Pixels that are sure of their
    class move less.) Positive: the region grows. The pulls of an image sum to zero.

    Args:
        predicted: p̂, with the regions on the last axis.
        slope: g_k, of the same shape.

    >>> import torch, sizewise as sw
    >>> predicted, true = torch.tensor([0.5, 0.5]), torch.tensor([0.75, 0.25])
    >>> sw.theory.size_pull(predicted, sw.theory.size_kl_slope(predicted, true)).tolist()  # ŷ − p̂
    [0.25, -0.25]
    """
    return -predicted * (slope - (predicted * slope).sum(-1, keepdim=True))
