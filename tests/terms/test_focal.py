import math

import pytest
from four_pixels import near, sigmoid_value, value

import sizewise as sw


@pytest.mark.parametrize(("gamma", "factor"), [(0, 1), (0.5, 1 / 2), (1, 1 / 4), (2, 1 / 16)])
def test_focal_by_hand(gamma, factor):
    # (1 − 3/4)^γ · −log(3/4) at every pixel
    assert value(sw.Focal(gamma=gamma)) == sigmoid_value(sw.Focal(gamma=gamma)) == near(factor * math.log(4 / 3))


def test_gamma_must_not_be_negative():
    with pytest.raises(ValueError, match=r"Focal: gamma must be a number >= 0, got -1"):
        sw.Focal(gamma=-1)
    with pytest.raises(TypeError, match=r"Focal: gamma must be a number >= 0, got str '2'"):
        sw.Focal(gamma="2")
