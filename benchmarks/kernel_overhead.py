"""Where the time of a loss goes, called from Python: ``PYTHONPATH=src python benchmarks/kernel_overhead.py``.

"stream" is the time from call to call while the device may lag behind, as in training; "wait" that of one call with
the device waited for; "device" that of the device alone.
"""

import statistics
import sys
import time

import torch
from device_time import copied_bytes_per_us, median_us
from torch.nn import functional

import sizewise as sw
from sizewise.criterion.step import takes_kernels
from sizewise.stats.kernels import passes
from sizewise.stats.kernels.kept_tensors import numbers_on
from sizewise.stats.operator import region_gradient, region_sums

SHAPES = ((8, 2, 512, 512), (2, 3, 128, 128, 128), (8, 19, 512, 1024), (2, 16, 96, 160, 160))


def stream_us(run, repeats=100) -> float:
    """The time from call to call in Python, device included where it is slower."""
    for _ in range(10):
        run()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / repeats * 1e6


def wait_us(run, repeats=50) -> float:
    """The median time of one call, with the device waited for."""
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def captured(step):
    """``step`` as a CUDA graph."""
    for _ in range(3):
        step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = step()
    return lambda: (graph.replay(), kept)


class Nothing(torch.autograd.Function):
    """A node in Python that computes nothing: what autograd itself takes, the way to its thread and back included."""

    @staticmethod
    def forward(ctx, logits):
        ctx.save_for_backward(logits)
        return logits.new_empty(())

    @staticmethod
    def backward(ctx, _):
        return torch.empty_like(ctx.saved_tensors[0])


def in_this_thread(run):
    """``run`` without autograd's own thread."""

    def alone():
        with torch.autograd.set_multithreading_enabled(False):
            return run()

    return alone


def without_gradient(run):
    """``run`` as autograd calls a backward: else a second derivative is prepared for, by way of the operator."""

    def plain():
        with torch.no_grad():
            return run()

    return plain


def eager(shape: tuple[int, ...]) -> tuple[dict, float]:
    """What to time for one shape, by name, and the bytes that a loss must move."""
    logits = torch.randn(shape, device="cuda", requires_grad=True)
    target = torch.randint(0, shape[1], (shape[0], *shape[2:]), device="cuda")
    criterion = sw.loss("RCE").cuda()
    plain, labels = logits.detach(), target.unsqueeze(1)

    def step(loss):
        return torch.autograd.grad(loss(logits, target), logits)

    def plain_operations(logits, target):
        return criterion.from_stats(criterion.stats(logits, target))

    for _ in range(3):
        step(criterion)
    snapshot = criterion.snapshot()
    (plan,) = snapshot.plans[False].values()
    total, _, _, saved, kept = plan.forward(logits, target, None, None, 1.0, (), True)
    upstream = (torch.ones_like(total),)
    reading = snapshot.reading
    sums = passes.region_sums(plain, labels, None, *reading)
    one = numbers_on(sums.device, torch.float64, 1.0)
    runs = {
        "torch CE": lambda: step(functional.cross_entropy),
        "RCE": lambda: step(criterion),
        "a node that does nothing": lambda: step(lambda logits, _: Nothing.apply(logits)),
        "torch CE, backward in the calling thread": in_this_thread(lambda: step(functional.cross_entropy)),
        "RCE, backward in the calling thread": in_this_thread(lambda: step(criterion)),
        "RCE without gradient": lambda: criterion(plain, target),
        "part: three launches forward": lambda: plan.forward(logits, target, None, None, 1.0, (), True),
        "part: formula": lambda: plan.formula(sums, None, one, plan.launch),
        "part: backward launch": without_gradient(lambda: plan.backward(kept, saved, upstream, True)),
        "part: an empty tensor": lambda: torch.empty(100, device=logits.device),
        "part: checks of the input": lambda: passes.form_of(logits, target, None),
        "part: checks of the criterion": criterion.snapshot,
        "part: whether to step": lambda: takes_kernels(logits),
        "part: forward": lambda: criterion(logits, target),
        "operator forward": lambda: region_sums(plain, labels, None, *reading),
        "operator backward": lambda: region_gradient(sums, plain, labels, None, *reading),
        "RCE, the formula as plain operations": lambda: step(plain_operations),
        "RCE as a CUDA graph": captured(lambda: step(criterion)),
    }
    return runs, 3 * logits.nbytes + 2 * target.nbytes


def compiled(shape: tuple[int, ...]) -> dict:
    """The same under ``torch.compile``."""
    logits = torch.randn(shape, device="cuda", requires_grad=True)
    target = torch.randint(0, shape[1], (shape[0], *shape[2:]), device="cuda")
    criterion = torch.compile(sw.loss("RCE").cuda(), fullgraph=True, dynamic=False)

    def step():
        return torch.autograd.grad(criterion(logits, target), logits)

    return {"RCE compiled": step, "RCE compiled, as a CUDA graph": captured(step)}


def main() -> None:
    """Print times in Python and on the device."""
    bandwidth = copied_bytes_per_us()
    shapes = SHAPES[: int(sys.argv[1])] if len(sys.argv) > 1 else SHAPES
    for shape in shapes:
        runs, moved = eager(shape)
        print(f"{shape}: floor {moved / bandwidth:.0f} us", flush=True)
        show(runs)
    for shape in shapes:  # last: the compiler leaves processes behind that are busy for a while
        print(f"{shape}, compiled", flush=True)
        show(compiled(shape))


def show(runs: dict) -> None:
    """A line for each."""
    for name, run in runs.items():
        device = median_us(run, 30) if not name.startswith("part: check") and "whether" not in name else 0
        print(
            f"  {name}: stream {stream_us(run):.0f} us, wait {wait_us(run):.0f} us, device {device:.0f} us", flush=True
        )


if __name__ == "__main__":
    main()
