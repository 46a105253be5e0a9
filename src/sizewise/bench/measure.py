"""Time and memory of one forward and backward."""

import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from sizewise.bench.candidates import LossFunction
from sizewise.bench.captured import captured
from sizewise.bench.options import DTYPES, BenchInput

# A training loop queues its steps and does not wait for each; so do ten in a row on a GPU.
STEPS_IN_A_ROW = {"cpu": 1, "cuda": 10}
# For the device's own time fewer are queued, while it sleeps for about 8 ms: the queue holds a thousand kernels.
STEPS_QUEUED = 5
SLEEP_CYCLES = 16_000_000


@dataclass(frozen=True)
class Timing:
    """Milliseconds of forward + backward: median and quartiles as seen from Python, and two medians of the device.

    ``device_ms`` is what a step costs where the host runs ahead, as in the training of a large network, ``graph_ms``
    what it costs as a CUDA graph; None where it was not captured.
    """

    median_ms: float
    low_ms: float
    high_ms: float
    device_ms: float
    graph_ms: float | None


def make_input(of: BenchInput, device: str) -> tuple[Tensor, Tensor]:
    """Random logits (N, K, *S) and labels, the same for everyone."""
    dtype, label_dtype = DTYPES[of.dtype]
    generator = torch.Generator(device).manual_seed(0)
    logits = torch.randn(of.shape, generator=generator, device=device).to(dtype)
    if of.layout == "channels_last":  # by hand, since torch has the word for two and three dimensions alone
        logits = logits.movedim(1, -1).contiguous().movedim(-1, 1)
    target = torch.randint(0, of.shape[1], (of.shape[0], *of.shape[2:]), generator=generator, device=device)
    return logits.requires_grad_(), target.to(label_dtype)


def step(loss: LossFunction, logits: Tensor, target: Tensor) -> None:
    """One forward and backward, leaving no gradient behind."""
    loss(logits, target).backward()
    logits.grad = None


def time_together(
    losses: list[LossFunction], logits: Tensor, target: Tensor, rounds: int, capture: Sequence[bool] = ()
) -> list[Timing]:
    """Time several losses in turns, so that a slow spell of the machine hits them all.

    Args:
        losses: to time.
        logits: of the input.
        target: of the input.
        rounds: each times every loss once.
        capture: on a GPU, which of the losses are also timed as a CUDA graph; default: none.
    """
    device = logits.device.type
    works = [partial(step, loss, logits, target) for loss in losses]
    for work in works:
        for _ in range(3):  # compiles, warms up
            work()
    graphs: list[Callable[[], None] | None] = [None] * len(losses)
    if device == "cuda" and capture:
        graphs = [
            captured(loss, logits, target) if wanted else None for loss, wanted in zip(losses, capture, strict=True)
        ]
    seen: list[list[float]] = [[] for _ in losses]
    on_device: list[list[float]] = [[] for _ in losses]
    replayed: list[list[float]] = [[] for _ in losses]
    with without_garbage_collection():
        for _ in range(rounds):
            for at, (work, graph) in enumerate(zip(works, graphs, strict=True)):
                if device == "cuda":
                    on_device[at].append(device_seconds_a_call(work))  # first, so that the other's start is warm
                seen[at].append(seconds_a_call(work, device))
                if graph is not None:
                    replayed[at].append(device_seconds_a_call(graph))
    return [_timing(*times) for times in zip(seen, on_device, replayed, strict=True)]


def _timing(seen: list[float], on_device: list[float], replayed: list[float]) -> Timing:
    low, middle, high = statistics.quantiles(seen, n=4) if len(seen) > 1 else seen * 3
    own = statistics.median(on_device or seen)
    graph = 1e3 * statistics.median(replayed) if replayed else None
    return Timing(1e3 * middle, 1e3 * low, 1e3 * high, 1e3 * own, graph)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Keep Python's collector out of the timings, as the standard library's timeit does."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def device_seconds_a_call(work: Callable[[], object]) -> float:
    """The time that the GPU spends on a call, of several in a row that were queued while it was kept busy."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(SLEEP_CYCLES)
    start.record()
    for _ in range(STEPS_QUEUED):
        work()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) * 1e-3 / STEPS_QUEUED


def seconds_a_call(work: Callable[[], object], device: str) -> float:
    """The time of a call: on a GPU of several in a row, the device waited for before and after."""
    calls = STEPS_IN_A_ROW[device]
    wait(device)
    start = time.perf_counter()
    for _ in range(calls):
        work()
    wait(device)
    return (time.perf_counter() - start) / calls


def wait(device: str) -> None:
    """Let queued work on a GPU finish."""
    if device == "cuda":
        torch.cuda.synchronize()


def copy_bandwidth(device: str) -> float:
    """Bytes a second, read and written, of a large copy: what the memory can do."""
    source = torch.empty(2**28 if device == "cuda" else 2**25, device=device).fill_(1)
    target = torch.empty_like(source)
    seconds = [seconds_a_call(lambda: target.copy_(source), device) for _ in range(10)]
    return 2 * source.numel() * source.element_size() / statistics.median(seconds)


def peak_extra_bytes(loss: LossFunction, logits: Tensor, target: Tensor) -> int:
    """Peak memory of one step above what its inputs take: exact on CUDA, resident memory on a Linux CPU."""
    if logits.device.type == "cuda":
        step(loss, logits, target)
        wait("cuda")
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        step(loss, logits, target)
        return torch.cuda.max_memory_allocated() - before
    step(loss, logits[:, :, :2].detach().clone().requires_grad_(), target[:, :2])  # loads libraries, starts threads
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = resident("VmRSS")
    step(loss, logits, target)
    return resident("VmHWM") - before


def resident(entry: str) -> int:
    """A line of this process's status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(entry))


def peak_in_fresh_process(library: str, name: str, of: BenchInput) -> float | None:
    """Peak extra memory on the CPU as a multiple of the logits, in a process where nothing has been cached yet."""
    if not Path("/proc/self/clear_refs").exists():
        return None
    code = (
        "from sizewise.bench.candidates import candidates\n"
        "from sizewise.bench.measure import make_input, peak_extra_bytes\n"
        "from sizewise.bench.options import BenchInput\n"
        f"logits, target = make_input({of!r}, 'cpu')\n"
        f"found = [one for one in candidates(({name!r},)) if (one.library, one.name) == ({library!r}, {name!r})]\n"
        f"print(peak_extra_bytes(found[0].build({of.shape[1]}), logits, target) / logits.nbytes)\n"
    )
    result = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"measuring the memory of {library} {name} failed:\n{result.stderr[-2000:]}")
    return float(result.stdout.split()[-1])
