"""What the checks on a GPU share: one step of a criterion, by its kernels and by single operations."""

import torch

from sizewise.stats.kernels import label_errors


def step(criterion, logits, target):
    loss = criterion(logits, target)
    return loss.detach(), torch.autograd.grad(loss, logits)[0]


def plain(criterion, logits, target, scale=1.0):
    """Loss and gradient from the operator and the formula as single operations."""
    leaf = logits.clone().requires_grad_()
    loss = criterion.from_stats(criterion.stats(leaf, target))
    loss.backward(torch.tensor(scale, device="cuda"))
    return loss.detach(), leaf.grad


def fast(criterion, logits, target, scale=1.0):
    """The same in one node."""
    leaf = logits.clone().requires_grad_()
    loss = criterion(leaf, target)
    loss.backward(torch.tensor(scale, device="cuda"))
    return loss.detach(), leaf.grad


def close(results, others):
    for got, wanted in zip(results, others, strict=True):
        assert (got - wanted).norm() <= 2e-6 * wanted.norm(), float((got - wanted).norm() / wanted.norm())


def batches(shape=(4, 5, 64, 64), count=4):
    torch.manual_seed(0)
    labels = (shape[0], *shape[2:])
    return [(torch.randn(shape).cuda(), torch.randint(0, shape[1], labels).cuda()) for _ in range(count)]


def fused(criterion) -> int:
    """How many forms of input have kernels."""
    return sum(one is not None for plans in criterion.snapshot().plans for one in plans.values())


def expect_error(text: str, run=label_errors.check, kind=ValueError) -> None:
    message = "no error was raised"
    try:
        run()
    except kind as error:
        message = str(error)
    assert text in message, message
