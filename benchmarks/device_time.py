"""How long a GPU takes: from call to call, or by events around a call or a CUDA graph; and the bandwidth of a copy."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch


def stream_us(run: Callable[[], Any], repeats: int) -> float:
    """The time from call to call in Python, while the device may lag behind."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / repeats * 1e6


def captured(run: Callable[[], Any]) -> Callable[[], Any]:
    """``run`` as a CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = run()
    return lambda: (graph.replay(), kept)


def captured_or_none(run: Callable[[], Any]) -> Callable[[], Any] | None:
    """The same, or None where ``run`` makes the host wait, and cannot be one."""
    try:
        return captured(run)
    except RuntimeError as error:
        torch.cuda.synchronize()
        print("  not captured:", str(error).splitlines()[0], flush=True)
        return None


def median_us(run: Callable[[], Any], repeats: int = 15) -> float:
    """The median time on the device of one call."""
    for _ in range(3):
        run()
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        end.record()
        times.append((start, end))
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(end) * 1e3 for start, end in times)


def replayed_us(run: Callable[[], Any], launches: int = 8, repeats: int = 7) -> float:
    """The median time of one call among several that one CUDA graph replays: no gaps for Python."""
    for _ in range(2):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(launches):
            run()
    return median_us(graph.replay, repeats) / launches


def copied_bytes_per_us() -> float:
    """The bandwidth of a copy, bytes read and bytes written; not in a graph, where copies took 1.6 × as long."""
    source = torch.empty(1 << 29, device="cuda").normal_()
    target = torch.empty_like(source)
    return 2 * source.nbytes / median_us(lambda: target.copy_(source))
