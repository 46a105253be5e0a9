"""The part of gpu_check.py about decisions: their kernels against the streaming passes."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

import sizewise as sw

# Each compiles a kernel of its own, for some seconds; together they have every metric, dtype, layout and option.
DECISIONS = (
    ((4, 2, 61, 67), "float32", {}),
    ((2, 19, 64, 96), "float32", {"mask": None, "temperature": 1.6}),
    ((1, 40, 66, 70), "bfloat16", {}),
    ((2, 5, 66, 70), "channels_last", {"metric": "iou", "scope": "batch", "prune": 0.0}),
    ((2, 3, 20, 24, 28), "bfloat16", {"metric": "iou", "background": None}),
    ((2, 3, 61, 67), "float16", {"activation": "sigmoid", "mask": None}),
    ((2, 2, 61, 67), "float64", {"metric": "size"}),
    ((2, 4, 64, 80), "float32", {"metric": "size", "mask": None, "scope": "batch"}),
    ((1, 34, 24, 24), "channels_last", {"metric": "argmax"}),
)


def drawn(shape: tuple[int, ...], kind: str, options: dict[str, Any]) -> tuple[torch.Tensor, dict[str, Any]]:
    """Logits that are smooth over the pixels, and a mask where one is asked for."""
    size = shape[2:]
    coarse = 2 * torch.randn(*shape[:2], *(max(2, one // 5) for one in size), device="cuda")
    logits = torch.nn.functional.interpolate(coarse, size=size, mode="bilinear" if len(size) == 2 else "trilinear")
    if "mask" in options:
        options = options | {"mask": torch.rand(shape[0], *size, device="cuda") < 0.8}
    if kind == "channels_last":
        return logits.movedim(1, -1).contiguous().movedim(-1, 1), options
    return logits.to(getattr(torch, kind)), options


def deciding() -> None:
    """The kernels of a decision give the labels of the streaming passes, in every form, and no host waits for them."""
    from sizewise.decisions import decide as module

    def streamed(values, options):
        kept, module.takes_kernels = module.takes_kernels, lambda values: False
        try:
            return sw.decide(values, **options)
        finally:
            module.takes_kernels = kept

    torch.manual_seed(0)
    cases = [drawn(*case) for case in DECISIONS]
    small = torch.randn(2, 5, 64, 64, device="cuda")
    large = torch.randn(1, 3, 28_300, 28_300, device="cuda", dtype=torch.bfloat16)  # 2.4e9 elements
    also = [(small, {}), (small, {"metric": "size"}), (large, {"metric": "argmax"}), (large, {})]
    torch.cuda.synchronize()
    with ThreadPoolExecutor(len(cases) + len(also)) as pool:  # compilers run side by side
        every = list(pool.map(lambda case: sw.decide(case[0], **case[1]), [*also, *cases]))
    for (values, options), found in zip(cases, every[len(also) :], strict=True):
        wanted = streamed(values, options)
        # float32 partial sums differ in their last digits: a few pixels at the threshold may
        assert (found != wanted).float().mean() <= 2e-4, (values.shape, options)
        assert torch.equal(found, sw.decide(values, **options))
    one_launch()
    sw.decide(small)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        labels = sw.decide(small)
    small.copy_(2 * torch.randn_like(small))
    captured.replay()
    assert torch.equal(labels, sw.decide(small))
    for piece in (slice(0, 10), slice(-10, None)):
        assert torch.equal(every[2][:, piece], large[:, :, piece].argmax(1))
    assert every[3].shape == every[2].shape


def one_launch() -> None:
    """All turns in one launch, whose programs wait for each other, give the labels of a launch for each turn.

    Twenty times, also on two streams at once, since who waits for whom differs every time.
    """
    from sizewise.decisions.kernels import launches
    from sizewise.stats.kernels import passes

    logits = torch.randn(3, 5, 192, 208, device="cuda")  # the kernels of 64 × 64 pixels serve these too
    for metric in ("dice", "size"):
        together = sw.decide(logits, metric=metric)
        assert any(
            getattr(one, "together", 0) and any(launch.constants["WAITS"] for launch in one.launches.values())
            for one in passes._calls.values()
            if isinstance(one, launches.KernelDecision)
        ), "the device refused the launch"
        streams = [torch.cuda.Stream() for _ in range(2)]
        torch.cuda.synchronize()
        found = []
        for _ in range(10):
            for stream in streams:
                with torch.cuda.stream(stream):
                    found.append(sw.decide(logits, metric=metric))
        torch.cuda.synchronize()
        assert all(torch.equal(one, together) for one in found)
        kept = launches.KernelDecision._programs_together
        launches.KernelDecision._programs_together = lambda self: 0
        passes._calls.clear()
        try:
            assert torch.equal(sw.decide(logits, metric=metric), together)
        finally:
            launches.KernelDecision._programs_together = kept
            passes._calls.clear()
