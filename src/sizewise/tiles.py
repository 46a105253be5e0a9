"""Training on images that do not fit: the loss of the whole, with one tile in memory at a time."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from sizewise.criterion.criterion import Criterion
from sizewise.criterion.plain_step import evaluate
from sizewise.criterion.snapshot import Snapshot
from sizewise.stats.operator import region_gradient, region_sums

Tile = tuple[Any, Tensor] | tuple[Any, Tensor, Tensor]


def tiled_backward(criterion: Criterion, model: Callable[[Any], Tensor], tiles: Iterable[Tile]) -> Tensor:
    """Add the gradient of the loss of a whole image, given in tiles, to the model's parameters.

    Two passes: the first adds up the region statistics of all tiles without a graph; the loss of the sum gives the
    coefficients ∂L/∂field; the second runs each tile again and sends the gradient that follows from them back through
    it. The result is that of one pass over the whole image (up to the network's own dependence on what lies outside a
    tile).

    Args:
        criterion: any criterion.
        model: maps a tile's input to logits (N, K, *S).
        tiles: (input, target) or (input, target, mask) for each tile of the same N images. It is gone through twice, so
            a generator will not do; a list, or an object whose ``__iter__`` loads tile after tile, will.

    Returns:
        The loss, without a graph: ``backward`` has been done.

    Random numbers start from the same state in both passes, so that dropout draws the same masks. Layers that change
    with every call, as batch normalisation in training mode, see each tile twice. With ``upsample`` each tile is
    interpolated by itself: at its borders that is not what the whole image would give.

    >>> import torch, sizewise as sw
    >>> net = torch.nn.Conv2d(1, 2, 1)
    >>> image, target = torch.randn(1, 1, 8, 8), torch.randint(0, 2, (1, 8, 8))
    >>> halves = [(image[:, :, :4], target[:, :4]), (image[:, :, 4:], target[:, 4:])]
    >>> loss = sw.tiled_backward(sw.loss("RCE"), net, halves)
    >>> torch.allclose(loss, sw.loss("RCE")(net(image), target))
    True
    """
    if not isinstance(criterion, Criterion):
        raise TypeError(
            f"tiled_backward: criterion must be a sizewise loss, as sizewise.loss('RCE'), got "
            f"{type(criterion).__name__}."
        )
    if not isinstance(tiles, Iterable):
        raise TypeError(f"tiled_backward: tiles must be a list of (input, target), got {type(tiles).__name__}.")
    if iter(tiles) is tiles:
        raise TypeError(
            "tiled_backward: tiles is gone through twice, got a generator or iterator. Pass a list, or an object whose "
            "__iter__ starts anew."
        )
    snapshot = criterion.snapshot()
    if snapshot.has_cells:
        raise ValueError(
            f"tiled_backward: {criterion.label} has component-wise terms, and a component may lie in several tiles. "
            "Use a loss without them, or the whole image."
        )
    devices = [torch.cuda.current_device()] if torch.cuda.is_initialized() else []
    total: Tensor | None = None
    with torch.random.fork_rng(devices=devices), torch.no_grad():
        for tile in tiles:
            sums = region_sums(*_input(snapshot, model, tile), *snapshot.reading)
            if total is not None and total.shape != sums.shape:
                raise ValueError(
                    f"tiled_backward: every tile must be of the same images and classes, got sums of shape "
                    f"{tuple(total.shape[1:])} and {tuple(sums.shape[1:])}."
                )
            total = sums if total is None else total + sums
    if total is None:
        raise ValueError("tiled_backward: tiles is empty; pass at least one (input, target).")
    learned = snapshot.learned()
    loss, _, kept = evaluate(criterion, snapshot.fields, total, None, learned, True)
    assert kept is not None
    coefficients = kept.coefficients(kept.factors)
    for tile in tiles:
        given = _input(snapshot, model, tile)
        given[0].backward(region_gradient(coefficients, given[0].detach(), *given[1:], *snapshot.reading))
    for tensor, gradient in zip(learned, kept.learned[0], strict=True):
        if gradient is not None:
            tensor.grad = gradient if tensor.grad is None else tensor.grad + gradient
    return loss


def _input(
    snapshot: Snapshot, model: Callable[[Any], Tensor], tile: Sequence[Any]
) -> tuple[Tensor, Tensor, Tensor | None]:
    """A tile's logits, target and mask as the operator takes them."""
    if not isinstance(tile, (tuple, list)) or len(tile) not in (2, 3):
        raise ValueError("tiled_backward: each tile must be (input, target) or (input, target, mask).")
    given, target, mask = (*tile, None)[:3]
    return snapshot.prepare(model(given), target, mask)
