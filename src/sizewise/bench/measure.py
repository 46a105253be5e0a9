"""Time and memory of one forward and backward."""

import gc
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from sizewise.bench.candidates import LossFunction

MIB = 2**20


@dataclass(frozen=True)
class Timing:
    """Milliseconds of forward + backward: median and quartiles."""

    median_ms: float
    low_ms: float
    high_ms: float


def make_input(shape: tuple[int, ...], device: str, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Random logits (N, K, *S) and int64 labels, the same for everyone."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(shape, generator=generator).to(device, dtype)
    target = torch.randint(0, shape[1], (shape[0], *shape[2:]), generator=generator).to(device)
    return logits.requires_grad_(), target


def step(loss: LossFunction, logits: Tensor, target: Tensor) -> None:
    """One forward and backward, leaving no gradient behind."""
    loss(logits, target).backward()
    logits.grad = None


def time_together(losses: list[LossFunction], logits: Tensor, target: Tensor, repeats: int) -> list[Timing]:
    """Time several losses in turns, so that a slow spell of the machine hits them all."""
    seconds: list[list[float]] = [[] for _ in losses]
    for loss in losses:
        step(loss, logits, target)
    for _ in range(repeats):
        for loss, values in zip(losses, seconds, strict=True):
            wait(logits)
            start = time.perf_counter()
            step(loss, logits, target)
            wait(logits)
            values.append(time.perf_counter() - start)
    quartiles = [statistics.quantiles(values, n=4) if repeats > 1 else values * 3 for values in seconds]
    return [Timing(1e3 * middle, 1e3 * low, 1e3 * high) for low, middle, high in quartiles]


def wait(tensor: Tensor) -> None:
    """Let queued work on a GPU finish."""
    if tensor.device.type == "cuda":
        torch.cuda.synchronize()


def copy_bandwidth(device: str) -> float:
    """Bytes a second, read and written, of a large copy: what the memory can do."""
    source = torch.empty(2**28 if device == "cuda" else 2**25, device=device).fill_(1)
    target = torch.empty_like(source)
    seconds = []
    for _ in range(10):
        wait(source)
        start = time.perf_counter()
        target.copy_(source)
        wait(source)
        seconds.append(time.perf_counter() - start)
    return 2 * source.numel() * source.element_size() / statistics.median(seconds)


def peak_extra_bytes(loss: LossFunction, logits: Tensor, target: Tensor) -> int:
    """Peak memory of one step above what its inputs take: exact on CUDA, resident memory on a Linux CPU."""
    if logits.device.type == "cuda":
        step(loss, logits, target)
        wait(logits)
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


def peak_in_fresh_process(library: str, name: str, shape: tuple[int, ...], device: str) -> float | None:
    """Peak extra memory as a multiple of the logits, in a process of its own where nothing has been cached yet."""
    if device == "cpu" and not Path("/proc/self/clear_refs").exists():
        return None
    code = (
        "import sys, torch\n"
        "from sizewise.bench.candidates import candidates\n"
        "from sizewise.bench.measure import make_input, peak_extra_bytes\n"
        f"logits, target = make_input({shape}, {device!r}, torch.float32)\n"
        f"found = [one for one in candidates(({name!r},)) if (one.library, one.name) == ({library!r}, {name!r})]\n"
        f"print(peak_extra_bytes(found[0].build({shape[1]}), logits, target) / (logits.numel() * 4))\n"
    )
    result = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"measuring the memory of {library} {name} failed:\n{result.stderr[-2000:]}")
    return float(result.stdout.split()[-1])
