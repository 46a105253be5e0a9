"""The part of gpu_check.py about decisions: their kernels against the streaming passes, in a sample of all forms."""

import torch
from sampling import sample

import sizewise as sw

DECISIONS = [
    (shape, options, kind)
    for shape in (
        (4, 2, 61, 67),
        (2, 3, 20, 24, 28),
        (2, 19, 64, 96),
        (1, 32, 40, 41),
        (2, 40, 33, 35),
        (1, 150, 24, 24),
    )
    for options in (
        {},
        {"metric": "iou", "background": None},
        {"metric": "argmax"},
        {"metric": "size"},
        {"scope": "batch", "prune": 0.0},
        {"mask": None, "temperature": 1.6},
        {"activation": "sigmoid"},
    )
    for kind in ("float32", "bfloat16", "channels_last")
]


def deciding() -> None:
    """The kernels of a decision give the labels of the streaming passes, in every form, and no host waits for them."""
    from sizewise.decisions import decide as module

    def both(values, **options):
        found = sw.decide(values, **options)
        kept, module.takes_kernels = module.takes_kernels, lambda values: False
        try:
            return found, sw.decide(values, **options)
        finally:
            module.takes_kernels = kept

    torch.manual_seed(0)
    for shape, options, kind in sample(DECISIONS, 14, seed=5):  # each compiles a kernel of its own
        size = shape[2:]
        coarse = 2 * torch.randn(*shape[:2], *(max(2, one // 5) for one in size), device="cuda")
        logits = torch.nn.functional.interpolate(coarse, size=size, mode="bilinear" if len(size) == 2 else "trilinear")
        if "mask" in options:
            options = options | {"mask": torch.rand(shape[0], *size, device="cuda") < 0.8}
        values = logits.bfloat16() if kind == "bfloat16" else logits
        if kind == "channels_last":
            values = logits.movedim(1, -1).contiguous().movedim(-1, 1)
        found, wanted = both(values, **options)
        # float32 partial sums differ in their last digits: a few pixels at the threshold may
        assert (found != wanted).float().mean() <= 2e-4, (shape, options, (found != wanted).float().mean())
        assert torch.equal(found, sw.decide(values, **options))
    one_launch()
    logits = torch.randn(2, 5, 64, 64, device="cuda")
    sw.decide(logits)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        labels = sw.decide(logits)
    logits.copy_(2 * torch.randn_like(logits))
    captured.replay()
    assert torch.equal(labels, sw.decide(logits))
    logits = torch.randn(1, 3, 28_300, 28_300, device="cuda", dtype=torch.bfloat16)  # 2.4e9 elements
    labels = sw.decide(logits, metric="argmax")
    for piece in (slice(0, 10), slice(-10, None)):
        assert torch.equal(labels[:, piece], logits[:, :, piece].argmax(1))
    assert sw.decide(logits).shape == labels.shape


def one_launch() -> None:
    """All turns in one launch, whose programs wait for each other, give the labels of a launch for each turn.

    Twenty times, also on two streams at once, since who waits for whom differs every time.
    """
    from sizewise.decisions.kernels import launches
    from sizewise.stats.kernels import passes

    logits = torch.randn(3, 5, 200, 210, device="cuda")
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
