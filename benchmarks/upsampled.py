"""Losses of logits at a quarter of the size: ``PYTHONPATH=src python benchmarks/upsampled.py [OUT.csv] [SECONDS]``.

Device time of forward and backward in a CUDA graph, and the peak of memory over the head's own logits, for: our loss
with ``upsample``; interpolate and our loss; torch's interpolate and cross-entropy, plain and under torch.compile. Those
that decide who upsamples come first, and none is begun after so many SECONDS (40); each row is written when it is
measured. COMMIT in the environment says which version it was.
"""

import csv
import os
import statistics
import sys
import time
from itertools import product

import torch
from device_time import captured, stream_us
from torch.nn import functional

import sizewise as sw

# logits, size of the labels, dtype of logits and labels, activation
CASES = (
    ((8, 2, 88, 88), (352, 352), torch.float32, torch.int64, "softmax"),
    ((8, 4, 88, 88), (352, 352), torch.float32, torch.uint8, "sigmoid"),
    ((8, 19, 128, 256), (512, 1024), torch.bfloat16, torch.uint8, "softmax"),
    ((8, 150, 128, 128), (512, 512), torch.bfloat16, torch.uint8, "softmax"),
    ((8, 19, 128, 256), (512, 1024), torch.float32, torch.int64, "softmax"),
    ((8, 150, 128, 128), (512, 512), torch.float32, torch.int64, "softmax"),
    ((8, 2, 128, 128), (512, 512), torch.float32, torch.int64, "softmax"),
    ((8, 19, 100, 190), (512, 1024), torch.float32, torch.int64, "softmax"),
    ((2, 4, 64, 64, 64), (128, 128, 128), torch.float32, torch.int64, "softmax"),
)
WAYS = (
    ("our RCE, upsample, corners, channels_last", "interpolate, our RCE, corners, channels_last"),  # as training does
    ("our RCE, upsample", "interpolate, our RCE", "interpolate, torch CE"),
    ("our DiceCE, upsample", "our RCE, upsample, corners", "interpolate, torch CE, compiled"),
)
ROUNDS = 7
HEAD = ["logits", "labels", "dtype", "way", "device_us", "memory_over_logits", "first_call_s"]
MACHINE = ["gpu", "torch", "commit"]


def loss_of(way: str, size: tuple[int, ...], activation: str):
    """What to time, a function of the small logits and the labels."""
    parts = way.split(", ")
    if "upsample" in parts:
        upsample = "linear-corners" if "corners" in parts else "linear"
        return sw.loss(parts[0].removeprefix("our "), upsample=upsample, activation=activation).cuda()
    mode = {1: "linear", 2: "bilinear", 3: "trilinear"}[len(size)]
    plain = sw.loss("RCE", activation=activation).cuda()

    def enlarged(z):
        return functional.interpolate(z, size, mode=mode, align_corners="corners" in parts)

    def torchs(z, y):
        if activation == "sigmoid":
            return functional.binary_cross_entropy_with_logits(enlarged(z).float(), y.float())
        return functional.cross_entropy(enlarged(z).float(), y.long())

    if "our RCE" in parts:
        return lambda z, y: plain(enlarged(z), y)
    return torch.compile(torchs, fullgraph=True, dynamic=False) if "compiled" in parts else torchs


def measured(way: str, shape, size, dtype, labels, activation) -> list[str]:
    """A row."""
    torch.cuda.empty_cache()
    logits = torch.randn(shape, device="cuda", dtype=dtype)
    if way.endswith("channels_last"):
        logits = logits.movedim(1, -1).contiguous().movedim(-1, 1)
    logits.requires_grad_()
    channels, classes = ((shape[1],), 2) if activation == "sigmoid" else ((), shape[1])
    target = torch.randint(0, classes, (shape[0], *channels, *size), device="cuda", dtype=labels)
    loss = loss_of(way, size, activation)

    def run():
        return torch.autograd.grad(loss(logits, target), logits)

    start = time.perf_counter()
    run()
    torch.cuda.synchronize()
    first = time.perf_counter() - start
    for _ in range(2):
        run()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run()
    peak = (torch.cuda.max_memory_allocated() - before) / (logits.numel() * logits.element_size())
    graph = captured(run)
    found = statistics.median(stream_us(graph, 20) for _ in range(ROUNDS))
    name = way if activation == "softmax" else f"{way}, {activation}"
    words = ["x".join(map(str, shape)), "x".join(map(str, size)), str(dtype).removeprefix("torch."), name]
    return [*words, f"{found:.1f}", f"{peak:.2f}", f"{first:.1f}"]


def main() -> None:
    """Print medians, and write them as rows."""
    path, seconds = [*sys.argv, ""][1], float([*sys.argv, "", ""][2] or 40)
    machine = [torch.cuda.get_device_name(), torch.__version__, os.environ.get("COMMIT", "")]
    start = time.perf_counter()
    with open(path or os.devnull, "w", newline="") as file:
        csv.writer(file).writerow([*HEAD, *MACHINE])
        for ways, case in product(WAYS, CASES):
            for way in ways:
                if time.perf_counter() - start > seconds:
                    print("out of time before", way, case[0], flush=True)
                    return
                row = measured(way, *case)
                print(" ".join(row), flush=True)
                csv.writer(file).writerow([*row, *machine])
                file.flush()


if __name__ == "__main__":
    main()
