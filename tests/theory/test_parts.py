"""Log-Dice and cross-entropy in parts: each part against the pixels, the sums against the losses."""

from math import log

import numpy as np
import pytest
import torch
from drawn_images import IGNORED, close, four_pixels, images, mean_over_images, proposition
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

import sizewise as sw
from sizewise import theory
from sizewise.terms.dice import log_dice

SMOOTH = st.sampled_from((1e-3, 1.0, 7.0))


def test_log_dice_parts_by_hand():
    parts = theory.log_dice_parts(four_pixels(), smooth=1.0)
    close(parts.matching, [[-log(5.5 / 7), -log(2.5 / 3)]])
    close(parts.bias, [[log(6.5 / 4), log(3.5 / 4)]])
    close(parts.constant, [[-log(7 / 4), -log(3 / 4)]])
    close(parts.slope, [[4 / 6.5, 4 / 3.5]])  # 1 / (p̂ + ŷ + 1/4)
    close(parts.total, [[log(6.5 / 5.5), log(3.5 / 2.5)]])
    close(parts.foreground().total, [[log(3.5 / 2.5)]])


def test_cross_entropy_parts_by_hand():
    parts = theory.cross_entropy_parts(four_pixels())
    close(parts.matching, [[-3 / 4 * log((3 / 4) / (5 / 8)), -1 / 4 * log((3 / 4) / (3 / 8))]])
    close(parts.bias, [[3 / 4 * log((3 / 4) / (5 / 8)), 1 / 4 * log((1 / 4) / (3 / 8))]])
    close(parts.constant, [[-3 / 4 * log(3 / 4), -1 / 4 * log(1 / 4)]])
    close(parts.slope, [[-6 / 5, -2 / 3]])  # −ŷ / p̂
    close(parts.total.sum(), -log(3 / 4))


@proposition
@given(images(), SMOOTH)
def test_each_part_of_log_dice_is_its_formula_on_the_pixels(drawn, smooth):
    parts = theory.log_dice_parts(drawn.stats, smooth=smooth)
    for place, p, labels in drawn.problems():
        for k in range(p.shape[1]):
            inside = labels == k
            overlap, count, size, pixels = p[inside, k].sum(), inside.sum(), p[:, k].sum(), len(labels)
            close(parts.matching[place][k], -np.log((2 * overlap + smooth) / (2 * count + smooth)))
            close(parts.bias[place][k], np.log((size + count + smooth) / pixels))
            close(parts.constant[place][k], -np.log((2 * count + smooth) / pixels))
    close(parts.total, log_dice(drawn.stats, smooth=smooth))
    assert (parts.matching >= -1e-12).all()


@proposition
@given(images(), SMOOTH)
def test_the_mean_over_regions_and_images_is_the_log_dice_loss(drawn, smooth):
    parts = theory.log_dice_parts(drawn.stats, smooth=smooth)
    foreground = parts.foreground().total
    want = sw.LogDice(smooth=smooth, classes="foreground").from_stats(drawn.stats)
    close(mean_over_images(foreground.mean(-1), drawn.counted), want)
    everything = foreground if drawn.activation == "sigmoid" else parts.total
    want = sw.LogDice(smooth=smooth).from_stats(drawn.stats)
    close(mean_over_images(everything.mean(-1), drawn.counted), want)


@proposition
@given(images())
def test_each_part_of_cross_entropy_is_its_formula_on_the_pixels(drawn):
    parts = theory.cross_entropy_parts(drawn.stats)
    for place, p, labels in drawn.problems():
        predicted = p.mean(0)
        for k in range(p.shape[1]):
            inside = labels == k
            true = inside.mean()
            close(parts.matching[place][k], -np.log(p[inside, k] / predicted[k]).sum() / len(labels))
            close(parts.bias[place][k], true * np.log(true / predicted[k]) if true else 0.0)
            close(parts.constant[place][k], -true * np.log(true) if true else 0.0)
            close(parts.total[place][k], -np.log(p[inside, k]).sum() / len(labels))


