import pytest
import torch
from four_pixels import LOGITS, TARGET, near, value

import sizewise as sw

TERMS = [getattr(sw, name) for name in sw.terms.__all__]


@pytest.mark.parametrize("term", TERMS)
def test_wrong_words_and_classes_are_named(term):
    name = term.__name__
    with pytest.raises(ValueError, match=rf"{name}: scope must be one of 'image', 'batch', 'global', got 'imag'. Did"):
        term(scope="imag")
    with pytest.raises(ValueError, match=rf"{name}: classes must be one of 'all', 'foreground', got 'forground'. Did"):
        term(classes="forground")
    with pytest.raises(ValueError, match=rf"{name}: classes must be distinct ids >= 0, at least one, got \[1, 1\]"):
        term(classes=[1, 1])
    with pytest.raises(ValueError, match=rf"{name}: classes must be distinct ids >= 0, at least one, got \[\]"):
        term(classes=[])
    with pytest.raises(TypeError, match=rf'{name}: classes must be "all", "foreground" or a list of class ids, got 1'):
        term(classes=1)
    with pytest.raises(ValueError, match=rf"{name}: classes has the id 5, but there are 2 classes"):
        term(classes=[5])(LOGITS, TARGET)
    with pytest.raises(ValueError, match=rf"{name}: every entry of class_weight must be finite and >= 0, got \[-1.0"):
        term(class_weight=[-1.0, 1.0])
    with pytest.raises(
        ValueError, match=rf"{name}: class_weight must have shape \(2,\), one weight per class, got \(3"
    ):
        term(class_weight=[1.0, 1.0, 1.0])(LOGITS, TARGET)
    with pytest.raises(ValueError, match=rf"{name}: class_weight must have shape \(K,\), \(2,\) or \(C, 2\), got \(\)"):
        term(class_weight=1.0)
    if "absent" in term.option_names():
        with pytest.raises(ValueError, match=rf"{name}: absent must be one of 'include', 'skip', got 'ignore'"):
            term(absent="ignore")
    if "class_reduction" in term.option_names():
        with pytest.raises(ValueError, match=rf"{name}: class_reduction must be one of 'sum', 'mean', got 'none'"):
            term(class_reduction="none")


@pytest.mark.parametrize("term", TERMS)
def test_weights_of_zero_leave_no_nan(term):
    logits = LOGITS.clone().requires_grad_()
    loss = term(class_weight=[0.0, 0.0])(logits, TARGET)
    loss.backward()
    assert torch.isfinite(loss)
    assert logits.grad.abs().max() == 0


def test_selection_leaves_the_softmax_alone_and_order_has_no_meaning():
    # Dice of classes 0 and 1 is 2/13 and 2/7, see test_dice
    assert value(sw.Dice(classes=[0])) == near(2 / 13)
    assert value(sw.Dice(classes=[1, 0])) == value(sw.Dice(classes=(0, 1))) == near((2 / 13 + 2 / 7) / 2)


def test_sigmoid_channels_are_averaged_and_selected():
    # Channel 0 is right with p = 3/4 everywhere: Dice 2/7. Channel 1 has p = 1/2 and no foreground: 1 − 1/(2 + 0 + 1).
    logits = torch.stack((LOGITS[:, 1] - LOGITS[:, 0], torch.zeros(1, 4, dtype=torch.float64)), 1)
    target = torch.stack((TARGET, torch.zeros_like(TARGET)), 1)

    def of(term):
        return sw.Loss(term, activation="sigmoid")(logits, target).item()

    assert of(sw.Dice()) == of(sw.Dice(classes="foreground")) == near((2 / 7 + 2 / 3) / 2)
    assert of(sw.Dice(classes=[1])) == near(2 / 3)
    # An absent foreground leaves channel 1 without a class: its value is 0, and it still is one of two channels.
    assert of(sw.Dice(absent="skip")) == near(2 / 7 / 2)
    # (C, 2) weighs the channels by their foreground's; (2,) gives each the same, so it has no effect
    weights = [[5.0, 3.0], [5.0, 1.0]]
    for reduction in ("mean", "sum"):
        assert of(sw.Dice(class_reduction=reduction, class_weight=[5.0, 3.0])) == near((2 / 7 + 2 / 3) / 2)
        assert of(sw.Dice(class_reduction=reduction, class_weight=weights)) == near((3 * 2 / 7 + 2 / 3) / 4)
    assert of(sw.Dice(class_weight=weights, classes=[1])) == near(2 / 3)
    assert of(sw.Dice(class_weight=[[1.0, 0.0], [1.0, 0.0]])) == 0
    for term in (sw.LogDice, sw.Tversky, sw.Jaccard, sw.DiceBias):
        first, second = (of(term(classes=[channel])) for channel in (0, 1))
        assert of(term(class_weight=[[1.0, 100.0], [1.0, 1.0]])) == near((100 * first + second) / 101)
