"""Decisions on a GPU against the peers: ``PYTHONPATH=src python benchmarks/decide.py [OUT.csv]``.

Labels from float32 logits, softmax and every update included. Times are medians of rounds in which all run in turn;
"device" is that of the launches replayed from a CUDA graph, "python" the time from call to call. Memory is the peak
above the logits. Logits are smooth fields, as networks give them: coarse noise, enlarged.
"""

import csv
import os
import statistics
import sys

import torch
from device_time import captured_or_none, stream_us

import sizewise as sw

SHAPES = ((8, 19, 512, 1024), (2, 16, 96, 160, 160), (8, 2, 512, 512), (2, 3, 128, 128, 128))
ROUNDS = 7


def smooth(shape: tuple[int, ...], scale: float = 2.0) -> torch.Tensor:
    """Coarse noise, enlarged sixteen times."""
    torch.manual_seed(0)
    images, classes, *size = shape
    mode = "bilinear" if len(size) == 2 else "trilinear"
    coarse = scale * torch.randn(images, classes, *(max(2, one // 16) for one in size), device="cuda")
    return torch.nn.functional.interpolate(coarse, size=size, mode=mode)


def ways(logits: torch.Tensor) -> dict:
    """What to time, by name."""
    runs = {
        "torch argmax": lambda: logits.argmax(1),
        "torch softmax + argmax": lambda: logits.softmax(1).argmax(1),
        "sizewise argmax": lambda: sw.decide(logits, metric="argmax"),
        "sizewise dice": lambda: sw.decide(logits),
        "sizewise dice, no background": lambda: sw.decide(logits, background=None),
        "sizewise iou": lambda: sw.decide(logits, metric="iou"),
        "sizewise size": lambda: sw.decide(logits, metric="size"),
    }
    try:
        from rankseg import rankseg_rma
    except ImportError:
        return runs
    for name, screening in (("rankseg", False), ("rankseg, screened", True)):
        runs[name] = lambda screening=screening: rankseg_rma(logits.softmax(1), safe_screening=screening)
    return runs


def main() -> None:
    """Print medians, and write them as rows, those of a shape when they are there."""
    versions = (torch.cuda.get_device_name(), torch.__version__, os.environ.get("COMMIT", ""))
    with open(sys.argv[1] if len(sys.argv) > 1 else os.devnull, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["shape", "way", "python_us", "device_us", "memory_over_logits", "gpu", "torch", "commit"])
        for shape in SHAPES:
            for row in measured(shape):
                print(" | ".join(row), flush=True)
                writer.writerow([*row, *versions])
            file.flush()


def measured(shape: tuple[int, ...]) -> list[list[str]]:
    """The rows of one shape."""
    logits = smooth(shape)
    runs = ways(logits)
    times: dict[str, list[float]] = {name: [] for name in runs}
    memory, graphs = {}, {}
    for name, run in runs.items():
        run()
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        kept = run()
        torch.cuda.synchronize()
        memory[name] = (torch.cuda.max_memory_allocated() - before) / logits.nbytes
        del kept
        graphs[name] = None if name.startswith("rankseg") else captured_or_none(run)
    on_device: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            times[name].append(stream_us(run, 5 if "rankseg" in name or "size" in name[9:] else 20))
            if graphs[name] is not None:
                on_device[name].append(stream_us(graphs[name], 10))
    rows = []
    for name in runs:
        device = statistics.median(on_device[name]) if on_device[name] else float("nan")
        row = ["x".join(map(str, shape)), name, f"{statistics.median(times[name]):.0f}", f"{device:.0f}"]
        rows.append([*row, f"{memory[name]:.3f}"])
    del logits, runs, graphs
    torch.cuda.empty_cache()
    return rows


if __name__ == "__main__":
    main()
