"""Losses under torch.func: first derivatives are right, in any nesting, and what there is not is said in our words."""

import pytest
import torch
from torch.autograd import forward_ad
from torch.func import functional_call, grad, hessian, jacrev, jvp, vmap

import sizewise as sw

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, of its forward mode

LOGITS = torch.randn(4, 3, 6, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
TARGET = torch.randint(0, 3, (4, 6, 5), generator=torch.Generator().manual_seed(1))
MASK = torch.rand(4, 6, 5, generator=torch.Generator().manual_seed(2)) > 0.3


def by_autograd(criterion, logits, *rest):
    leaf = logits.clone().requires_grad_()
    return torch.autograd.grad(criterion(leaf, *rest), leaf)[0]


@pytest.mark.parametrize("name", ["RCE", "LogDiceFL"])
def test_grad_and_jacrev_give_autograds_gradient(name):
    criterion = sw.loss(name)
    wanted = by_autograd(criterion, LOGITS, TARGET, MASK)
    torch.testing.assert_close(grad(criterion)(LOGITS, TARGET, MASK), wanted)
    torch.testing.assert_close(jacrev(criterion)(LOGITS, TARGET, MASK), wanted)


def test_gradients_of_each_sample():
    """vmap(grad), as differential privacy and influence functions take it; target and mask may be shared."""
    criterion = sw.loss("RCE")

    def loss(logits, target, mask):
        return criterion(logits[None], target[None], mask[None])

    each = vmap(grad(loss))(LOGITS, TARGET, MASK)
    for sample in range(4):
        one = slice(sample, sample + 1)
        torch.testing.assert_close(each[one], by_autograd(criterion, LOGITS[one], TARGET[one], MASK[one]))
    shared = vmap(grad(loss), in_dims=(0, None, None))(LOGITS, TARGET[0], MASK[0])
    torch.testing.assert_close(shared[1:2], by_autograd(criterion, LOGITS[1:2], TARGET[:1], MASK[:1]))


def test_parameters_of_a_network():
    network, criterion = torch.nn.Conv2d(2, 3, 1).double(), sw.loss("DiceCE")
    images = torch.randn(4, 2, 6, 5, dtype=torch.float64)

    def loss(parameters, image, target):
        return criterion(functional_call(network, parameters, (image[None],)), target[None])

    parameters = {name: one.detach() for name, one in network.named_parameters()}
    each = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, images, TARGET)
    network.zero_grad()
    criterion(network(images[2:3]), TARGET[2:3]).backward()
    torch.testing.assert_close(each["weight"][2], network.weight.grad)


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_region_stats_under_vmap(activation):
    target = TARGET if activation == "softmax" else (LOGITS > 0.2).long()
    apart = vmap(lambda z, y: sw.region_stats(z[None], y[None], activation=activation).sums)(LOGITS, target)
    together = sw.region_stats(LOGITS, target, activation=activation).sums
    torch.testing.assert_close(apart.squeeze(2).movedim(0, 1), together)


def test_forward_mode_is_refused_instead_of_zero():
    criterion = sw.loss("RCE")
    tangent = torch.ones_like(LOGITS)
    with pytest.raises(RuntimeError, match=r"sizewise: losses have a reverse-mode derivative, and a forward-mode one"):
        jvp(lambda logits: criterion(logits, TARGET), (LOGITS,), (tangent,))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(LOGITS, tangent)
        for call in (lambda: criterion(dual, TARGET), lambda: sw.region_stats(dual, TARGET)):
            with pytest.raises(RuntimeError, match="forward-mode one"):
                call()
        assert torch.isfinite(criterion(LOGITS, TARGET))  # nothing is asked of these


def test_a_second_derivative_is_refused():
    with pytest.raises(RuntimeError, match=r"first derivative only|forward-mode one"):
        hessian(lambda logits: sw.loss("RCE")(logits, TARGET))(LOGITS)
    with pytest.raises(RuntimeError, match="first derivative only"):
        grad(lambda logits: grad(sw.loss("RCE"))(logits, TARGET).sum())(LOGITS)
