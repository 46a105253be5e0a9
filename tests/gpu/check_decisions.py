"""The kernels of decisions against the streaming passes; none of them makes the host wait."""

from typing import Any

import torch

import sizewise as sw
from sizewise.decisions import decide
from sizewise.decisions.kernels import launches
from sizewise.stats.kernels import passes

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


def streamed(values: torch.Tensor, options: dict[str, Any]) -> torch.Tensor:
    """What the streaming passes decide."""
    kept, decide.takes_kernels = decide.takes_kernels, lambda values: False
    try:
        return sw.decide(values, **options)
    finally:
        decide.takes_kernels = kept


def deciding(part: int, parts: int) -> None:
    """The kernels of a decision give the labels of the streaming passes, in every form."""
    torch.manual_seed(0)
    for case in DECISIONS[part::parts]:
        values, options = drawn(*case)
        found, wanted = sw.decide(values, **options), streamed(values, options)
        # float32 partial sums differ in their last digits: a few pixels at the threshold may
        assert (found != wanted).float().mean() <= 2e-4, (values.shape, options)
        assert torch.equal(found, sw.decide(values, **options))


def deciding_captured() -> None:
    """A CUDA graph of a decision follows its logits."""
    logits = torch.randn(2, 5, 64, 64, device="cuda")
    sw.decide(logits)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        labels = sw.decide(logits)
    logits.copy_(2 * torch.randn_like(logits))
    graph.replay()
    assert torch.equal(labels, sw.decide(logits))


def deciding_many_elements() -> None:
    """2.4e9 of them."""
    logits = torch.randn(1, 3, 28_300, 28_300, device="cuda", dtype=torch.bfloat16)
    labels = sw.decide(logits, metric="argmax")
    for piece in (slice(0, 10), slice(-10, None)):
        assert torch.equal(labels[:, piece], logits[:, :, piece].argmax(1))
    assert sw.decide(logits).shape == labels.shape


def deciding_together(part: int, parts: int) -> None:
    """All turns in one launch, whose programs wait for each other, give the labels of a launch for each turn.

    Twenty times, also on two streams at once, since who waits for whom differs every time.
    """
    logits = torch.randn(3, 5, 192, 208, device="cuda")
    for metric in ("dice", "size")[part::parts]:
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
