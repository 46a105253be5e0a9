"""How a bias moves sizes that sum to one, checked against gradients of the losses themselves."""

import torch
from drawn_images import IGNORED, close, images, proposition, simplex, simplex_pair
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

import sizewise as sw
from sizewise import theory
from sizewise.terms.size_kl import size_kl


@proposition
@given(images())
def test_proportions_are_means_over_the_valid_pixels(drawn):
    predicted, true = theory.proportions(drawn.stats)
    for place, p, labels in drawn.problems():
        close(predicted[place], p.mean(0))
        close(true[place], [(labels == k).mean() for k in range(p.shape[1])])
    assert (predicted[~drawn.counted] == 0).all()
    assert (true[~drawn.counted] == 0).all()


@proposition
@given(simplex_pair(smallest=0.01))
def test_the_pull_is_minus_the_gradient_to_a_shared_shift_of_the_logits(pair):
    predicted, true = pair
    shift = torch.zeros_like(predicted, requires_grad=True)
    shifted = torch.softmax(predicted.log() + shift, -1)
    for value, slope in (
        (size_kl(shifted, true), theory.size_kl_slope(predicted, true)),
        (theory.dice_bias_at(shifted, true, smooth=0.1), theory.dice_bias_slope(predicted, true, smooth=0.1)),
    ):
        pull = theory.size_pull(predicted, slope)
        close(pull, -torch.autograd.grad(value.sum(), shift, retain_graph=True)[0])
        close(pull.sum(), 0.0)


@proposition
@given(simplex_pair(smallest=0.01))
def test_cross_entropy_pulls_straight_to_the_true_sizes(pair):
    predicted, true = pair
    close(theory.size_pull(predicted, theory.size_kl_slope(predicted, true)), true - predicted)


@proposition
@given(images(activation="softmax"))
def test_so_does_the_whole_cross_entropy_whatever_the_pixels_predict(drawn):
    logits, labels = drawn.tensors
    for image, target in zip(logits, labels, strict=True):
        if (target == IGNORED).all():
            continue
        shift = torch.zeros(1, len(image), 1, dtype=torch.float64, requires_grad=True)
        cross_entropy(image[None] + shift, target[None], ignore_index=IGNORED).backward()
        found = theory.decompose(sw.region_stats(image[None], target[None], ignore_index=IGNORED))
        close(found.cross_entropy_pull, -shift.grad[..., 0])


@proposition
@given(st.integers(2, 6).flatmap(lambda classes: simplex(classes, 0.01)))
def test_at_the_true_sizes_dice_pulls_towards_what_is_larger_than_average(true):
    pull = theory.size_pull(true, theory.dice_bias_slope(true, true))
    close(pull / len(true), (true - 1 / len(true)) / 2)


@proposition
@given(simplex(3, 0.01), st.integers(1, 20), st.sampled_from((0.1, 1.0)))
def test_the_pull_of_dice_is_that_of_the_loss_term(share, pixels, smooth):
    """All pixels predict alike, so one shift of the logits serves them all."""
    logits = share.log().view(1, 3, 1).requires_grad_()
    labels = (torch.arange(pixels) % 3)[None]
    stats = sw.region_stats(logits.expand(1, 3, pixels), labels, temperature=1)
    loss = sw.DiceBias(temperature=1, smooth=smooth, class_reduction="mean").from_stats(stats)
    (gradient,) = torch.autograd.grad(loss, logits)
    close(theory.decompose(stats, smooth=smooth).log_dice_pull, -gradient[..., 0])
