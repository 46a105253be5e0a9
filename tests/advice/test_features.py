"""Seven numbers by hand, and the distance between data sets."""

import math

import numpy as np
import pytest
from advice.made_evidence import features

from sizewise.advice.features import distances, features_of
from sizewise.advice.region_table import RegionTable


def test_features_by_hand():
    """Class 1: shares 0.1 and 0.4, logs apart by log 4, so their std is log 2; class 2: 0.01 once."""
    table = RegionTable(
        np.array([[0.1, 0.0], [0.4, 0.01]]),
        3,
        np.array([[1, 0], [3, 2]]),
        (np.array([100, 10, 10, 10]), np.array([4, 4])),
    )
    found = features_of(table)
    assert found.share == pytest.approx(math.sqrt(0.2 * 0.01), rel=1e-5)  # the mean of the logs of 0.2 and 0.01
    assert found.spread == pytest.approx(math.log(2) / 2)
    assert found.absent == 1 / 4
    assert found.components == 2.0  # 1, 3 and 2
    assert found.smallest_px == pytest.approx(math.sqrt(10 * 4))
    assert (found.classes, found.spatial_dims) == (2, 3)


def test_a_class_that_nobody_has_is_in_no_mean():
    found = features_of(RegionTable(np.array([[0.1, 0.0], [0.1, 0.0]])))
    assert (found.share, found.spread, found.absent) == (0.1, 0.0, 0.5)
    assert found.components is None
    assert found.smallest_px is None


def test_distance_is_in_standard_deviations_and_unknown_features_are_left_out():
    """Two sets whose logarithms are 2 apart: their standard deviation is 1; one feature of seven differs."""
    near, far = features(0.1), features(0.001)
    assert distances(near, [near, far]) == pytest.approx([0.0, 2 / math.sqrt(7)])
    unknown = features(0.1, components=None, smallest_px=None)
    assert distances(unknown, [near, far]) == pytest.approx([0.0, 2 / math.sqrt(5)])
    assert distances(near, [near]) == [0.0]


def test_what_all_sets_have_alike_counts_by_the_least_deviation():
    """Shares are a factor of 10 ** 0.1 from those of both sets, half of the least standard deviation."""
    sets = [features(0.1), features(0.1)]
    assert distances(features(0.1 * 10**0.1), sets) == pytest.approx([0.5 / math.sqrt(7)] * 2)


def test_volumes_and_pictures_are_compared_by_diameter():
    flat, deep = features(smallest_px=100.0), features(smallest_px=1000.0, spatial_dims=3)  # 10 pixels across
    assert distances(deep, [flat])[0] == pytest.approx((1 / 0.5) / math.sqrt(7))  # the dimensions alone differ
