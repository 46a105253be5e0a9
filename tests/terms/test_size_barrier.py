import math

import pytest
from four_pixels import near, sigmoid_value, value

import sizewise as sw


def test_size_barrier_by_hand():
    # p̂ = (0.7, 0.3), t = 5, so the logarithm holds up to −1/25 = −0.04.
    # Class 0 in (0, 1): −log(0.3)/5 − log(0.7)/5. Class 1 in (0, 0.31): 0.3 − 0.31 = −0.01 lies beyond, so
    # 5 · −0.01 − log(1/25)/5 + 1/5, and −log(0.3)/5 from below.
    beyond = -0.05 + math.log(25) / 5 + 0.2
    wanted = -math.log(0.3) / 5 - math.log(0.7) / 5 + beyond - math.log(0.3) / 5
    assert value(sw.SizeBarrier([0.0, 0.0], [1.0, 0.31], temperature=2)) == near(wanted)
    # As one sigmoid channel the background is bounded by (0.69, 1) in return, so it lies as far beyond.
    wanted = 2 * (beyond - math.log(0.3) / 5)
    assert sigmoid_value(sw.SizeBarrier(0.0, 0.31, temperature=2)) == near(wanted)


def test_the_two_pieces_meet():
    # at −1/t² = −0.04: −log(0.04)/5 on both sides
    for upper, side in ((0.34 + 1e-9, "log"), (0.34 - 1e-9, "tangent")):
        both = value(sw.SizeBarrier(0.0, [1.0, upper], temperature=2, classes=[1]))
        assert both + math.log(0.3) / 5 == pytest.approx(-math.log(0.04) / 5, abs=1e-7), side


def test_steepness_must_be_positive():
    with pytest.raises(ValueError, match=r"SizeBarrier: t must be a number > 0, got 0"):
        sw.SizeBarrier(t=0)
