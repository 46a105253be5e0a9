"""More than 2^31 elements, and the peak of memory: what each process takes itself, whoever is beside it."""

import torch
from gpu.steps import step
from kernel_cases import RCE

import sizewise as sw
from sizewise.stats.kernels import passes


def many_elements() -> None:
    """Sums of 2.4e9 elements equal those of its halves, and so do gradients; the last pixel is reached."""
    logits = torch.randn(1, 3, 28_300, 28_300, device="cuda", dtype=torch.bfloat16)
    target = torch.randint(0, 3, (1, 1, 28_300, 28_300), device="cuda", dtype=torch.uint8)
    kinds, parameters = [int(kind) for kind, _ in RCE], [parameter for _, parameter in RCE]
    options = (None, None, False, kinds, parameters)
    whole = passes.region_sums(logits, target, *options)
    halves = [
        passes.region_sums(one, labels, *options)
        for one, labels in zip(logits.chunk(2, 2), target.chunk(2, 2), strict=True)
    ]
    torch.testing.assert_close(whole, halves[0] + halves[1], rtol=1e-6, atol=0)
    gradient = passes.region_gradient(whole, logits, target, *options)
    for piece in (slice(0, 10), slice(-10, None)):
        part = passes.region_gradient(whole, logits[:, :, piece], target[:, :, piece], *options)
        torch.testing.assert_close(gradient[:, :, piece], part)


def memory() -> None:
    for shape, dtype in (((8, 19, 512, 1024), torch.float32), ((8, 2, 512, 512), torch.float32)):
        logits = torch.randn(shape, device="cuda", dtype=dtype, requires_grad=True)
        target = torch.randint(0, shape[1], (shape[0], *shape[2:]), device="cuda")
        criterion = sw.loss("RCE").cuda()
        step(criterion, logits, target)
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        step(criterion, logits, target)
        extra = (torch.cuda.max_memory_allocated() - before) / (logits.numel() * logits.element_size())
        print(f"  peak extra memory of {shape}: {extra:.4f} of the logits")
        assert extra <= 1.02
