"""Intervals: components by hand, symmetries, agreement with t where that is exact, and their level in small simulations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sizewise.study.statistics.components import Components, components, mean_squares
from sizewise.study.statistics.interval import interval, resample
from sizewise.study.statistics.plan import plan, power


def drawn(rng, *shape, seed=1.0, unit=2.0, noise=3.0, mean=0.0):
    *lead, seeds, units = shape
    parts = seed * rng.standard_normal((*lead, seeds, 1)), unit * rng.standard_normal((*lead, 1, units))
    return mean + parts[0] + parts[1] + noise * rng.standard_normal(shape)


def test_mean_squares_by_hand():
    """Rows 1 2 3 and 3 4 8: mean 3.5; rows' means 2, 5; columns' 2, 3, 5.5; residuals ±0.5, ±0.5, ∓1."""
    squares = mean_squares(np.array([[1.0, 2.0, 3.0], [3.0, 4.0, 8.0]]))
    assert squares.mean == 3.5
    assert squares.seed == pytest.approx(3 * (1.5**2 + 1.5**2) / 1)
    assert squares.unit == pytest.approx(2 * (1.5**2 + 0.5**2 + 2**2) / 2)
    assert squares.noise == pytest.approx(2 * (0.5**2 + 0.5**2 + 1**2) / 2)


def test_components_are_found_in_a_large_study():
    parts = components(mean_squares(drawn(np.random.default_rng(0), 400, 1000)))
    assert parts.seed == pytest.approx(1, rel=0.2)
    assert parts.unit == pytest.approx(4, rel=0.2)
    assert parts.noise == pytest.approx(9, rel=0.02)


def test_the_seed_component_is_too_low_as_often_as_too_high():
    rng = np.random.default_rng(1)
    found = [components(mean_squares(drawn(rng, 3, 200, seed=2.0, noise=0.5))).seed for _ in range(1000)]
    assert np.mean(np.array(found) < 4) == pytest.approx(0.5, abs=0.05)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(2, 40))
def test_order_of_cases_and_seeds_does_not_matter_and_the_sign_only_turns_it_round(seed, seeds, units):
    rng = np.random.default_rng(seed)
    differences = rng.standard_normal((seeds, units)) ** 3
    one = interval(differences)
    mixed = interval(differences[rng.permutation(seeds)][:, rng.permutation(units)])
    assert np.allclose(one, mixed, rtol=1e-9, atol=1e-12)
    turned = interval(-differences)
    assert turned.estimate == -one.estimate
    assert (turned.low, turned.high) == (pytest.approx(-one.high), pytest.approx(-one.low))
    assert turned.p_value == one.p_value


def test_p_value_and_interval_agree():
    found = interval(drawn(np.random.default_rng(2), 300, 3, 30, mean=1.5))
    excludes = (found.low > 0) | (found.high < 0)
    clear = np.abs(found.p_value - 0.05) > 0.002  # at the edge the quantile interpolates
    assert np.array_equal(excludes[clear], (found.p_value < 0.05)[clear])
    assert 0.2 < excludes.mean() < 0.98


def test_where_only_cases_vary_it_is_the_t_interval_of_the_cases():
    by_case = np.random.default_rng(3).standard_normal(200)
    found = interval(np.stack([by_case] * 3))
    half = stats.t.ppf(0.975, 199) * by_case.std(ddof=1) / np.sqrt(200)
    assert (found.low, found.high) == (
        pytest.approx(by_case.mean() - half, abs=0.1 * half),
        pytest.approx(by_case.mean() + half, abs=0.1 * half),
    )


def test_where_only_seeds_vary_it_is_the_t_interval_of_the_seeds():
    by_seed = np.array([0.3, 1.1, 0.4])
    found = interval(np.repeat(by_seed[:, None], 50, axis=1), replicates=2**15)
    half = stats.t.ppf(0.975, 2) * by_seed.std(ddof=1) / np.sqrt(3)  # 4.30 · 0.436 / 1.73
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.02)


def test_one_seed_resamples_cases_alone_and_constants_are_not_luck():
    draws = resample(np.array([[0.0, 1.0] * 20]))
    assert draws.std() == pytest.approx(0.5 / np.sqrt(39), rel=0.1)
    same = interval(np.zeros((3, 20)))
    assert (same.low, same.high, same.p_value) == (0, 0, 1)
    constant = interval(np.full((3, 20), 0.25))
    assert (constant.low, constant.high) == (0.25, 0.25)
    assert constant.p_value < 0.001


def test_many_cases_are_resampled_in_pieces_with_the_same_spread():
    differences = np.random.default_rng(4).standard_normal((3, 5000))
    found = interval(differences)
    assert found.high - found.low == pytest.approx(2 * 1.96 / np.sqrt(3 * 5000), rel=0.6)
    assert np.array_equal(interval(differences), found)


@pytest.mark.parametrize(("seeds", "seed"), [(3, 0.2), (3, 3.0), (5, 1.0)])
def test_level_in_small(seeds, seed):
    """300 studies without a difference: at 5 % plus three standard errors at most 8.8 % may claim one."""
    found = interval(drawn(np.random.default_rng(5), 300, seeds, 40, seed=seed), replicates=4096)
    assert np.mean(found.p_value < 0.05) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
    assert np.mean((found.low <= 0) & (found.high >= 0)) > 0.91


def test_power_is_the_share_of_studies_that_show_the_difference():
    parts = Components(seed=1.0, unit=4.0, noise=9.0)
    for seeds in (4, 10):
        found = interval(drawn(np.random.default_rng(6), 800, seeds, 50, mean=1.5), replicates=4096)
        share = np.mean((found.p_value < 0.05) & (found.estimate > 0))
        assert power(parts, 1.5, seeds=seeds, units=50) == pytest.approx(share, abs=0.07)


def test_plan_reaches_its_power_and_knows_the_limit():
    parts = Components(seed=1.0, unit=4.0, noise=9.0)
    needed = plan(parts, difference=1.5, seeds=3, units=50)
    assert power(parts, 1.5, seeds=needed.seeds, units=50) >= 0.8 > power(parts, 1.5, seeds=needed.seeds - 1, units=50)
    assert plan(parts, difference=-1.5, seeds=3, units=50).seeds == needed.seeds
    assert plan(parts, difference=1.5, seeds=3, units=50, comparisons=3).seeds > needed.seeds
    # with endless seeds the standard error is √(4 / 50) = 0.28, and 80 % power needs 2.8 of them: 0.79
    assert plan(parts, difference=0.7, seeds=3, units=50).seeds is None
    # without a seed effect cases settle it: √((4 + 9/3) / G) = 0.7 / 2.8 at G = 112 if that were known; three seeds
    # cannot know it, so more are needed
    few = plan(Components(0.0, 4.0, 9.0), difference=0.7, seeds=3, units=50).units
    assert 112 < few < 300
    found = interval(drawn(np.random.default_rng(7), 300, 3, few, seed=0.0, mean=0.7), replicates=4096)
    assert np.mean(found.p_value < 0.05) == pytest.approx(0.8, abs=0.08)
    assert plan(parts, difference=0.0, seeds=3, units=50) == plan(parts, difference=0.0, seeds=9, units=9)
