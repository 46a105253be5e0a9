"""λ over training: values by hand, and who sees them."""

import pytest
import torch

import sizewise as sw

LOGITS = torch.randn(1, 3, 4, 5, generator=torch.Generator().manual_seed(0))
TARGET = torch.randint(0, 3, (1, 4, 5), generator=torch.Generator().manual_seed(1))


def weights_at(schedule, shares):
    found = []
    for share in shares:
        schedule.at(share)
        found.append([round(float(one), 6) for one in schedule.criterion.weights])
    return found


def test_the_three_shapes():
    # λ₀ = 0.5; ramp from 0.2 to 0.6: (0.3 − 0.2) / 0.4 = 1/4; the first term keeps its weight
    ramp = sw.WeightSchedule.ramp(sw.loss("RCE", weight=0.5), 0.2, 0.6)
    assert weights_at(ramp, [0, 0.2, 0.3, 0.6, 1]) == [[1, 0], [1, 0], [1, 0.125], [1, 0.5], [1, 0.5]]
    step = sw.WeightSchedule.step(sw.loss("JaccardCE"), 0.5)
    assert weights_at(step, [0, 0.49, 0.5, 1]) == [[0.25, 0], [0.25, 0], [0.25, 0.75], [0.25, 0.75]]
    constant = sw.WeightSchedule.constant(sw.loss("DiceCE"))
    assert weights_at(constant, [0, 1]) == [[1, 0.1], [1, 0.1]]


def test_any_function_and_every_term_but_the_first():
    criterion = sw.Loss(sw.CrossEntropy() + 2 * sw.SizeL1() + 4 * sw.Dice())
    assert weights_at(sw.WeightSchedule(criterion, lambda share: share**2), [0.5]) == [[1, 0.5, 1]]


def test_the_loss_follows():
    criterion = sw.loss("RCE")
    schedule = sw.WeightSchedule.ramp(criterion, 0, 1)
    for share in (0, 0.25, 1):
        schedule.at(share)
        terms = criterion.terms(LOGITS, TARGET)
        wanted = terms["CrossEntropy"] + share * terms["SizeL1"]
        torch.testing.assert_close(criterion(LOGITS, TARGET), wanted)
        torch.testing.assert_close(criterion.total(terms), wanted)


def test_a_factor_is_a_function():
    with pytest.raises(TypeError, match="factor must be a function of the share of training done, got int"):
        sw.WeightSchedule(sw.loss("RCE"), 3)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: sw.WeightSchedule.ramp(sw.loss("CE"), 0, 1), "must have a second term"),
        (lambda: sw.WeightSchedule.ramp(sw.Dice(), 0, 1), "must have a second term"),
        (lambda: sw.WeightSchedule.ramp(sw.loss("RCE"), 0.5, 0.5), "0 <= start < end <= 1, got 0.5 and 0.5"),
        (lambda: sw.WeightSchedule.ramp(sw.loss("RCE"), 0.5, 1.5), "0 <= start < end <= 1, got 0.5 and 1.5"),
        (lambda: sw.WeightSchedule.ramp(sw.loss("RCE"), -0.1, 0.5), "start must be a number >= 0, got -0.1"),
        (lambda: sw.WeightSchedule.constant(sw.loss("RCE")).at(-1), "share must be a number >= 0, got -1"),
    ],
)
def test_the_sentences(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
