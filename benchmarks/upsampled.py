"""Losses of logits at a quarter of the size: ``PYTHONPATH=src python benchmarks/upsampled.py [OUT.csv]``.

Device time of forward and backward in a CUDA graph, and the peak of memory over the head's own logits, for: torch's
interpolate and cross-entropy; the same under torch.compile; interpolate and our loss; our loss with ``upsample``.
COMMIT in the environment says which version it was.
"""

import csv
import os
import statistics
import sys

import torch
from steps import captured, stream_us
from torch.nn import functional

import sizewise as sw

# logits, size of the labels, dtype of logits and labels
CASES = (
    ((8, 19, 128, 256), (512, 1024), torch.float32, torch.int64),
    ((8, 150, 128, 128), (512, 512), torch.float32, torch.int64),
    ((8, 19, 128, 256), (512, 1024), torch.bfloat16, torch.uint8),
    ((8, 150, 128, 128), (512, 512), torch.bfloat16, torch.uint8),
    ((8, 2, 128, 128), (512, 512), torch.float32, torch.int64),
    ((8, 2, 88, 88), (352, 352), torch.bfloat16, torch.uint8),
    ((8, 19, 100, 190), (512, 1024), torch.float32, torch.int64),
    ((2, 4, 64, 64, 64), (128, 128, 128), torch.float32, torch.int64),
)
ROUNDS = 7
HEAD = ["logits", "labels", "dtype", "way", "device_us", "memory_over_logits", "gpu", "torch", "commit"]


def ways(size: tuple[int, ...]) -> dict:
    """What to time, by name."""
    mode = "bilinear" if len(size) == 2 else "trilinear"
    plain, small = sw.loss("RCE").cuda(), sw.loss("RCE", upsample="linear").cuda()
    dice = sw.loss("DiceCE", upsample="linear").cuda()

    def enlarged(z):
        return functional.interpolate(z.float(), size, mode=mode, align_corners=False)

    def peer(z, y):
        return functional.cross_entropy(enlarged(z), y.long())

    return {
        "interpolate, torch CE": peer,
        "interpolate, torch CE, compiled": torch.compile(peer, fullgraph=True, dynamic=False),
        "interpolate, our RCE": lambda z, y: plain(enlarged(z), y),
        "our RCE, upsample": small,
        "our DiceCE, upsample": dice,
    }


def step_of(loss, logits: torch.Tensor, target: torch.Tensor):
    """Forward and backward as a function of nothing."""
    return lambda: torch.autograd.grad(loss(logits, target), logits)


def main() -> None:
    """Print medians, and append them as rows."""
    rows = []
    for shape, size, dtype, labels in CASES:
        logits = torch.randn(shape, device="cuda", dtype=dtype).requires_grad_()
        target = torch.randint(0, shape[1], (shape[0], *size), device="cuda", dtype=labels)
        runs = {name: step_of(loss, logits, target) for name, loss in ways(size).items()}
        peaks, graphs, times = {}, {}, {name: [] for name in runs}
        for name, run in runs.items():
            for _ in range(3):
                run()
            torch.cuda.synchronize()
            before = torch.cuda.memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            run()
            peaks[name] = (torch.cuda.max_memory_allocated() - before) / (logits.numel() * logits.element_size())
            graphs[name] = captured(run)
        for _ in range(ROUNDS):
            for name, run in graphs.items():
                times[name].append(stream_us(run, 20))
        for name, found in times.items():
            words = ["x".join(map(str, shape)), "x".join(map(str, size)), str(dtype).removeprefix("torch."), name]
            rows.append([*words, f"{statistics.median(found):.1f}", f"{peaks[name]:.2f}"])
            print(" ".join(rows[-1]), flush=True)
        del runs, graphs
        torch.cuda.empty_cache()
    if len(sys.argv) > 1:
        machine = [torch.cuda.get_device_name(), torch.__version__, os.environ.get("COMMIT", "")]
        with open(sys.argv[1], "w", newline="") as file:
            csv.writer(file).writerow(HEAD)
            csv.writer(file).writerows([[*row, *machine] for row in rows])


if __name__ == "__main__":
    main()
