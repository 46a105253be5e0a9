"""Intervals: components by hand, symmetries, agreement with t where that is exact, and their level in small simulations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sizewise.study.statistics.components import Components, components, mean_squares
from sizewise.study.statistics.critical_value import combined_t
from sizewise.study.statistics.interval import interval
from sizewise.study.statistics.sample_size import groups_needed, power, sample_size, seeds_needed


def drawn(rng, *shape, seed=1.0, unit=2.0, noise=3.0, mean=0.0):
    *lead, seeds, units = shape
    parts = seed * rng.standard_normal((*lead, seeds, 1)), unit * rng.standard_normal((*lead, 1, units))
    return mean + parts[0] + parts[1] + noise * rng.standard_normal(shape)


def test_mean_squares_by_hand():
    """Rows 1 2 3 and 3 4 8: mean 3.5; rows' means 2, 5; columns' 2, 3, 5.5; residuals ±0.5, ±0.5, ∓1."""
    squares = mean_squares(np.array([[1.0, 2.0, 3.0], [3.0, 4.0, 8.0]]))
    assert squares.mean == 3.5
    assert squares.seed == pytest.approx(3 * (1.5**2 + 1.5**2) / 1)
    assert squares.group == pytest.approx(2 * (1.5**2 + 0.5**2 + 2**2) / 2)
    assert squares.noise == pytest.approx(2 * (0.5**2 + 0.5**2 + 1**2) / 2)


def test_components_are_found_in_a_large_study():
    parts = components(mean_squares(drawn(np.random.default_rng(0), 400, 1000)))
    assert parts.seed == pytest.approx(1, rel=0.2)
    assert parts.group == pytest.approx(4, rel=0.2)
    assert parts.noise == pytest.approx(9, rel=0.02)


def test_the_seed_component_is_too_low_as_often_as_too_high():
    rng = np.random.default_rng(1)
    found = [components(mean_squares(drawn(rng, 3, 200, seed=2.0, noise=0.5))).seed for _ in range(1000)]
    assert np.mean(np.array(found) < 4) == pytest.approx(0.5, abs=0.05)


def test_the_quartiles_of_the_seed_component_by_hand():
    """With 3 seeds χ²_2 / 2 is exponential, with quantiles −ln(1 − q).

    Rows' means 2, 5, 5 around 4: the seeds' mean square is 3 · (4 + 1 + 1) / 2 = 9. Residuals 2, 2, −4 and twice
    −1, −1, 2, in thirds: that of the noise is (24 + 12) / 9 / 4 = 1.
    """
    squares = mean_squares(np.array([[1.0, 2.0, 3.0], [3.0, 4.0, 8.0], [3.0, 4.0, 8.0]]))
    for luck in (0.25, 0.5, 0.75):
        assert components(squares, luck=luck).seed == pytest.approx((9 / -np.log(1 - luck) - 1) / 3)


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


def test_few_cases_know_their_own_spread_only_roughly():
    """12 cases: t_11 is 2.20 where the normal distribution has 1.96."""
    by_case = stats.norm.ppf((np.arange(12) + 0.5) / 12)
    for seeds in (1, 4):
        found = interval(np.stack([by_case] * seeds), replicates=2**15)
        assert (found.high - found.low) / 2 == pytest.approx(2.20 * by_case.std(ddof=1) / np.sqrt(12), rel=0.04)


def test_where_only_seeds_vary_it_is_the_t_interval_of_the_seeds():
    by_seed = np.array([0.3, 1.1, 0.4])
    found = interval(np.repeat(by_seed[:, None], 50, axis=1), replicates=2**15)
    half = stats.t.ppf(0.975, 2) * by_seed.std(ddof=1) / np.sqrt(3)  # 4.30 · 0.436 / 1.73
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.02)


def test_where_units_add_nothing_to_the_noise_it_is_the_t_test_of_the_seeds_means():
    """The noise has no mean over seeds or over units, so that all units have the same mean."""
    by_seed = np.array([0.3, 1.1, 0.4])
    noise = np.tile([[1.0, -1.0, 0.0], [-1.0, 0.0, 1.0], [0.0, 1.0, -1.0]], (1, 10))
    found = interval(by_seed[:, None] + noise, replicates=2**15)
    half = stats.t.ppf(0.975, 2) * by_seed.std(ddof=1) / np.sqrt(3)
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.02)
    assert found.p_value == pytest.approx(stats.ttest_1samp(by_seed, 0).pvalue, rel=0.02)


def test_the_noise_is_counted_once():
    """Mostly noise: of 30 seeds and 100 units, so that all critical values are near 2 (2.045 and 1.984)."""
    differences = drawn(np.random.default_rng(8), 30, 100, seed=0.3, unit=0.5, noise=5.0)
    squares = mean_squares(differences)
    found = interval(differences, replicates=2**15)
    half = 2.01 * np.sqrt((squares.seed + squares.group - squares.noise) / (30 * 100))
    assert squares.noise > 0.6 * squares.group  # else this could not see it
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.03)


def test_one_seed_resamples_cases_alone_and_constants_are_not_luck():
    found = interval(np.array([[0.0, 1.0] * 20]))
    half = 2.023 * 0.5 / np.sqrt(39)  # t of 39 degrees; the draws are multiples of 1/40
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.05)
    same = interval(np.zeros((3, 20)))
    assert (same.low, same.high, same.p_value) == (0, 0, 1)
    constant = interval(np.full((3, 20), 0.25))
    assert (constant.low, constant.high) == (0.25, 0.25)
    assert constant.p_value < 0.001


def test_many_cases_are_resampled_in_pieces_with_the_same_result(monkeypatch):
    """5,000 cases: the weights are drawn in pieces. The pieces are one stream, and the spread is that of the formula."""
    from sizewise.study.statistics import interval as module

    differences = drawn(np.random.default_rng(4), 3, 5000, seed=0.02, unit=2.0, noise=1.0)
    found = interval(differences)
    assert module._CHUNK < 5000 * 8192 // 2  # else there is one piece
    monkeypatch.setattr(module, "_CHUNK", 10**9)
    assert np.array_equal(interval(differences), found)
    squares = mean_squares(differences)
    total = squares.seed + max(0.0, squares.group - squares.noise)
    critical = combined_t(squares.seed / total, *stats.t.ppf(0.975, [2, 4999]))
    assert found.high - found.low == pytest.approx(2 * critical * np.sqrt(total / (3 * 5000)), rel=0.03)


@pytest.mark.parametrize(("seeds", "seed"), [(3, 0.2), (3, 3.0), (5, 1.0)])
def test_level_in_small(seeds, seed):
    """300 studies without a difference: at 5 % plus three standard errors at most 8.8 % may claim one."""
    found = interval(drawn(np.random.default_rng(5), 300, seeds, 40, seed=seed), replicates=4096)
    assert np.mean(found.p_value < 0.05) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
    assert np.mean((found.low <= 0) & (found.high >= 0)) > 0.91


@pytest.mark.parametrize("seeds", [2, 3])
def test_corrected_levels_hold_with_few_seeds(seeds):
    """Far out in the tail too few degrees of freedom would show most: 1,000 studies at 5 % / 10."""
    found = interval(drawn(np.random.default_rng(9), 1000, seeds, 20, seed=3.0), replicates=4096)
    assert np.mean(found.p_value < 0.005) <= 0.005 + 3 * np.sqrt(0.005 * 0.995 / 1000)


@pytest.mark.parametrize(
    ("seeds", "difference", "level"), [(4, 1.5, 0.05), (10, 1.5, 0.05), (3, 5.0, 0.005), (2, 5.0, 0.05)]
)
def test_power_is_the_share_of_studies_that_show_the_difference(seeds, difference, level):
    parts = Components(seed=1.0, group=4.0, noise=9.0)
    found = interval(drawn(np.random.default_rng(6), 800, seeds, 50, mean=difference))
    share = np.mean((found.p_value < level) & (found.estimate > 0))
    assert 0.2 < share < 0.95
    assert power(parts, difference, seeds=seeds, groups=50, level=level) == pytest.approx(share, abs=0.05)


def test_power_by_hand_with_noise_alone():
    """100 seeds, 50 units: the standard error is 3 / √5000, three of them less t_99 = 1.984 leave Φ(1.016)."""
    found = power(Components(0.0, 0.0, 9.0), 9 / np.sqrt(5000), seeds=100, groups=50)
    assert found == pytest.approx(stats.norm.cdf(1.016), abs=0.01)
    assert power(Components(0.0, 0.0, 0.0), 0.1, seeds=3, groups=50) == 1


def test_what_is_needed_reaches_its_power_and_knows_the_limit():
    parts = Components(seed=1.0, group=4.0, noise=9.0)
    needed = seeds_needed(parts, 1.5, groups=50)
    assert power(parts, 1.5, seeds=needed, groups=50) >= 0.8 > power(parts, 1.5, seeds=needed - 1, groups=50)
    assert seeds_needed(parts, -1.5, groups=50) == needed
    assert seeds_needed(parts, 1.5, groups=50, level=0.05 / 3) > needed
    # with endless seeds the standard error is √(4 / 50) = 0.28, and 80 % power needs 2.8 of them: 0.79
    assert seeds_needed(parts, 0.7, groups=50) is None
    # without a seed effect cases settle it: √((4 + 9/3) / G) = 0.7 / 2.8 at G = 112 if that were known; three seeds
    # cannot know it, so more are needed
    few = groups_needed(Components(0.0, 4.0, 9.0), 0.7, seeds=3)
    assert 112 < few < 300
    found = interval(drawn(np.random.default_rng(7), 300, 3, few, seed=0.0, mean=0.7), replicates=4096)
    assert np.mean(found.p_value < 0.05) == pytest.approx(0.8, abs=0.08)


def test_a_plan_has_a_range_for_the_seeds_and_none_for_one_seed():
    squares = mean_squares(drawn(np.random.default_rng(10), 3, 50, seed=0.0) + np.array([[0.0], [3.0], [7.0]]))
    found = sample_size(squares, difference=4.0, comparisons=3)
    by_luck = [
        seeds_needed(components(squares, luck=luck), 4.0, groups=50, level=0.05 / 3) for luck in (0.5, 0.75, 0.25)
    ]
    assert [found.seeds, found.fewest_seeds, found.most_seeds] == by_luck
    assert found.fewest_seeds < found.seeds < found.most_seeds
    assert found.groups == groups_needed(components(squares), 4.0, seeds=3, level=0.05 / 3)
    nothing = (None, None, None, None)
    single = mean_squares(drawn(np.random.default_rng(11), 1, 50))
    for none in (
        sample_size(single, difference=2.0),
        sample_size(squares, difference=0.0),
        sample_size(squares, difference=np.inf),
    ):
        assert (none.seeds, none.fewest_seeds, none.most_seeds, none.groups) == nothing


def test_where_neither_seeds_nor_groups_would_do_alone_a_plan_has_both():
    squares = mean_squares(drawn(np.random.default_rng(10), 3, 10, seed=0.0) + np.array([[0.0], [3.0], [7.0]]))
    found = sample_size(squares, difference=1.5)
    assert (found.seeds, found.groups) == (None, None)
    parts = components(squares)
    assert power(parts, 1.5, seeds=3 * found.times, groups=10 * found.times) >= 0.8
    assert power(parts, 1.5, seeds=3 * (found.times - 1), groups=10 * (found.times - 1)) < 0.8
    assert sample_size(squares, difference=1e-3).times is None
    assert sample_size(squares, difference=20.0).times is None  # one of them alone would do
