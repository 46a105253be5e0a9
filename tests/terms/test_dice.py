import math

import pytest
import torch
from four_pixels import LOGITS, near, sigmoid_value, value

import sizewise as sw


def test_dice_by_hand():
    # 1 − (2 · 9/4 + 1) / (5/2 + 3 + 1) = 1 − 5.5/6.5 = 2/13, and 1 − (2 · 3/4 + 1) / (3/2 + 1 + 1) = 1 − 2.5/3.5 = 2/7
    assert value(sw.Dice()) == near((2 / 13 + 2 / 7) / 2)
    assert value(sw.Dice(class_reduction="sum")) == near(2 / 13 + 2 / 7)
    assert value(sw.Dice(classes="foreground")) == value(sw.Dice(classes=[1])) == near(2 / 7)
    assert value(sw.Dice(class_weight=[1.0, 3.0])) == near((2 / 13 + 3 * 2 / 7) / 4)
    assert sigmoid_value(sw.Dice()) == near(2 / 7)
    # ε = 0.5: 1 − 5/6 and 1 − 2/3
    assert value(sw.Dice(smooth=0.5)) == near((1 / 6 + 1 / 3) / 2)


def test_log_dice_by_hand():
    # log(6.5 / 5.5) and log(3.5 / 2.5), from the sums above
    assert value(sw.LogDice()) == near((math.log(6.5 / 5.5) + math.log(3.5 / 2.5)) / 2)
    assert sigmoid_value(sw.LogDice()) == near(math.log(3.5 / 2.5))


def test_absent_classes_by_hand():
    # All four pixels of class 0, p_0 = 3/4: class 0 has I = P = 3, T = 4: 1 − 7/8; class 1 is absent, I = T = 0 and
    # P = 1: 1 − 1/2. Skipped, it leaves class 0 alone.
    logits, target = LOGITS[:, :, :1].expand(-1, -1, 4), torch.zeros(1, 4, dtype=torch.long)
    assert sw.Dice()(logits, target).item() == near((1 / 8 + 1 / 2) / 2)
    assert sw.Dice(absent="skip")(logits, target).item() == near(1 / 8)
    assert sw.Dice(absent="skip", classes="foreground")(logits, target).item() == 0
    # A second image with class 1 everywhere: I = P = 1, T = 4, 1 − 3/6, is the only one that counts then.
    both, targets = logits.expand(2, -1, -1), torch.cat((target, target + 1))
    assert sw.Dice(absent="skip", classes="foreground")(both, targets).item() == near(1 / 2)


def test_batch_scope_by_hand():
    # Those two images at once: class 0 has I = 3, P = 6, T = 4: 1 − 7/11; class 1 has I = 1, P = 2, T = 4: 1 − 3/7
    logits = LOGITS[:, :, :1].expand(2, -1, 4)
    target = torch.tensor([[0] * 4, [1] * 4])
    assert sw.Dice(scope="batch")(logits, target).item() == near((4 / 11 + 4 / 7) / 2)


@pytest.mark.parametrize("term", [sw.Dice, sw.LogDice, sw.Jaccard, sw.Tversky, sw.GeneralizedDice, sw.DiceBias])
def test_smooth_must_be_positive(term):
    with pytest.raises(ValueError, match=rf"{term.__name__}: smooth must be a number > 0, got 0"):
        term(smooth=0)
