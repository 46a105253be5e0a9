"""How long a GPU takes: events around a call, or around replays of a CUDA graph; and the bandwidth of a copy."""

import statistics
from collections.abc import Callable
from typing import Any

import torch


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
