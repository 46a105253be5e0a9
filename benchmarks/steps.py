"""A step by every way that users take it: ``PYTHONPATH=src python benchmarks/steps.py LABEL [OUT.csv [1]]``.

"python" is the time from call to call in Python while the device may lag behind, as in training; "graph" that of the
same step replayed from a CUDA graph, so of the device alone. Ways: the bare call, terms() with total(), deep
supervision over three levels, and the bare calls of those three levels one after the other, which is the same work. Run
it with two versions of the package in turn to compare them; LABEL tells them apart in the rows, and COMMIT in the
environment says which they are. 1: float32 alone.
"""

import csv
import os
import statistics
import sys

import torch
from device_time import captured, stream_us
from torch.nn import functional

import sizewise as sw

SHAPES = ((8, 2, 512, 512), (2, 3, 128, 128, 128), (8, 19, 512, 1024), (2, 16, 96, 160, 160))
KINDS = ((torch.float32, torch.int64), (torch.bfloat16, torch.uint8))
ROUNDS, REPEATS = 7, 60
HEAD = ["version", "shape", "logits", "way", "python_us", "device_us", "gpu", "torch", "commit"]


def steps(shape: tuple[int, ...], dtype: torch.dtype, labels: torch.dtype) -> dict:
    """What to time, by name."""
    logits = torch.randn(shape, device="cuda", dtype=dtype).requires_grad_()
    target = torch.randint(0, shape[1], (shape[0], *shape[2:]), device="cuda", dtype=labels)
    coarse = [logits]
    for _ in range(2):
        halved = [size // 2 for size in coarse[-1].shape[2:]]
        coarse.append(torch.randn(*shape[:2], *halved, device="cuda", dtype=dtype).requires_grad_())
    targets = [functional.interpolate(target[:, None].float(), one.shape[2:])[:, 0].to(labels) for one in coarse]
    rce, dice = sw.loss("RCE").cuda(), sw.loss("DiceCE").cuda()
    deep = sw.DeepSupervision(rce)

    def bare(criterion, z=logits, y=target):
        return torch.autograd.grad(criterion(z, y), z)

    def logged():
        terms = rce.terms(logits, target)
        return torch.autograd.grad(rce.total(terms), logits)

    return {
        "bare RCE": lambda: bare(rce),
        "bare DiceCE": lambda: bare(dice),
        "terms and total": logged,
        "deep supervision": lambda: torch.autograd.grad(deep(coarse, targets), coarse),
        "bare, three levels": lambda: [bare(rce, z, y) for z, y in zip(coarse, targets, strict=True)],
        "torch CE": lambda: bare(lambda z, y: functional.cross_entropy(z.float(), y.long())),
    }


def main() -> None:
    """Print medians, and append them as rows."""
    label, rows = sys.argv[1], []
    for shape in SHAPES:
        for dtype, labels in KINDS[: int(sys.argv[3]) if len(sys.argv) > 3 else 2]:
            runs = steps(shape, dtype, labels)
            for run in runs.values():
                for _ in range(5):
                    run()
            graphs = {name: captured(run) for name, run in runs.items() if name != "bare, three levels"}
            times: dict[str, list[float]] = {name: [] for name in runs}
            on_device: dict[str, list[float]] = {name: [] for name in graphs}
            for _ in range(ROUNDS):
                for name, run in runs.items():
                    times[name].append(stream_us(run, REPEATS))
                for name, run in graphs.items():
                    on_device[name].append(stream_us(run, 30))
            for name, found in times.items():
                device = statistics.median(on_device[name]) if name in on_device else float("nan")
                size = "x".join(map(str, shape))
                kind = str(dtype).removeprefix("torch.")
                rows.append([label, size, kind, name, f"{statistics.median(found):.1f}", f"{device:.1f}"])
                print(" ".join(rows[-1]), flush=True)
            del runs, graphs
            torch.cuda.empty_cache()
    if len(sys.argv) > 2:
        machine = [torch.cuda.get_device_name(), torch.__version__, os.environ.get("COMMIT", "")]
        with open(sys.argv[2], "a", newline="") as file:
            if not file.tell():
                csv.writer(file).writerow(HEAD)
            csv.writer(file).writerows([[*row, *machine] for row in rows])


if __name__ == "__main__":
    main()
