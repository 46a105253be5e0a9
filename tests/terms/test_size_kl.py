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


def test_a_choice_of_classes_aims_at_the_true_sizes():
    """True sizes .75/.14/.11, the foreground alone: smallest where p̂ = t, not where the foreground takes it all."""
    target = torch.tensor([0] * 75 + [1] * 14 + [2] * 11)[None]
    truth = torch.tensor([0.75, 0.14, 0.11])
    for options in ({"classes": "foreground"}, {"classes": [1]}, {"class_weight": [1.0, 5.0, 2.0]}):
        term = sw.SizeKL(temperature=1, **options)

        def at(shares, term=term):
            logits = torch.tensor(shares).log().view(1, 3, 1).expand(1, 3, 100).clone().requires_grad_()
            loss = term(logits, target)
            return loss.item(), torch.autograd.grad(loss, logits)[0].abs().max().item()

        value, slope = at(truth.tolist())
        assert abs(value) < 1e-6
        assert slope < 1e-6
        for other in ([0.0001, 0.55, 0.4499], [0.8, 0.1, 0.1], [0.6, 0.2, 0.2], [0.74, 0.13, 0.13]):
            assert at(other)[0] > 1e-5
