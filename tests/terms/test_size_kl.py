import math

import torch
from four_pixels import LOGITS, near, sigmoid_value, value

import sizewise as sw


def test_size_kl_by_hand():
    wanted = 0.75 * math.log(0.75 / 0.7) + 0.25 * math.log(0.25 / 0.3)
    assert value(sw.SizeKL(temperature=2)) == sigmoid_value(sw.SizeKL(temperature=2)) == near(wanted)
    # prior (0.9, 0.1)
    wanted = 0.9 * math.log(0.9 / 0.7) + 0.1 * math.log(0.1 / 0.3)
    assert value(sw.SizeKL(temperature=2, target=[0.9, 0.1])) == near(wanted)


def test_an_absent_class_costs_nothing_itself():
    # t = (1, 0): 1 · log(1 / 0.7), and 0 log 0 = 0
    target = torch.zeros(1, 4, dtype=torch.long)
    assert sw.SizeKL(temperature=2)(LOGITS, target).item() == near(math.log(1 / 0.7))


def test_a_vanished_class_meets_the_smallest_normal_number():
    # p̂_1 underflows to 0 and t_1 = 1/4: 0.75 log 0.75 + 0.25 (log 0.25 − log tiny)
    logits = torch.tensor([[[1e4], [-1e4]]]).expand(-1, -1, 4)
    target = torch.tensor([[0, 0, 0, 1]])
    for dtype in (torch.float32, torch.float64):
        wanted = 0.75 * math.log(0.75) + 0.25 * (math.log(0.25) - math.log(torch.finfo(dtype).tiny))
        got = sw.SizeKL()(logits.to(dtype), target).item()
        assert abs(got - wanted) < 1e-5
