"""Thresholds of one class: D/2 is the best for Dice, argmax never draws more, and at one size all agree."""

from itertools import product

import numpy as np
import pytest
import torch
from drawn_images import close, proposition
from hypothesis import given
from hypothesis import strategies as st

import sizewise as sw
from sizewise import theory

BATCH = 50  # images at once: each proposition sees 3,000


@st.composite
def images(draw, most=10):
    """(BATCH, M) probabilities; rounded ones make ties, and values of exactly 0, 1/2 and 1."""
    pixels, seed = draw(st.integers(1, most)), draw(st.integers(0, 2**32 - 1))
    p = np.random.default_rng(seed).random((BATCH, pixels)) ** draw(st.sampled_from((0.3, 1, 2, 5)))
    steps = draw(st.sampled_from((0, 1, 2, 4, 6)))
    return torch.from_numpy(np.round(p * steps) / steps if steps else p)


def every_region(pixels):
    """(2^M, 1, M)"""
    return torch.tensor(list(product((False, True), repeat=pixels))).unsqueeze(1)


def prefixes(p, sizes):
    """The most probable pixels of each image, so many."""
    ranks = p.argsort(dim=-1, descending=True, stable=True).argsort(-1)
    return ranks < sizes.unsqueeze(-1)


def test_by_hand():
    p = torch.tensor([0.9, 0.45, 0.4, 0.1], dtype=torch.float64)  # G = 1.85
    # F of the prefixes: 1.8 / 2.85, 2.7 / 3.85, 3.5 / 4.85, 3.7 / 5.85; the third is the largest
    close(theory.dice_threshold(p), 1.75 / 4.85)
    close(theory.expected_dice(p, p > 0.425), 2.7 / 3.85)
    close(theory.expected_accuracy(p, p > 0.425), (0.9 + 0.45 + 0.6 + 0.9) / 4)
    close(theory.size_threshold(p), 0.425)


@proposition
@given(images(7))
def test_no_region_at_all_has_a_larger_expected_dice_than_that_of_half_its_dice(p):
    t = theory.dice_threshold(p)
    best = theory.expected_dice(p, every_region(p.shape[-1])).amax(0)
    close(2 * t, best, 1e-12)
    close(theory.expected_dice(p, p > t[:, None]), best, 1e-12)
    close(theory.expected_dice(p, p >= t[:, None]), best, 1e-12)  # a pixel of exactly D/2 makes no difference


@proposition
@given(images(30))
def test_argmax_never_draws_a_larger_region_than_the_best_one_for_dice(p):
    t = theory.dice_threshold(p)
    assert (t <= 0.5 + 1e-15).all()  # 1/2 at most, but for the rounding of a sum
    argmax, dice = p > 0.5, p > t.clamp(max=0.5)[:, None]
    assert not (argmax & ~dice).any()  # contained, so never larger
    assert (theory.expected_dice(p, argmax) <= theory.expected_dice(p, dice) + 1e-12).all()
    assert (theory.expected_accuracy(p, dice) <= theory.expected_accuracy(p, argmax) + 1e-12).all()


@proposition
@given(images(7), st.booleans())
def test_at_one_size_the_best_region_for_accuracy_is_the_best_for_dice(p, expected):
    """At the expected size, rounded, and at every other."""
    pixels, regions = p.shape[-1], every_region(p.shape[-1])
    sizes = p.sum(-1).round() if expected else torch.arange(BATCH) % (pixels + 1)
    allowed = regions.sum(-1) == sizes  # (2^M, BATCH)
    dice, accuracy = theory.expected_dice(p, regions), theory.expected_accuracy(p, regions)
    best = prefixes(p, sizes)
    close(dice.where(allowed, -1).amax(0), theory.expected_dice(p, best), 1e-12)
    close(accuracy.where(allowed, -1).amax(0), theory.expected_accuracy(p, best), 1e-12)
    # one is a rising linear function of the other: accuracy = 1 + (F (V + G) − V − G) / |Ω|
    total = regions.sum(-1) + p.sum(-1)
    close(accuracy, 1 + (dice * total - total) / pixels, 1e-12)


@proposition
@given(images(30))
def test_over_the_threshold_the_expected_dice_rises_to_half_of_it_and_falls(p):
    t = theory.dice_threshold(p)[:, None]
    thresholds = torch.cat((torch.zeros(BATCH, 1), p.sort(-1).values, torch.ones(BATCH, 1)), -1)
    values = theory.expected_dice(p[:, None], p[:, None] > thresholds[..., None])
    steps = values.diff(dim=-1)
    assert (steps[thresholds[:, 1:] <= t] >= -1e-12).all()
    assert (steps[thresholds[:, :-1] >= t] <= 1e-12).all()


@proposition
@given(images(30))
def test_the_size_threshold_keeps_the_expected_size(p):
    t, expected = theory.size_threshold(p)[:, None], p.sum(-1)
    assert ((p > t).sum(-1) <= expected + 0.5 + 1e-9).all()
    assert ((p >= t).sum(-1) >= expected - 0.5 - 1e-9).all()


@proposition
@given(images(30))
def test_decide_finds_these_regions_without_sorting(p):
    both = torch.stack((1 - p, p), 1)
    for metric in ("dice", "iou"):
        region = sw.decide(both, metric=metric, given="probabilities", prune=0.0) == 1
        close(theory.expected_dice(p, region), 2 * theory.dice_threshold(p), 1e-9)
    sizes = (sw.decide(both, metric="size", given="probabilities") == 1).sum(-1)
    without_ties = (p.sort(-1).values.diff(dim=-1) > 1e-9).all(-1) & (p.amin(-1) > 1e-6) & (p.amax(-1) < 1 - 1e-6)
    assert ((sizes - p.sum(-1)).abs() <= 1 + 1e-6)[without_ties].all()


def test_iou_is_a_rising_function_of_dice():
    """So that the best region is the same: I / (V + G − I) = F / (2 − F)."""
    p, regions = torch.rand(6, generator=torch.Generator().manual_seed(0), dtype=torch.float64), every_region(6)[:, 0]
    inside = (p * regions).sum(-1)
    iou = inside / (regions.sum(-1) + p.sum() - inside)
    dice = theory.expected_dice(p, regions)
    close(iou, dice / (2 - dice))


def test_batches_and_edges():
    p = torch.rand(3, 2, 9, generator=torch.Generator().manual_seed(0))
    found = theory.dice_threshold(p)
    assert found.shape == (3, 2)
    close(found[1, 1], theory.dice_threshold(p[1, 1]))
    assert theory.size_threshold(p).shape == (3, 2)
    nothing = torch.zeros(4)
    assert float(theory.dice_threshold(nothing)) == 0
    assert float(theory.expected_dice(nothing, nothing > 0)) == 0
    assert float(theory.size_threshold(torch.ones(3))) == 0.5
    with pytest.raises(ValueError, match="p lies between 0 and 1, got values from -1 to 2"):
        theory.dice_threshold(torch.tensor([-1.0, 2.0]))
    with pytest.raises(ValueError, match=r"at least one pixel on its last axis, got float32 of shape \(0,\)"):
        theory.expected_accuracy(torch.zeros(0), torch.zeros(0).bool())
