import random

import pytest
import torch

from sizewise.train.config import RunConfig
from sizewise.train.schedule import Schedule


def schedule(**settings):
    return Schedule(RunConfig(data="synthetic", **settings))


@pytest.mark.parametrize("patience", [0, 1, 5])
def test_plateau_counts_as_torch_does(patience):
    ours = schedule(schedule="plateau", learning_rate=0.4, patience=patience)
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.4)
    peer = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=patience, threshold=0, eps=0)
    draw = random.Random(patience)
    for epoch in range(1, 60):
        loss = draw.choice([1.0, 0.9, 0.8, 0.5]) + 1 / epoch
        ours.after_validation(loss)
        peer.step(loss)
        assert ours.rates(epoch=epoch + 1, steps=1) == [optimizer.param_groups[0]["lr"]]
    assert ours.factor < 1


def test_a_plateau_of_five_halves_at_the_sixth():
    one = schedule(schedule="plateau", learning_rate=1.0, patience=5)
    for _ in range(6):  # the first sets the lowest loss, five wait
        one.after_validation(1.0)
    assert one.factor == 1
    one.after_validation(1.0)
    assert one.factor == 0.5


def test_plateau_goes_on_after_a_resume():
    whole, second = (schedule(schedule="plateau", patience=1, learning_rate=1.0) for _ in range(2))
    for loss in (1.0, 1.1):
        whole.after_validation(loss)
    second.restore(whole.state())
    for one in (whole, second):
        one.after_validation(1.2)
    assert whole.factor == second.factor == 0.5


def test_poly_by_epoch():
    one = schedule(schedule="poly", learning_rate=1.0, epochs=4, power=2.0)
    assert [one.rates(epoch=epoch, steps=2) for epoch in (1, 2, 4)] == [[1.0, 1.0], [0.5625, 0.5625], [0.0625, 0.0625]]


def test_poly_by_step_ends_at_the_minimum():
    one = schedule(schedule="poly-step", learning_rate=1.0, minimum_learning_rate=0.2, epochs=2, power=1.0)
    rates = [rate for epoch in (1, 2) for rate in one.rates(epoch=epoch, steps=4)]
    assert rates == pytest.approx([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3])  # the next would be 0.2
