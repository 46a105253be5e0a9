"""Whoever takes a step takes the same node: single values, deep supervision, tiles, terms of a user's own."""

import torch
from gpu.steps import batches, close, fast, fused, plain

import sizewise as sw


def everyone() -> None:
    """terms() and total(), deep supervision, tiles, single values and terms of a user's own take the same node."""
    ((logits, target),) = batches(count=1)
    for name in ("RCE", "LogDiceFL"):
        criterion, leaf = sw.loss(name).cuda(), logits.clone().requires_grad_()
        terms = criterion.terms(leaf, target)
        loss = criterion.total(terms)
        assert loss.grad_fn is next(iter(terms.values())).grad_fn
        close([loss.detach(), torch.autograd.grad(loss, leaf)[0]], plain(criterion, logits, target))
        stats = criterion.terms_from_stats(criterion.stats(leaf, target))
        weigh = [2 * sum(one.values()) - next(iter(one.values())) for one in (criterion.terms(leaf, target), stats)]
        close(*([one.detach(), torch.autograd.grad(one, leaf)[0]] for one in weigh))
        levels = [leaf, leaf[..., ::2, ::2], leaf[..., ::4, ::4]]
        deep = sw.DeepSupervision(criterion)
        found = deep(levels, target)
        assert fused(criterion) == 3
        wanted, truth = 0, None
        for weight, level in zip((4 / 7, 2 / 7, 1 / 7), levels, strict=True):
            sums = criterion.stats(level, sw.deep_supervision.nearest(target, level.shape[2:]))
            truth = sums.detach() if truth is None else truth
            wanted = wanted + weight * criterion.from_stats(sums.with_size_truth(truth))
        close(*([one.detach(), torch.autograd.grad(one, leaf)[0]] for one in (found, wanted)))
        network = torch.nn.Conv2d(5, 5, 1).cuda()
        halves = [(logits[:, :, part], target[:, part]) for part in (slice(0, 20), slice(20, 64))]
        loss = sw.tiled_backward(criterion, network, halves)
        found, network.weight.grad = network.weight.grad, None
        whole = criterion(network(logits), target)
        whole.backward()
        close([loss, found], [whole.detach(), network.weight.grad])

    class Squared(sw.Dice):
        def value(self, stats):
            return super().value(stats) ** 2

    class Learned(sw.Dice):
        def __init__(self):
            super().__init__()
            self.exponent = torch.nn.Parameter(torch.tensor(2.0))

        def value(self, stats):
            return super().value(stats) ** self.exponent

    own, learned = sw.Loss(sw.CrossEntropy() + Squared()).cuda(), sw.Loss(sw.CrossEntropy() + Learned()).cuda()
    close(fast(own, logits, target), plain(own, logits, target))
    assert fused(own) == 1
    close(fast(learned, logits, target), plain(own, logits, target))
    assert learned.parts["Learned"].exponent.grad != 0
