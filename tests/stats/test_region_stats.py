"""The sums themselves: against the oracle, whatever the chunks, and how they add up."""

from math import prod

import pytest
import torch
from cases import ACTIVATIONS, KINDS, SHAPES, batch
from oracle_pixels import problems

import sizewise as sw
from sizewise.stats import chunks, labels

EVERY_FIELD = ("count", "nll", "focal", "overlap", "size", "tempered_size", "kept_size")


def take(one, logits, target, mask, **options):
    reading = {"ignore_index": one.ignore_index, "activation": one.activation, "fields": EVERY_FIELD}
    return sw.region_stats(logits, target, mask, **(reading | options))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_field_equals_the_oracle(activation, kind, shape):
    one = batch(activation, kind, shape)
    stats = take(one, *one.tensors(), gamma=(0.5, 2), temperature=(3, 10))
    for channel, areas in enumerate(problems(*one.arguments())):
        for image, area in enumerate(areas):
            place = (image,) if activation == "softmax" else (image, channel)
            wanted = {
                "count": area.T,
                "pixels": area.valid.sum(),
                "kept_pixels": len(area.valid),
                "nll": area.focal(0),
                "overlap": area.I,
                "size": area.P(1),
            }
            got = {name: getattr(stats, name)[place] for name in wanted}
            for gamma in (0.5, 2):
                wanted["focal", gamma], got["focal", gamma] = area.focal(gamma), stats.focal_at(gamma)[place]
            for tau in (3, 10):
                wanted["size", tau], got["size", tau] = area.P(tau), stats.tempered_size_at(tau)[place]
                wanted["kept", tau] = area.over(tau, "all").sum(0)
                got["kept", tau] = stats.kept_size_at(tau)[place]
            for name, value in wanted.items():
                value = torch.as_tensor(value).double()
                torch.testing.assert_close(got[name], value, rtol=1e-12, atol=1e-13, msg=f"{name}")


CHUNKED = {
    "images cut along every axis": (3, (4, 3, 5)),
    "many small images in a chunk": (11, (2, 3)),
    "one long row": (1, (151,)),
}


@pytest.mark.parametrize("layout", CHUNKED)
@pytest.mark.parametrize(("activation", "channels"), [("softmax", 2), ("softmax", 5), ("softmax", 11), ("sigmoid", 3)])
@pytest.mark.parametrize("soft", [False, True], ids=["labels", "probabilities"])
def test_the_size_of_the_chunks_leaves_no_trace(activation, channels, soft, layout, monkeypatch):
    images, spatial = CHUNKED[layout]
    torch.manual_seed(0)
    logits = torch.randn(images, channels, *spatial, dtype=torch.float64)
    target = torch.randint(0, channels if activation == "softmax" else 2, (images, channels, *spatial))
    mask = torch.rand(images, *spatial) < 0.8
    if soft:
        target = torch.randn_like(logits).softmax(1) if activation == "softmax" else target * 0.75 + 0.1
    elif activation == "softmax":
        target = target[:, 0]
    options = {"activation": activation, "fields": EVERY_FIELD, "ignore_index": None if soft else 1}
    results = []
    for elements in (1, 40, 100_000):
        monkeypatch.setattr(chunks, "LARGEST_CHUNK", elements)
        monkeypatch.setattr(chunks, "SMALLEST_CHUNK", elements)
        leaf = logits.clone().requires_grad_()
        sums = sw.region_stats(leaf, target, mask, **options).sums
        (sums * torch.linspace(-1, 1, sums.numel(), dtype=sums.dtype).view_as(sums)).sum().backward()
        results.append((sums.detach(), leaf.grad))
    assert len(list(chunks.chunks(images, channels, spatial, 1))) == images * prod(spatial)  # a pixel at a time
    for sums, gradient in results[:-1]:
        torch.testing.assert_close(sums, results[-1][0], rtol=1e-12, atol=1e-13)
        torch.testing.assert_close(gradient, results[-1][1], rtol=1e-10, atol=1e-13)


