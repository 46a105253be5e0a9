"""What components cost: finding them, and the loss with cells against the same loss without.

    python benchmarks/components.py [--out results.csv]

Runs on the GPU where there is one, else on the CPU. Times are medians of forward and backward with cells that are
given, eager, and on a GPU also replayed from a CUDA graph; memory is the peak above the inputs over the logits' bytes.
On a GPU there is also a row for each kernel of a step, with its own time on the device. Each row comes out as soon as
it is measured.
"""

import argparse
import csv
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import torch
from device_time import captured
from torch import Tensor

import sizewise as sw

CASES = {"8x2x512x512": ((8, 2, 512, 512), 200), "2x3x128x128x128": ((2, 3, 128, 128, 128), 50)}
COLUMNS = ("shape", "cells", "what", "milliseconds", "ratio", "extra_memory", "device", "torch", "sizewise", "commit")
ROUNDS = 20


def blobs(shape: tuple[int, ...], cells: int) -> Tensor:
    """Labels with about so many components of each foreground class, in every image."""
    images, classes, *spatial = shape
    draw = torch.Generator().manual_seed(0)
    labels = torch.zeros(images, *spatial, dtype=torch.long)
    for n in range(images):
        for k in range(1, classes):
            for _ in range(cells):
                corner = [int(torch.randint(0, size, (), generator=draw)) for size in spatial]
                side = int(torch.randint(2, 8, (), generator=draw))
                labels[(n, *(slice(at, at + side) for at in corner))] = k
    return labels


def median_ms(step: Callable[[], None], device: torch.device) -> float:
    """The median time of a step, after a warm-up."""
    times = []
    for _ in range(3 + ROUNDS):
        if device.type == "cuda":
            torch.cuda.synchronize()
        started = time.perf_counter()
        step()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - started))
    return statistics.median(times[3:])


def kernel_times(step: Callable[[], None]) -> dict[str, float]:
    """The median microseconds of each kernel of a step on the device, the slowest first."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in range(ROUNDS):
            step()
        torch.cuda.synchronize()
    times: dict[str, list[float]] = {}
    for event in seen.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            times.setdefault(event.name[:60], []).append(event.time_range.elapsed_us())
    found = {name: statistics.median(own) * len(own) / ROUNDS for name, own in times.items()}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def measure(device: torch.device) -> Iterator[dict[str, object]]:
    """All rows, one after the other."""
    about = {"torch": torch.__version__, "sizewise": sw.__version__, "commit": os.environ.get("COMMIT", "")}
    about["device"] = (
        torch.cuda.get_device_name() if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    )
    for name, (shape, wanted) in CASES.items():
        labels = blobs(shape, wanted)
        started = time.perf_counter()
        cells = sw.components(labels, classes="foreground")
        found_ms = 1e3 * (time.perf_counter() - started)
        of = {"shape": name, "cells": cells.most, **about}
        yield {**of, "what": "components of the batch", "milliseconds": round(found_ms, 3)}
        cells, labels = cells.to(device), labels.to(device)
        logits = torch.randn(shape, device=device).requires_grad_()
        plain: dict[str, float] = {}
        for label, loss, given in (
            ("DiceCE, λ = 1", sw.loss("DiceCE", weight=1.0), None),
            ("CC-DiceCE", sw.loss("CC-DiceCE"), cells),
        ):
            criterion = loss.to(device)

            def step(criterion: sw.Loss = criterion, given: sw.Cells | None = given, logits: Tensor = logits) -> None:
                logits.grad = None
                criterion(logits, labels, cells=given).backward()  # noqa: B023

            step()
            extra = ""
            if device.type == "cuda":
                logits.grad = None
                torch.cuda.reset_peak_memory_stats()
                before = torch.cuda.memory_allocated()
                step()
                peak = torch.cuda.max_memory_allocated() - before
                extra = f"{peak / (logits.numel() * logits.element_size()):.4f}"
            ways = {"eager": step} | ({"graph": captured(step)} if device.type == "cuda" else {})
            for way, run in ways.items():
                took = median_ms(run, device)
                plain.setdefault(way, took)
                row = {"what": f"{label}, {way}", "milliseconds": round(took, 4), "ratio": round(took / plain[way], 3)}
                yield {**of, **row, "extra_memory": extra}
            if device.type == "cuda":
                for kernel, microseconds in kernel_times(step).items():
                    yield {**of, "what": f"{label}, kernel {kernel}", "milliseconds": round(microseconds / 1e3, 5)}


def main() -> None:
    """Measure, print, and write where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="")
    out = parser.parse_args().out
    with open(out, "w", newline="", encoding="utf-8") if out else sys.stdout as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in measure(torch.device("cuda" if torch.cuda.is_available() else "cpu")):
            writer.writerow(row)
            file.flush()


if __name__ == "__main__":
    main()
