"""Labels that are no class make the loss NaN, and the error comes from a later call."""

import torch
from gpu.steps import expect_error

import sizewise as sw


def bad_labels() -> None:
    criterion = sw.loss("RCE").cuda()
    logits = torch.randn(4, 5, 64, 64, device="cuda", requires_grad=True)
    target = torch.randint(0, 5, (4, 64, 64), device="cuda")
    target[2, 3, 4] = 255
    loss = criterion(logits, target)
    loss.backward()
    assert loss.isnan()
    torch.cuda.synchronize()
    target[2, 3, 4] = 0
    expect_error("label 255", lambda: criterion(logits, target))
    assert criterion(logits, target).isfinite()
    target[2, 3, 4] = -1 << 40
    criterion(logits, target)
    expect_error(str(-1 << 40))
    for name in ("WCE", "LogDice", "RFL", "DBCE"):
        assert sw.loss(name).cuda()(logits, torch.full_like(target, 9)).isnan(), name
        expect_error("label 9")
