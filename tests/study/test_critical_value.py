"""The critical value: by hand, and its coverage by numerical integration over what normal seeds can show."""

import numpy as np
import pytest
from scipy import stats

from sizewise.study.statistics.components import seed_degrees
from sizewise.study.statistics.critical_value import combined_t


def errors(level, seeds, units=10_000, degrees=None):
    """Share of wrong intervals over a grid of true spreads, for known mean squares of units and noise.

    In units of the units' mean square: the noise is ``noise``, the seeds' mean square is its true value times
    χ²_ν / ν, ν = S − 1 unless it is moderated, and the mean is normal with the true variance.
    """
    found = []
    degrees = degrees or seeds - 1
    chi = stats.chi2.ppf((np.arange(2000) + 0.5) / 2000, degrees) / degrees
    of_seeds, of_units = stats.t.isf(level / 2, [degrees, units - 1])
    for noise in (0.1, 0.3, 0.5, 0.8, 1.0):
        for true in noise * np.geomspace(1, 2000, 15):
            seen = true * chi
            half = combined_t(seen / (seen + 1 - noise), of_seeds, of_units) * np.sqrt(seen + 1 - noise)
            found.append(2 * stats.norm.sf(half / np.sqrt(true + 1 - noise)).mean())
    return np.array(found)


def test_power_means_by_hand():
    """Exponents: 2 − 6 / 6 = 1, so the mean; 2 − 6 / 4 = 1/2, so the square of the mean root; 2 nearly; 0."""
    assert combined_t(np.array(0.5), np.sqrt(6), 1.0) == pytest.approx((np.sqrt(6) + 1) / 2)
    assert combined_t(np.array(0.25), 2.0, 1.0) == pytest.approx((0.25 * np.sqrt(2) + 0.75) ** 2)
    assert combined_t(np.array(0.5), 1e4, 1.0) == pytest.approx(np.sqrt((1e8 + 1) / 2), rel=1e-3)
    assert combined_t(np.array(0.5), np.sqrt(3), 1.0) == pytest.approx(3**0.25, rel=1e-4)  # exponent 0: geometric


def test_the_ends_are_the_two_values_and_the_roles_can_be_exchanged():
    assert combined_t(np.array([0.0, 1.0]), 12.7, 2.0) == pytest.approx([2.0, 12.7])
    assert combined_t(np.array([0.0, 0.4, 1.0]), 2.1, 2.1) == pytest.approx([2.1, 2.1, 2.1])
    assert combined_t(np.array(0.3), 4.3, 2.0) == pytest.approx(combined_t(np.array(0.7), 2.0, 4.3))


@pytest.mark.parametrize("seeds", [3, 4, 5, 10, 30])
def test_95_percent_intervals_cover_94_to_97_percent_whatever_the_seeds_do(seeds):
    wrong = errors(0.05, seeds)
    assert wrong.max() < 0.0525
    assert wrong.min() > 0.0295


def test_two_seeds_are_not_too_sure():
    wrong = errors(0.05, 2)
    assert wrong.max() < 0.0525
    assert wrong.min() > 0.012


@pytest.mark.parametrize(("seeds", "arms"), [(2, 4), (3, 3), (3, 4), (3, 9), (5, 4)])
def test_moderated_degrees_cover_as_well(seeds, arms):
    """Whole or not, between 2 and 8: 3 seeds of 9 losses have 4 · 2 · 8 / 11 = 5.8."""
    wrong = errors(0.05, seeds, degrees=seed_degrees(seeds, arms))
    assert wrong.max() < 0.0525
    assert wrong.min() > 0.0295


@pytest.mark.parametrize("seeds", [2, 3, 5, 10])
@pytest.mark.parametrize("comparisons", [3, 10, 50])
def test_corrected_levels_hold(seeds, comparisons):
    level = 0.05 / comparisons
    assert errors(level, seeds).max() < 1.1 * level
