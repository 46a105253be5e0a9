import math

from four_pixels import near, sigmoid_value, value

import sizewise as sw


def test_dice_bias_by_hand():
    # τ = 1: the mean of log((5/2 + 3 + 1) / 4) and log((3/2 + 1 + 1) / 4)
    assert value(sw.DiceBias(temperature=1)) == near((math.log(6.5 / 4) + math.log(3.5 / 4)) / 2)
    # τ = 2: sizes (2.8, 1.2)
    assert value(sw.DiceBias(temperature=2)) == near(math.log(6.8 * 3.2 / 16) / 2)
    assert value(sw.DiceBias(temperature=2, class_reduction="sum")) == near(math.log(6.8 / 4) + math.log(3.2 / 4))
    assert sigmoid_value(sw.DiceBias(temperature=2)) == near(math.log(3.2 / 4))
