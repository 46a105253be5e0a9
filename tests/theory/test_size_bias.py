"""The biases over the simplex: where they are smallest, and how steep they are near an empty region."""

from math import inf, log

import pytest
import torch
from drawn_images import close, images, proposition, simplex_pair
from hypothesis import given
from hypothesis import strategies as st

from sizewise import theory
from sizewise.terms.size_kl import size_kl
from sizewise.terms.size_l1 import size_l1

SMOOTH = st.sampled_from((1e-4, 0.01, 0.5))


def bias(predicted, true, smooth):
    return theory.dice_bias_at(predicted, true, smooth=smooth).sum(-1)


def test_the_dice_bias_by_hand():
    predicted, true = torch.tensor([0.5, 0.5], dtype=torch.float64), torch.tensor([0.75, 0.25], dtype=torch.float64)
    close(theory.dice_bias_at(predicted, true), [log(1.25), log(0.75)])
    close(theory.dice_bias_at(predicted, true, smooth=0.25), [log(1.5), log(1.0)])
    close(theory.dice_bias_slope(predicted, true, smooth=0.25), [1 / 1.5, 1.0])


@proposition
@given(images(), st.sampled_from((0.5, 1.0)))
def test_the_bias_of_proportions_is_the_bias_of_the_sums(drawn, smooth):
    parts, (predicted, true) = theory.log_dice_parts(drawn.stats, smooth=smooth), theory.proportions(drawn.stats)
    for place, _, labels in drawn.problems():
        share = smooth / len(labels)
        close(theory.dice_bias_at(predicted[place], true[place], smooth=share), parts.bias[place])
        close(theory.dice_bias_slope(predicted[place], true[place], smooth=share), parts.slope[place])


@proposition
@given(simplex_pair(), SMOOTH)
def test_with_smoothing_the_dice_bias_is_smallest_where_the_largest_region_takes_all(pair, smooth):
    predicted, true = pair
    vertex = theory.dice_bias_minimiser(true)
    assert vertex.dtype == true.dtype
    assert float(vertex.sum()) == 1
    assert true[vertex == 1] == true.max()
    assert bias(vertex, true, smooth) <= bias(predicted, true, smooth) + 1e-12


@proposition
@given(simplex_pair(smallest=0.02))
def test_without_smoothing_it_needs_every_class(pair):
    predicted, true = pair
    assert bias(theory.dice_bias_minimiser(true), true, 0.0) <= bias(predicted, true, 0.0) + 1e-12
    absent = torch.cat((true, true.new_zeros(1)))  # an absent class takes the bias to −inf, at the truth already
    assert float(bias(absent, absent, 0.0)) == -inf


@proposition
@given(simplex_pair(), SMOOTH)
def test_how_much_more_the_other_vertices_cost(pair, smooth):
    true = pair[1]
    vertices = torch.eye(len(true), dtype=true.dtype)
    best = bias(theory.dice_bias_minimiser(true), true, smooth)
    more = torch.log1p(1 / (true + smooth)) - torch.log1p(1 / (true.max() + smooth))
    close(bias(vertices, true, smooth) - best, more)
    assert (more >= 0).all()
    assert (more[true < true.max() - 1e-9] > 0).all()


def test_of_several_largest_regions_each_is_a_minimiser():
    true = torch.tensor([[0.2, 0.4, 0.4], [1 / 3, 1 / 3, 1 / 3]], dtype=torch.float64)
    vertices = theory.dice_bias_minimiser(true)
    assert vertices.tolist() == [[0, 1, 0], [1, 0, 0]]
    close(bias(vertices[0], true[0], 0.1), bias(torch.tensor([0.0, 0.0, 1.0]), true[0], 0.1))


@proposition
@given(simplex_pair(), SMOOTH, st.floats(0, 1))
def test_the_dice_bias_is_concave(pair, smooth, weight):
    predicted, true = pair
    between = weight * predicted + (1 - weight) * true
    chord = weight * bias(predicted, true, smooth) + (1 - weight) * bias(true, true, smooth)
    assert bias(between, true, smooth) >= chord - 1e-12


@proposition
@given(simplex_pair(), SMOOTH)
def test_the_bias_of_the_foreground_alone_is_smallest_where_it_is_empty(pair, smooth):
    predicted, true = pair
    foreground = theory.dice_bias_at(predicted, true, smooth=smooth)[1:]
    empty = theory.dice_bias_at(torch.zeros_like(predicted), true, smooth=smooth)[1:]
    assert (empty <= foreground).all()
    assert (theory.dice_bias_slope(predicted, true, smooth=smooth)[1:] > 0).all()


@proposition
@given(simplex_pair())
def test_size_penalties_are_zero_at_the_target_and_positive_elsewhere(pair):
    predicted, target = pair
    l1, kl = size_l1(predicted, target).sum(), size_kl(predicted, target).sum()
    assert float(size_l1(target, target).sum()) == 0
    close(size_kl(target, target), torch.zeros_like(target))
    assert l1 >= 0
    assert kl >= l1**2 / 2 - 1e-12, "Pinsker: the divergence is positive wherever the distance is"


@proposition
@given(simplex_pair(smallest=0.01), SMOOTH)
def test_the_slopes_are_the_derivatives(pair, smooth):
    predicted, target = pair[0].requires_grad_(), pair[1]
    for value, slope in (
        (size_l1(predicted, target), theory.size_l1_slope(predicted, target)),
        (size_kl(predicted, target), theory.size_kl_slope(predicted, target)),
        (
            theory.dice_bias_at(predicted, target, smooth=smooth),
            theory.dice_bias_slope(predicted, target, smooth=smooth),
        ),
    ):
        close(slope, torch.autograd.grad(value.sum(), predicted)[0])


@proposition
@given(st.floats(1e-300, 1e-3), st.floats(0.01, 0.99))
def test_towards_an_empty_region_kl_grows_steep_and_l1_does_not(share, target):
    predicted, target = torch.tensor([share], dtype=torch.float64), torch.tensor([target], dtype=torch.float64)
    assert float(theory.size_l1_slope(predicted, target)) == -1
    slope = theory.size_kl_slope(predicted, target)
    close((slope - 1) * predicted, -target)  # so it doubles whenever the share halves, but for the 1
    assert slope <= 1 - target / 1e-3
    assert theory.dice_bias_slope(predicted, target) <= 1 / target  # bounded, and of the other sign


def test_an_empty_region_has_a_finite_slope_of_kl():
    empty, target = torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.5, 0.5, 0.0])
    slope = theory.size_kl_slope(empty, target)
    assert slope.isfinite().all()
    assert slope[1] < -1e37
    assert float(slope[2]) == 1  # neither aimed at nor drawn: as steep as for every class without a target


def test_a_negative_smoothing_is_an_error():
    for function in (theory.dice_bias_at, theory.dice_bias_slope):
        with pytest.raises(ValueError, match="smooth must be a number >= 0, got -1"):
            function(torch.ones(2), torch.ones(2), smooth=-1)
