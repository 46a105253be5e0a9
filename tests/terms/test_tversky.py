import pytest
from four_pixels import near, sigmoid_value, value

import sizewise as sw


def test_tversky_by_hand():
    # α = 0.3 on P − I = (1/4, 3/4), β = 0.7 on T − I = (3/4, 1/4):
    # 1 − 3.25 / (2.25 + 0.075 + 0.525 + 1) = 1 − 3.25/3.85 and 1 − 1.75 / (0.75 + 0.225 + 0.175 + 1) = 1 − 1.75/2.15
    term = sw.Tversky(alpha=0.3, beta=0.7)
    assert value(term) == near((0.6 / 3.85 + 0.4 / 2.15) / 2)
    assert sigmoid_value(term) == near(0.4 / 2.15)


def test_half_and_half_is_dice_with_half_the_smoothing():
    # (I + ε) / ((P + T)/2 + ε) = (2I + 2ε) / (P + T + 2ε)
    assert value(sw.Tversky(smooth=0.5)) == near(value(sw.Dice(smooth=1.0)))


def test_weights_must_not_be_negative():
    with pytest.raises(ValueError, match=r"Tversky: alpha must be a number >= 0, got -0.1"):
        sw.Tversky(alpha=-0.1)
    with pytest.raises(ValueError, match=r"Tversky: beta must be a number >= 0, got nan"):
        sw.Tversky(beta=float("nan"))
