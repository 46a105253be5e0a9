"""Training on images that do not fit: the loss of the whole, with one tile in memory at a time."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from sizewise.criterion import Criterion
from sizewise.stats.region_stats import RegionStats

Tile = tuple[Any, Tensor] | tuple[Any, Tensor, Tensor]


def tiled_backward(criterion: Criterion, model: Callable[[Any], Tensor], tiles: Iterable[Tile]) -> Tensor:
    """Add the gradient of the loss of a whole image, given in tiles, to the model's parameters.

    Two passes: the first adds up the region statistics of all tiles without a graph; the loss of the sum gives the
    coefficients ∂L/∂field; the second runs each tile again and sends those coefficients back through it. The result is
    that of one pass over the whole image (up to the network's own dependence on what lies outside a tile).

    Args:
        criterion: any criterion.
        model: maps a tile's input to logits (N, K, *S).
        tiles: (input, target) or (input, target, mask) for each tile of the same N images. It is gone through twice, so
            a generator will not do; a list, or an object whose ``__iter__`` loads tile after tile, will.

    Returns:
        The loss, without a graph: ``backward`` has been done.

    Random numbers start from the same state in both passes, so that dropout draws the same masks. Layers that change
    with every call, as batch normalisation in training mode, see each tile twice.

    >>> import torch, sizewise as sw
    >>> net = torch.nn.Conv2d(1, 2, 1)
    >>> image, target = torch.randn(1, 1, 8, 8), torch.randint(0, 2, (1, 8, 8))
    >>> halves = [(image[:, :, :4], target[:, :4]), (image[:, :, 4:], target[:, 4:])]
    >>> loss = sw.tiled_backward(sw.loss("RCE"), net, halves)
    >>> torch.allclose(loss, sw.loss("RCE")(net(image), target))
    True
    """
    if iter(tiles) is tiles:
        raise TypeError(
            "tiled_backward: tiles is gone through twice, got a generator or iterator. Pass a list, or an object whose "
            "__iter__ starts anew."
        )
    devices = [torch.cuda.current_device()] if torch.cuda.is_initialized() else []
    with torch.random.fork_rng(devices=devices), torch.no_grad():
        total = sum((_stats(criterion, model, tile) for tile in tiles), start=0)
    if not isinstance(total, RegionStats):
        raise ValueError("tiled_backward: tiles is empty; pass at least one (input, target).")
    sums = total.sums.requires_grad_()
    with torch.enable_grad():
        loss = criterion.from_stats(RegionStats(total.fields, sums))
    (coefficients,) = torch.autograd.grad(loss, sums)
    for tile in tiles:
        _stats(criterion, model, tile).sums.backward(coefficients)
    return loss.detach()


def _stats(criterion: Criterion, model: Callable[[Any], Tensor], tile: Sequence[Any]) -> RegionStats:
    if not isinstance(tile, (tuple, list)) or len(tile) not in (2, 3):
        raise ValueError("tiled_backward: each tile must be (input, target) or (input, target, mask).")
    return criterion.stats(model(tile[0]), *tile[1:])