@proposition
@given(images())
def test_conditional_entropy_divergence_and_entropy_add_up_to_the_cross_entropy_of_torch(drawn):
    parts = theory.cross_entropy_parts(drawn.stats)
    got = parts.matching.sum(-1) + parts.bias.sum(-1) + parts.constant.sum(-1)
    logits, labels = drawn.tensors
    if drawn.activation == "sigmoid":
        target, valid = labels.double(), labels != IGNORED
        wrong = binary_cross_entropy_with_logits(logits, target, reduction="none").where(valid, 0)
    else:
        wrong, valid = cross_entropy(logits, labels, ignore_index=IGNORED, reduction="none"), labels != IGNORED
    close(got, wrong.sum(-1) / valid.sum(-1).clamp(min=1))
    assert (parts.bias.sum(-1) >= -1e-12).all(), "a divergence is not negative"
    assert (parts.constant >= 0).all()


@proposition
@given(images(activation="softmax", ignore=False))
def test_what_the_conditional_entropy_is_at_its_ends(drawn):
    labels = torch.tensor(drawn.labels)
    alike = torch.tensor(drawn.logits)[..., :1].expand(drawn.logits.shape)
    parts = theory.cross_entropy_parts(sw.region_stats(alike, labels))
    close(parts.matching, torch.zeros_like(parts.matching))  # every pixel predicts alike: nothing is matched
    certain = torch.nn.functional.one_hot(labels, alike.shape[1]).movedim(-1, 1) * 1e3
    parts = theory.cross_entropy_parts(sw.region_stats(certain.double(), labels))
    close(parts.matching, -parts.constant)  # every pixel is right: H(F|K) = −H(ŷ)
    close(parts.bias, torch.zeros_like(parts.bias))


@proposition
@given(images(), SMOOTH)
def test_the_parts_keep_the_graph_and_have_the_gradient_of_the_losses(drawn, smooth):
    logits, labels = drawn.tensors
    logits.requires_grad_()
    stats = sw.region_stats(logits, labels, ignore_index=IGNORED, activation=drawn.activation)
    for got, want in (
        (theory.cross_entropy_parts(stats).total.sum(), (stats.nll.sum(-1) / stats.pixels.clamp(min=1)).sum()),
        (theory.log_dice_parts(stats, smooth=smooth).total.sum(), log_dice(stats, smooth=smooth).sum()),
    ):
        (gradient,) = torch.autograd.grad(got, logits, retain_graph=True)
        close(gradient, torch.autograd.grad(want, logits, retain_graph=True)[0])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_absent_classes_and_absent_predictions_are_finite(dtype, activation):
    logits = torch.tensor([[[1e4] * 4, [-1e4] * 4, [0.0] * 4]], dtype=dtype)
    labels = torch.tensor([[1, 1, 0, 1]])
    if activation == "sigmoid":
        labels = torch.stack((1 - labels, labels, labels), 1)
    stats = sw.region_stats(logits, labels, activation=activation)
    ce, dice_parts = theory.cross_entropy_parts(stats), theory.log_dice_parts(stats)
    for part in (ce.matching, ce.bias, ce.constant, ce.slope, dice_parts.total, theory.dice_matching(stats)):
        assert part.isfinite().all()
    close(ce.total, stats.nll / 4, 1e-6)
    if activation == "softmax":  # class 2 is absent, class 1 is never predicted
        assert all(float(part[0, 2]) == 0 for part in (ce.matching, ce.bias, ce.constant, ce.slope))
        floor = log(torch.finfo(stats.sums.dtype).tiny)
        close(ce.bias[0, 1], 0.75 * (log(0.75) - floor), 1e-6)
        close(dice_parts.matching[0, 1:], [log(7), 0.0], 1e-6)


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_an_image_without_a_valid_pixel_has_zeros(activation):
    logits = torch.randn(1, 3, 5, requires_grad=True)
    labels = torch.full((1, 3, 5) if activation == "sigmoid" else (1, 5), IGNORED)
    stats = sw.region_stats(logits, labels, ignore_index=IGNORED, activation=activation)
    for parts in (theory.cross_entropy_parts(stats), theory.log_dice_parts(stats, smooth=0.5)):
        for part in (parts.matching, parts.bias, parts.constant, parts.slope, parts.total):
            assert (part == 0).all()
        (gradient,) = torch.autograd.grad(parts.total.sum(), logits, retain_graph=True)
        assert (gradient == 0).all()
    assert (theory.dice_matching(stats) == 0).all()


def test_the_smoothing_must_be_positive():
    with pytest.raises(ValueError, match="log_dice_parts: smooth must be a number > 0, got 0"):
        theory.log_dice_parts(four_pixels(), smooth=0)
