"""decide(): against trying everything, and what it promises for any input."""

import numpy as np
import pytest
import torch
from decision_oracle import best_of_all, best_prefix, score
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import EXHAUSTIVE, sample

import sizewise as sw


def fields(images, classes, size, *, seed, scale=1.5, dtype=torch.float64):
    """Smooth logits, as networks give them; later classes are rarer."""
    draw = torch.Generator().manual_seed(seed)
    coarse = scale * torch.randn(images, classes, *(max(2, one // 4) for one in size), generator=draw, dtype=dtype)
    mode = {1: "linear", 2: "bilinear", 3: "trilinear"}[len(size)]
    logits = torch.nn.functional.interpolate(coarse, size=size, mode=mode)
    return logits - torch.linspace(0, 2, classes, dtype=dtype).view(1, -1, *[1] * len(size))


def expected(logits, labels, background=0, metric="dice"):
    """F of each image."""
    p = logits.double().softmax(1).flatten(2).numpy()
    scored = [k for k in range(p.shape[1]) if k != background]
    flat = labels.flatten(1).numpy()
    return np.array([score(one, label, scored, metric) for one, label in zip(p, flat, strict=True)])


@pytest.mark.parametrize("metric", ["dice", "iou"])
def test_one_scored_class_is_decided_as_well_as_can_be(metric):
    """Thousands of images of up to 12 pixels against every prefix of the sorted probabilities, ties included."""
    draw = np.random.default_rng(0)
    for pixels in range(1, 13):
        p = draw.random((200, pixels)) ** draw.integers(1, 5, (200, 1))
        p[::4] = np.round(4 * p[::4]) / 4  # ties, and probabilities of exactly 0, 1/2 and 1
        both = torch.from_numpy(np.stack((1 - p, p), 1))
        for labels in (
            sw.decide(both, metric=metric, given="probabilities", prune=0.0),
            sw.decide(both[:, 1:], metric=metric, given="probabilities", prune=0.0, activation="sigmoid")[:, 0].long(),
        ):
            for one, label in zip(p, labels.numpy(), strict=True):
                found = score(np.stack((1 - one, one)), label, [1], metric)
                assert found == pytest.approx(best_prefix(one, metric), abs=1e-12)


def test_several_classes_against_every_label_map():
    """How often it is the best of all, and how far it is when not."""
    draw, gaps = np.random.default_rng(1), []
    for _ in range(300 if EXHAUSTIVE else 60):
        p = torch.softmax(torch.from_numpy(draw.normal(0, draw.uniform(0.3, 3), (1, 3, 6))), 1)
        for background in (0, None):
            scored = [k for k in range(3) if k != background]
            labels = sw.decide(p, given="probabilities", prune=0.0, background=background)[0].numpy()
            best = best_of_all(p[0].numpy(), scored)
            gaps.append(best - score(p[0].numpy(), labels, scored))
    gaps = np.array(gaps)
    assert gaps.min() > -1e-12
    assert (gaps < 1e-9).mean() > 0.75  # 0.84 of the exhaustive run
    assert gaps.mean() < 0.03


CASES = [
    (metric, background, scope, prune, classes, scale)
    for metric in ("dice", "iou")
    for background in (0, 1, None)
    for scope in ("image", "batch")
    for prune in (0.0, 0.5)
    for classes in (2, 3, 7)
    for scale in (0.3, 1.5, 6.0)
]


@pytest.mark.parametrize("case", sample(CASES, 40, seed=1), ids=str)
def test_never_below_argmax(case):
    metric, background, scope, prune, classes, scale = case
    logits = fields(3, classes, (20, 24), seed=classes, scale=scale)
    labels = sw.decide(logits, metric=metric, background=background, scope=scope, prune=prune)
    likeliest = sw.decide(logits, metric="argmax", background=background)
    if scope == "batch":  # the images as one
        logits, labels, likeliest = (
            one.movedim(0, 1)[None].flatten(2) if one.dim() == 4 else one.flatten()[None]
            for one in (logits, labels, likeliest)
        )
    gain = expected(logits, labels, background, metric) - expected(logits, likeliest, background, metric)
    assert (gain >= -1e-9).all()


def test_what_a_pruned_class_may_do():
    """p of classes 1 and 2 never passes 1/2 for class 2: it keeps or loses pixels, but takes none."""
    logits = fields(2, 3, (30, 30), seed=3, scale=0.8)
    highest = logits.softmax(1).amax((0, 2, 3))
    limit = float(highest[2]) + 1e-6
    likeliest, pruned, free = (
        sw.decide(logits, metric="argmax"),
        sw.decide(logits, prune=limit),
        sw.decide(logits, prune=0.0),
    )
    assert ((pruned == 2) & (likeliest != 2)).sum() == 0
    assert ((free == 2) & (likeliest != 2)).sum() > 0
    # without a background a class is needed everywhere: where all are pruned, none is
    every = sw.decide(logits, background=None, prune=1.0)
    assert torch.equal(every, sw.decide(logits, background=None, prune=0.0))
    assert torch.equal(sw.decide(logits, prune=1.0), likeliest)


def test_ties_go_to_the_background_then_to_the_lowest_class():
    flat = torch.zeros(1, 4, 2, 3)
    assert sw.decide(flat, metric="argmax").eq(0).all()
    assert sw.decide(flat, metric="argmax", background=2).eq(2).all()
    assert sw.decide(flat, metric="argmax", background=None).eq(0).all()
    assert not sw.decide(flat[:, :2], metric="argmax", activation="sigmoid").any()  # p = 1/2
    two = torch.tensor([[[0.0], [1.0], [1.0]]])
    assert sw.decide(two, metric="argmax").tolist() == [[1]]


@pytest.mark.parametrize("metric", ["dice", "iou", "size", "argmax"])
def test_masked_pixels_count_for_nothing_and_become_background(metric):
    logits = fields(2, 3, (12, 14), seed=5)
    mask = torch.rand(2, 12, 14, generator=torch.Generator().manual_seed(0)) < 0.6
    spoiled = logits.masked_fill(~mask[:, None], float("nan"))
    labels = sw.decide(spoiled, metric=metric, mask=mask, background=1)
    assert labels[~mask].eq(1).all()
    for image in range(2):  # the kept pixels alone, as one line
        line = logits[image][:, mask[image]][None]
        assert torch.equal(labels[image][mask[image]], sw.decide(line, metric=metric, background=1)[0])
    assert sw.decide(spoiled, metric=metric, mask=mask, background=None)[~mask].eq(0).all()
    several = sw.decide(spoiled, metric=metric, mask=mask, activation="sigmoid")
    assert not several[~mask[:, None].expand_as(several)].any()


@pytest.mark.parametrize("metric", ["dice", "iou", "size"])
def test_neither_the_order_of_pixels_nor_that_of_classes_matters(metric):
    logits = fields(2, 5, (16, 18), seed=7, scale=2.0)
    labels = sw.decide(logits, metric=metric)
    pixels = torch.randperm(16 * 18, generator=torch.Generator().manual_seed(0))
    moved = sw.decide(logits.flatten(2)[..., pixels], metric=metric)
    assert torch.equal(moved, labels.flatten(1)[:, pixels])
    order = torch.tensor([3, 0, 4, 2, 1])
    renamed = sw.decide(logits[:, order], metric=metric, background=1)
    assert torch.equal(order[renamed], labels)
    assert torch.equal(sw.decide(logits + 7.0, metric=metric), labels)


@pytest.mark.parametrize("metric", ["dice", "iou", "size", "argmax"])
def test_input_of_every_kind(metric):
    logits = fields(2, 4, (10, 12), seed=9).float()
    labels = sw.decide(logits, metric=metric)
    assert (labels.shape, labels.dtype) == ((2, 10, 12), torch.int64)
    assert torch.equal(labels, sw.decide(logits, metric=metric))  # the same bits
    last = logits.movedim(1, -1).contiguous().movedim(-1, 1)
    assert torch.equal(labels, sw.decide(last, metric=metric))
    p = logits.softmax(1)
    assert (labels != sw.decide(p, metric=metric, given="probabilities")).float().mean() < 0.01  # rounding alone
    for dtype in (torch.float16, torch.bfloat16):
        assert (labels != sw.decide(logits.to(dtype), metric=metric)).float().mean() < 0.05
    assert torch.equal(labels.flatten(1), sw.decide(logits.flatten(2), metric=metric))
    assert torch.equal(labels, sw.decide(logits[:, :, None], metric=metric)[:, 0])
    assert sw.decide(logits[:0], metric=metric).shape == (0, 10, 12)
    assert sw.decide(logits[..., :0], metric=metric).shape == (2, 10, 0)
    assert sw.decide(logits[..., :1, :1], metric=metric).shape == (2, 1, 1)
    channels = sw.decide(logits, metric=metric, activation="sigmoid")
    assert (channels.shape, channels.dtype) == (logits.shape, torch.bool)
    alone = sw.decide(torch.stack((torch.zeros_like(logits[:, 2]), logits[:, 2]), 1), metric=metric)
    assert torch.equal(channels[:, 2], alone.bool())


def test_a_temperature_divides_the_logits():
    logits = fields(1, 3, (20, 20), seed=2, scale=3.0)
    assert torch.equal(sw.decide(logits, temperature=2.5), sw.decide(logits / 2.5))
    p = logits.softmax(1)
    assert torch.equal(sw.decide(p, temperature=2.5, given="probabilities"), sw.decide(logits / 2.5))
    assert not torch.equal(sw.decide(logits, temperature=2.5), sw.decide(logits))


def test_no_graph_is_built_and_none_is_needed():
    logits = fields(1, 3, (8, 8), seed=0).requires_grad_()
    assert not sw.decide(logits).requires_grad
    with torch.inference_mode():
        assert torch.equal(sw.decide(logits), sw.decide(logits.detach()))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5), st.floats(0.1, 5.0))
def test_calibrated_probabilities_gain_in_truth(seed, classes, scale):
    """Labels drawn from the probabilities: the mean of the true Dice is not below argmax's beyond the noise of it."""
    logits = fields(1, classes, (24, 24), seed=seed, scale=scale)
    p = logits.softmax(1)[0].flatten(1)
    draw = torch.Generator().manual_seed(seed)
    truths = torch.multinomial(p.T, 60, replacement=True, generator=draw).T  # 60 label maps
    gains = dice(sw.decide(logits)[0].flatten(), truths, classes) - dice(
        sw.decide(logits, metric="argmax")[0].flatten(), truths, classes
    )
    assert gains.mean() >= -3 * gains.std() / 60**0.5 - 1e-3


def dice(labels, truths, classes):
    """The mean Dice over the foreground classes of each truth, (T,)."""
    scores = []
    for k in range(1, classes):
        both = ((labels == k) & (truths == k)).sum(1)
        scores.append(2 * both / ((labels == k).sum() + (truths == k).sum(1)).clamp(min=1))
    return torch.stack(scores).mean(0)


def test_the_gain_grows_with_uncertainty():
    gains = []
    for scale in (8.0, 3.0, 1.5):
        found = []
        for seed in range(6):
            logits = fields(1, 3, (48, 48), seed=seed, scale=scale)
            p = logits.softmax(1)[0].flatten(1)
            truths = torch.multinomial(p.T, 40, replacement=True, generator=torch.Generator().manual_seed(seed)).T
            decided, likeliest = (sw.decide(logits, metric=one)[0].flatten() for one in ("dice", "argmax"))
            found.append(float((dice(decided, truths, 3) - dice(likeliest, truths, 3)).mean()))
        gains.append(sum(found) / len(found))
    assert gains[0] < gains[1] < gains[2]
    assert gains[0] > -1e-3
    assert gains[2] > 0.02


WRONG = [
    ({"metric": "dise"}, "metric must be one of 'dice', 'iou', 'size', 'argmax', got 'dise'. Did you mean 'dice'?"),
    ({"given": "probs"}, "given must be one of 'logits', 'probabilities'"),
    ({"scope": "global"}, "scope must be one of 'image', 'batch', got 'global'"),
    ({"activation": "softplus"}, "activation must be one of"),
    ({"background": 3}, "background must be a class id from 0 to 2, or None if every class is scored, got 3"),
    ({"background": True}, "background must be a class id"),
    ({"temperature": 0}, "temperature must be a number > 0, got 0"),
    ({"prune": 1.5}, "prune is a probability, so at most 1, got 1.5"),
    ({"prune": -1}, "prune must be a number >= 0"),
    ({"given": "probabilities"}, r"probabilities lie between 0 and 1, got values from .* Raw scores\?"),
    ({"mask": torch.ones(2, 5, 5)}, "mask must be bool"),
    ({"upsample": "linear", "size": 40}, r"size must hold whole numbers.*as \(512, 1024\), got 40"),
    ({"upsample": "linear", "size": (9.5, 10)}, r"size must hold whole numbers.*got \(9.5, 10\)"),
    ({"size": 40}, 'size=40 goes with upsample="linear"'),
]


@pytest.mark.parametrize(("options", "sentence"), WRONG, ids=lambda one: str(one)[:40])
def test_wrong_use_gets_a_sentence(options, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        sw.decide(3 * torch.randn(2, 3, 5, 5, generator=torch.Generator().manual_seed(0)), **options)


def test_wrong_tensors_get_a_sentence():
    with pytest.raises(TypeError, match=r"decide: logits must be a torch.Tensor, got list"):
        sw.decide([[1.0]])
    with pytest.raises(ValueError, match=r"one channel.*activation=\"sigmoid\""):
        sw.decide(torch.zeros(1, 1, 4, 4))
    with pytest.raises(TypeError, match="logits must be float16"):
        sw.decide(torch.zeros(1, 2, 4, 4, dtype=torch.int64))
    with pytest.raises(ValueError, match="at least one spatial axis"):
        sw.decide(torch.zeros(3, 2))
