from four_pixels import near, sigmoid_value, value

import sizewise as sw


def test_jaccard_by_hand():
    # 1 − 3.25 / (2.5 + 3 − 2.25 + 1) = 1/4.25 and 1 − 1.75 / (1.5 + 1 − 0.75 + 1) = 1/2.75
    assert value(sw.Jaccard()) == near((1 / 4.25 + 1 / 2.75) / 2)
    assert sigmoid_value(sw.Jaccard()) == near(1 / 2.75)


def test_jaccard_is_tversky_with_both_weights_one():
    assert value(sw.Jaccard(smooth=0.3)) == near(value(sw.Tversky(alpha=1, beta=1, smooth=0.3)))
