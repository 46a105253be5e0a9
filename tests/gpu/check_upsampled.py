"""Logits smaller than the target: sums and gradients, the same bits, one node, a CUDA graph, labels, memory."""

import torch
from kernel_cases import Case, build, enlarged, judge
from sampling import EXHAUSTIVE, covering

import sizewise as sw
from sizewise.stats import reference
from sizewise.stats.kernels import passes

FORMS = [
    Case((2, channels, *full), dtype, target, sigmoid, mask, None, layout, fields, 3.0, small, upsample)
    for small, full in (((17, 33), (68, 132)), ((20, 31), (47, 90)), ((9, 8, 7), (18, 16, 14)), ((50,), (333,)))
    for upsample in ("linear", "linear-corners")
    for channels in (2, 19, 150)
    for dtype in ("float32", "bfloat16", "float64")
    for target in ("uint8", "int64", "shares float32")
    for sigmoid in (False, True)
    for mask in (False, True)
    for layout in ("contiguous", "channels_last", "shifted")
    for fields in ("rce", "every")
    if not (sigmoid and channels == 150)
]


def upsampled(part: int, parts: int) -> None:
    """Every two values of the options meet in some case."""
    for case in covering(FORMS, lambda case: (case.small, case.shape[1], case.upsample, *case[1:8]))[part::parts]:
        judge(case, passes, "cuda")


def upsampled_same_bits() -> None:
    arguments = build(Case((2, 19, 256, 512), fields="rce", small=(64, 128), upsample="linear"), "cuda")
    sums = passes.region_sums(*arguments)
    gradients = [passes.region_gradient(sums, *arguments) for _ in range(4)]
    assert all(torch.equal(gradients[0], one) for one in gradients)


def upsampled_node() -> None:
    criterion = sw.loss("RCE", upsample="linear").cuda()
    logits = torch.randn(2, 5, 16, 24, device="cuda", requires_grad=True)
    target = torch.randint(0, 5, (2, 64, 96), device="cuda")

    def run():
        loss = criterion(logits, target)
        return loss.detach(), torch.autograd.grad(loss, logits)[0]

    wanted = criterion.from_stats(criterion.stats(logits, target))
    wanted = wanted.detach(), torch.autograd.grad(wanted, logits)[0]
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            found = run()
    torch.cuda.synchronize()
    for one, other in zip(found, wanted, strict=True):
        assert (one - other).norm() <= 2e-6 * other.norm()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        loss, gradient = run()
    with torch.no_grad():
        logits.copy_(torch.randn_like(logits))
    captured.replay()
    torch.cuda.synchronize()
    again = run()
    assert torch.equal(loss, again[0])
    assert torch.equal(gradient, again[1])
    compiled = torch.compile(lambda one: criterion(one, target), fullgraph=True)
    torch.testing.assert_close(torch.autograd.grad(compiled(logits), logits)[0], again[1])


def upsampled_labels() -> None:
    logits = torch.randn(8, 19, 128, 256, device="cuda")
    found = sw.decide(logits, metric="argmax", upsample="linear", size=(512, 1024))
    wrong = (found != enlarged(logits.double(), (512, 1024), "linear").argmax(1)).double().mean()
    assert wrong < 1e-5, float(wrong)  # ties of float32
    few = logits[:1, : 19 if EXHAUSTIVE else 5, :32, :64]  # the search of 19 classes takes the compiler half a minute
    found = sw.decide(few, metric="dice", upsample="linear", size=(128, 256)).cpu()
    wrong = (found != sw.decide(enlarged(few.double().cpu(), (128, 256), "linear"), metric="dice")).double().mean()
    assert wrong < 1e-3, float(wrong)


def upsampled_memory() -> None:
    logits = torch.randn(8, 19, 128, 256, device="cuda", requires_grad=True)
    target = torch.randint(0, 19, (8, 512, 1024), device="cuda", dtype=torch.uint8)
    criterion = sw.loss("RCE", upsample="linear").cuda()
    torch.autograd.grad(criterion(logits, target), logits)
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    torch.autograd.grad(criterion(logits, target), logits)
    extra = (torch.cuda.max_memory_allocated() - before) / (logits.numel() * logits.element_size())
    print(f"  peak extra memory: {extra:.4f} of the small logits")
    assert extra <= 1.1


def upsampled_many_pixels() -> None:
    """More than 2^31 logits of the full size, from few."""
    logits = torch.randn(1, 40, 512, 512, device="cuda", dtype=torch.bfloat16)
    target = torch.randint(0, 40, (1, 1, 8192, 8192), device="cuda", dtype=torch.uint8)
    options = (None, None, False, [0, 1, 2, 4], [0.0, 0.0, 0.0, 10.0], "linear")
    sums = passes.region_sums(logits, target, *options)
    assert int(sums[1, 0, 0]) == 8192 * 8192
    gradient = passes.region_gradient(torch.ones_like(sums), logits, target, *options)
    # The last corner alone, which the pixels from 8176 on touch: cell 511 is theirs and their neighbours'.
    corner = logits[:, :, -3:, -3:].double().cpu(), target[:, :, -48:, -48:].cpu()
    wanted = reference.region_gradient(torch.ones_like(sums).double().cpu(), *corner, *options)
    torch.testing.assert_close(gradient[:, :, -1, -1].cpu(), wanted[:, :, -1, -1].bfloat16(), rtol=2e-2, atol=1e-2)
