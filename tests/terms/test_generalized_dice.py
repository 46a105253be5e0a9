import torch
from four_pixels import LOGITS, near, sigmoid_value, value

import sizewise as sw


def test_generalized_dice_by_hand():
    # w = ((1/3)², 1): 1 − (2 (9/4/9 + 3/4) + 1) / ((5/2 + 3)/9 + (3/2 + 1) + 1) = 1 − 3 / (37/9) = 10/37
    assert value(sw.GeneralizedDice()) == sigmoid_value(sw.GeneralizedDice()) == near(10 / 37)
    # class_weight (9, 1) undoes that: 1 − (2 · 3 + 1) / (5.5 + 2.5 + 1) = 2/9
    assert value(sw.GeneralizedDice(class_weight=[9.0, 1.0])) == near(2 / 9)
    # the foreground alone has w = 1: 1 − 2.5/3.5
    assert value(sw.GeneralizedDice(classes="foreground")) == near(2 / 7)


def test_an_absent_class_weighs_one_by_hand():
    # Four pixels of class 0, p_0 = 3/4: 1 − (2 (3 + 0) + 1) / ((3 + 4) + (1 + 0) + 1) = 2/9; skipped: 1 − 7/8
    logits, target = LOGITS[:, :, :1].expand(-1, -1, 4), torch.zeros(1, 4, dtype=torch.long)
    assert sw.GeneralizedDice()(logits, target).item() == near(2 / 9)
    assert sw.GeneralizedDice(absent="skip")(logits, target).item() == near(1 / 8)
