"""Tiles add up to the whole, with all graphs alive or with one tile in memory at a time."""

import pytest
import torch
from torch import nn

import sizewise as sw

CRITERIA = [sw.loss(name) for name in ("RCE", "DiceFL", "DBCE", "RFL-KL")]


def volume(seed=0):
    generator = torch.Generator().manual_seed(seed)
    image = torch.randn(2, 1, 6, 8, 4, generator=generator, dtype=torch.float64)
    target = torch.randint(0, 3, (2, 6, 8, 4), generator=generator)
    mask = torch.rand(2, 6, 8, 4, generator=generator) > 0.2
    return image, target, mask


def cut(image, target, mask):
    pieces = [slice(0, 1), slice(1, 5), slice(5, 6)]
    return [(image[:, :, one], target[:, one], mask[:, one]) for one in pieces]


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
def test_added_statistics_equal_the_whole(criterion):
    image, target, mask = volume()
    net = nn.Conv3d(1, 3, 1).double()
    whole = criterion(net(image), target, mask)
    expected = torch.autograd.grad(whole, net.weight)[0]
    tiles = [criterion.stats(net(x), y, m) for x, y, m in cut(image, target, mask)]
    total = criterion.from_stats(sum(tiles))
    torch.testing.assert_close(total, whole)
    torch.testing.assert_close(torch.autograd.grad(total, net.weight)[0], expected)


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
def test_two_passes_equal_the_whole(criterion):
    image, target, mask = volume()
    net = nn.Conv3d(1, 3, 1).double()
    whole = criterion(net(image), target, mask)
    expected = torch.autograd.grad(whole, net.weight)[0]
    loss = sw.tiled_backward(criterion, net, cut(image, target, mask))
    torch.testing.assert_close(loss, whole.detach())
    assert not loss.requires_grad
    torch.testing.assert_close(net.weight.grad, expected)


def test_both_passes_draw_the_same_dropout():
    image, target, mask = volume()
    net = nn.Sequential(nn.Conv3d(1, 3, 1), nn.Dropout(0.5)).double()
    tiles = cut(image, target, mask)
    torch.manual_seed(7)
    loss = sw.tiled_backward(sw.loss("RCE"), net, tiles)
    torch.manual_seed(7)
    once = sw.loss("RCE").from_stats(sum(sw.loss("RCE").stats(net(x), y, m) for x, y, m in tiles))
    torch.testing.assert_close(loss, once.detach())


def test_wrong_tiles_are_named():
    net, criterion = nn.Conv3d(1, 3, 1), sw.loss("CE")
    with pytest.raises(TypeError, match="gone through twice, got a generator or iterator"):
        sw.tiled_backward(criterion, net, iter([]))
    with pytest.raises(TypeError, match=r"criterion must be a sizewise loss, as .*, got str"):
        sw.tiled_backward("CE", net, [])
    with pytest.raises(TypeError, match=r"tiles must be a list of \(input, target\), got int"):
        sw.tiled_backward(criterion, net, 2)
    with pytest.raises(ValueError, match="tiles is empty"):
        sw.tiled_backward(criterion, net, [])
    with pytest.raises(ValueError, match=r"each tile must be \(input, target\) or \(input, target, mask\)"):
        sw.tiled_backward(criterion, net, [(torch.zeros(1),)])


def test_only_like_statistics_add_up():
    logits, target = torch.randn(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4))
    stats = sw.region_stats(logits, target)
    with pytest.raises(ValueError, match="only statistics of the same images, classes and fields add up"):
        stats + sw.region_stats(logits[:1], target[:1])
    with pytest.raises(ValueError, match="only statistics of the same images"):
        stats + sw.region_stats(logits, target, temperature=5.0)
    with pytest.raises(ValueError, match="carries the size targets of another resolution"):
        stats + stats.with_size_truth(stats)
    with pytest.raises(TypeError):
        stats + 1
