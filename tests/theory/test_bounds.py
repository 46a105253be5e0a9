"""The inequalities: Dice's matching under the balanced cross-entropy, and Dice under log-Dice."""

from math import log

import numpy as np
import torch
from drawn_images import close, four_pixels, images, mean_over_images, proposition
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

import sizewise as sw
from sizewise import theory
from sizewise.terms.cross_entropy import balanced_cross_entropy
from sizewise.terms.dice import dice, log_dice

SMOOTH = st.sampled_from((1e-3, 1.0, 7.0))


@proposition
@given(images())
def test_the_matching_of_dice_is_at_most_the_balanced_cross_entropy(drawn):
    matching = theory.dice_matching(drawn.stats)
    for place, p, labels in drawn.problems():
        want = [-np.log(p[labels == k, k].mean()) if (labels == k).any() else 0.0 for k in range(p.shape[1])]
        close(matching[place], want)
    assert (matching <= balanced_cross_entropy(drawn.stats) + 1e-12).all()
    per_image = mean_over_images(matching.sum(-1), drawn.counted)
    assert per_image <= sw.BalancedCrossEntropy().from_stats(drawn.stats) + 1e-12


@proposition
@given(images(activation="softmax", ignore=False))
def test_soft_labels_keep_the_bound_and_the_sums(drawn):
    logits = torch.tensor(drawn.logits)
    target = logits.flip(1).softmax(1)
    stats = sw.region_stats(logits, target)
    assert (theory.dice_matching(stats) <= balanced_cross_entropy(stats) + 1e-12).all()
    close(theory.cross_entropy_parts(stats).total.sum(-1), cross_entropy(logits, target, reduction="none").mean(-1))
    close(theory.log_dice_parts(stats).total, log_dice(stats, smooth=1.0))


def test_the_bound_is_reached_where_a_region_is_predicted_alike():
    stats = four_pixels()
    close(theory.dice_matching(stats), [[-log(3 / 4), -log(3 / 4)]])
    close(theory.dice_matching(stats), balanced_cross_entropy(stats))


def test_the_matching_of_dice_is_not_bounded_by_the_pixel_mean():
    stats = four_pixels()
    matching, pixel_mean = theory.dice_matching(stats).sum(), sw.CrossEntropy().from_stats(stats)
    close(matching, 2 * log(4 / 3))
    close(pixel_mean, log(4 / 3))
    assert matching > pixel_mean
    # One missed pixel of a hundred: the pixel-mean hardly sees it, DF does. p = e⁻⁶ / (1 + e⁻⁶) there.
    logits = torch.zeros(1, 2, 100, dtype=torch.float64)
    logits[:, 0] = 6
    labels = torch.zeros(1, 100, dtype=torch.long)
    labels[0, 0] = 1
    stats = sw.region_stats(logits, labels)
    assert theory.dice_matching(stats).sum() > 6 > 50 * sw.CrossEntropy().from_stats(stats)


def test_an_overlap_that_underflows_keeps_the_bound():
    stats = sw.region_stats(torch.tensor([[[1e4, 1e4], [-1e4, -1e4]]]), torch.tensor([[1, 1]]))
    matching = theory.dice_matching(stats)
    close(matching[0, 1], log(2) - log(torch.finfo(torch.float32).tiny), 1e-6)
    assert (matching <= balanced_cross_entropy(stats)).all()


@proposition
@given(images(), SMOOTH)
def test_log_dice_bounds_dice_from_above(drawn, smooth):
    linear, logarithmic = dice(drawn.stats, smooth=smooth), log_dice(drawn.stats, smooth=smooth)
    assert (logarithmic >= linear - 1e-12).all()
    close(logarithmic, -torch.log1p(-linear))
    options = {"smooth": smooth, "absent": "skip"}
    assert sw.LogDice(**options).from_stats(drawn.stats) >= sw.Dice(**options).from_stats(drawn.stats) - 1e-12