def test_comparing_and_walking_over_the_labels_agree(monkeypatch):
    one = batch("softmax", "ignored and masked labels", "3d")
    logits, target, mask = one.tensors()
    results = []
    for few in (0, 8, 100):
        monkeypatch.setattr(labels, "FEW_CLASSES", few)
        leaf = logits.clone().requires_grad_()
        sums = take(one, leaf, target, mask).sums
        (sums * torch.linspace(-1, 1, sums.numel(), dtype=sums.dtype).view_as(sums)).sum().backward()
        results.append((sums.detach(), leaf.grad))
    for sums, gradient in results[1:]:
        torch.testing.assert_close(sums, results[0][0], rtol=1e-12, atol=1e-13)
        torch.testing.assert_close(gradient, results[0][1], rtol=1e-11, atol=1e-13)


def test_large_images_add_up_in_float32():
    # 2^24 + 2^22 ones: counting in float32 one by one would stop at 2^24
    logits = torch.zeros(1, 2, 5 << 22, dtype=torch.bfloat16)
    target = torch.zeros(1, 5 << 22, dtype=torch.uint8)
    stats = sw.region_stats(logits, target, fields=["count", "size"])
    assert stats.count.tolist() == [[5 << 22, 0]]
    assert stats.size.tolist() == [[5 << 21, 5 << 21]]


def test_tiles_add_up_to_the_whole_with_both_graphs():
    one = batch("softmax", "ignored labels", "1d")
    logits, target, _ = one.tensors()
    leaf, other = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    tiles = [take(one, leaf[..., part], target[..., part], None) for part in (slice(0, 3), slice(3, 7))]
    whole = take(one, other, target, None)
    criterion = one.criterion(sw.Dice() + sw.CrossEntropy())
    for joined in (tiles[0] + tiles[1], sum(tiles)):
        torch.testing.assert_close(joined.sums, whole.sums)
    criterion.from_stats(sum(tiles)).backward()
    criterion.from_stats(whole).backward()
    torch.testing.assert_close(leaf.grad, other.grad)


def test_pooling_and_scopes():
    one = batch("sigmoid", "masked labels", "1d")
    stats = take(one, *one.tensors())
    assert stats.scoped("image") is stats
    torch.testing.assert_close(stats.pooled().count, stats.count.sum(0, keepdim=True))
    torch.testing.assert_close(stats.scoped("global").sums, stats.scoped("batch").sums)
    assert stats.scoped("batch") is stats.scoped("batch")
    logits = one.tensors()[0].requires_grad_()
    assert take(one, logits, *one.tensors()[1:]).detach().sums.requires_grad is False
    with pytest.raises(ValueError, match="RegionStats: scope must be one of 'image', 'batch', 'global', got 'rank'"):
        stats.scoped("rank")


def test_fields_that_are_missing_or_many_are_named():
    one = batch("softmax", "labels", "1d")
    logits, target, _ = one.tensors()
    stats = sw.region_stats(logits, target, gamma=(1, 2), temperature=(2, 5), fields=["focal", "tempered_size"])
    assert repr(stats) == (
        "RegionStats((N, K) = (3, 3): count, pixels, focal(gamma=1), focal(gamma=2), tempered_size(temperature=2), "
        "tempered_size(temperature=5))"
    )
    with pytest.raises(ValueError, match=r"there are several \(1, 2\); choose one with focal_at\(gamma\)"):
        _ = stats.focal
    with pytest.raises(
        ValueError, match=r"there are several \(2, 5\); choose one with tempered_size_at\(temperature\)"
    ):
        _ = stats.tempered_size
    with pytest.raises(ValueError, match=r"overlap was asked for, but these statistics hold count, pixels, focal"):
        _ = stats.overlap
    with pytest.raises(ValueError, match=r"tempered_size\(temperature=10\) was asked for"):
        sw.loss("RCE").from_stats(sw.region_stats(logits, target, temperature=3))
    with pytest.raises(ValueError, match=r"fields must be one of 'count', .* got 'sizes'. Did you mean 'size'"):
        sw.region_stats(logits, target, fields="sizes")
    with pytest.raises(ValueError, match="only statistics of the same images, classes and fields add up"):
        _ = stats + stats.pooled()
    # γ = 0 and τ = 1 are nll and size, and one of each is simply "the" focal and tempered size
    plain = sw.region_stats(logits, target, gamma=0, temperature=1)
    assert torch.equal(plain.focal, plain.nll)
    assert torch.equal(plain.tempered_size, plain.size)
