"""Steps with the formula as one kernel give what the plain operations give, and follow every change."""

import copy
import pickle

import torch
from gpu.steps import batches, close, fast, fused, plain

import sizewise as sw


def same(criterion, wanted_plans: int) -> None:
    """Values and gradients of several batches, by so many plans."""
    for logits, target in batches():
        close(fast(criterion, logits, target), plain(criterion, logits, target))
    assert fused(criterion) == wanted_plans, (repr(criterion), criterion.snapshot().plans)


def named_losses(part: int, parts: int) -> None:
    names = [name for name in sw.loss_names() if not sw.loss(name).cell_fields]  # those have a check of their own
    for name in names[part::parts]:
        same(sw.loss(name).cuda(), 1)


def many_rows_and_classes() -> None:
    for shape in ((16, 1000, 8, 8), (4, 256, 32, 32), (300, 3, 8, 8), (1, 5, 64, 64)):
        many, (one,) = sw.loss("RCE").cuda(), batches(shape, 1)
        close(fast(many, *one), plain(many, *one))
        assert fused(many) == 1


def weights_and_options() -> None:
    """Weights on the CPU, weights for each class, sums over ranks; and the same bits with another upstream gradient."""
    on_cpu = sw.loss("RCE")  # its weights are mirrored on the device
    same(on_cpu, 1)
    on_cpu.weights["SizeL1"] = 0.5
    same(on_cpu, 1)
    same(sw.SizeBounds(0.1, 0.5, class_weight=[1, 2, 3, 4, 5]), 0)  # weights to copy in every step
    same(sw.SizeBounds(0.1, 0.5).cuda(), 1)
    same(sw.loss("RCE", scope="global").cuda(), 0)
    criterion = sw.loss("RCE").cuda()
    scaled = [fast(criterion, *batches()[0], 3.0)[1] for _ in range(4)]
    assert all(torch.equal(one, scaled[0]) for one in scaled)


def changes() -> None:
    """What changes between two steps counts in the second one."""
    criterion = sw.Loss(sw.loss("RCE") + 0.1 * sw.Dice(class_weight=[1, 2, 3, 4, 5]) + 0.3 * sw.Tversky()).cuda()
    same(criterion, 1)
    criterion.weights["SizeL1"] = 0.25  # seen by the kernel
    same(criterion, 1)
    criterion.parts["Dice"].smooth = 7.0  # a new kernel
    same(criterion, 1)
    criterion.parts["Dice"].choice.class_weight.mul_(2)
    criterion.eval()
    same(criterion, 1)
    criterion.cpu().cuda()  # the buffers have moved
    same(criterion, 1)
    criterion.parts["Dice"] = sw.Dice(smooth=0.5).cuda()
    same(criterion, 1)
    same(copy.deepcopy(criterion), 1)
    same(pickle.loads(pickle.dumps(criterion)), 1)
