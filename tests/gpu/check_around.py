"""A step among other things: accumulation, streams, CUDA graphs, torch.compile, checkpointing, autocast."""

import torch
import torch.utils.checkpoint
from gpu.steps import batches, close, expect_error, fast, plain, step

import sizewise as sw


def around_a_node() -> None:
    """Accumulation, streams, checkpointing, autocast, no_grad and a second derivative."""
    inputs, criterion = batches(), sw.loss("RCE").cuda()
    # Two losses before either backward, changed in place: each keeps its own coefficients.
    leaves = [logits.clone().requires_grad_() for logits, _ in inputs[:2]]
    losses = [criterion(leaf, target) / 2 for leaf, (_, target) in zip(leaves, inputs, strict=False)]
    for loss in losses:
        loss.backward()
    for leaf, (logits, target) in zip(leaves, inputs, strict=False):
        torch.testing.assert_close(leaf.grad, plain(criterion, logits, target, 0.5)[1])
    # Other streams, at the same time.
    streams = [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    results = []
    for _ in range(4):
        for stream, (logits, target) in zip(streams, inputs, strict=False):
            with torch.cuda.stream(stream):
                results.append((fast(criterion, logits, target), (logits, target)))
    torch.cuda.synchronize()
    for got, given in results:
        close(got, plain(criterion, *given))
    logits = inputs[0][0].clone().requires_grad_()
    (gradient,) = torch.autograd.grad(criterion(logits, inputs[0][1]), logits, create_graph=True)
    expect_error("second one was asked for", gradient.sum().backward, RuntimeError)
    for _ in range(3):
        new = sw.loss("DiceCE").cuda()
        logits.grad = None
        torch.utils.checkpoint.checkpoint(new, logits, inputs[0][1], use_reentrant=False).backward()
        close([logits.grad], plain(new, *inputs[0])[1:])
    logits.grad = None
    value = plain(criterion, *inputs[0])[0]
    with torch.no_grad():
        close([criterion(logits, inputs[0][1])], [value])
    with torch.inference_mode():
        close([criterion(logits, inputs[0][1])], [value])
    with torch.autocast("cuda", torch.bfloat16):
        close(fast(criterion, *inputs[0]), plain(criterion, *inputs[0]))


def graph() -> None:
    criterion = sw.loss("RCE").cuda()
    logits = torch.randn(4, 5, 64, 64, device="cuda", requires_grad=True)
    target = torch.randint(0, 5, (4, 64, 64), device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step(criterion, logits, target)
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        loss, gradient = step(criterion, logits, target)
    with torch.no_grad():
        logits.copy_(torch.randn_like(logits))
    captured.replay()
    torch.cuda.synchronize()
    assert torch.equal(gradient, step(criterion, logits, target)[1])
    target[0, 0, 0] = 77
    captured.replay()
    torch.cuda.synchronize()
    assert loss.isnan()
    expect_error("label 77")


def compiled() -> None:
    criterion = sw.loss("RCE").cuda()
    logits = torch.randn(4, 5, 64, 64, device="cuda", requires_grad=True)
    target = torch.randint(0, 5, (4, 64, 64), device="cuda")
    fast = torch.compile(criterion, fullgraph=True, mode="max-autotune")
    for _ in range(3):
        gradient = step(fast, logits, target)[1].clone()
    torch.testing.assert_close(gradient, step(criterion, logits, target)[1])
