"""Losses of logits at a quarter of the size: ``PYTHONPATH=src python benchmarks/upsampled.py [OUT.csv] [SECONDS]``.

Device time of forward and backward in a CUDA graph, and the peak of memory over the head's own logits, for: our loss
with ``upsample``; interpolate and our loss; torch's interpolate and cross-entropy, plain and under torch.compile. Our
rows come first, then the peers', and none is begun after so many SECONDS (40); each is written when it is measured.
COMMIT in the environment says which version it was.
"""

import csv
import os
import statistics
import sys
import time
from collections.abc import Iterator

import torch
from steps import captured, stream_us
from torch.nn import functional

import sizewise as sw

# logits, size of the labels, dtype of logits and labels
CASES = (
    ((8, 150, 128, 128), (512, 512), torch.float32, torch.int64),
    ((8, 19, 128, 256), (512, 1024), torch.float32, torch.int64),
    ((8, 150, 128, 128), (512, 512), torch.bfloat16, torch.uint8),
    ((8, 19, 128, 256), (512, 1024), torch.bfloat16, torch.uint8),
    ((8, 2, 128, 128), (512, 512), torch.float32, torch.int64),
    ((8, 2, 88, 88), (352, 352), torch.bfloat16, torch.uint8),
    ((8, 19, 100, 190), (512, 1024), torch.float32, torch.int64),
    ((2, 4, 64, 64, 64), (128, 128, 128), torch.float32, torch.int64),
)
ROUNDS = 7
HEAD = ["logits", "labels", "dtype", "way", "device_us", "memory_over_logits", "first_call_s"]
MACHINE = ["gpu", "torch", "commit"]


def ours(size: tuple[int, ...]) -> dict:
    """What to time, by name."""
    return {
        "our RCE, upsample": sw.loss("RCE", upsample="linear").cuda(),
        "our DiceCE, upsample": sw.loss("DiceCE", upsample="linear").cuda(),
        "our RCE, upsample, corners": sw.loss("RCE", upsample="linear-corners").cuda(),
        "our RCE, upsample, corners, channels_last": sw.loss("RCE", upsample="linear-corners").cuda(),
    }


def peers(size: tuple[int, ...]) -> dict:
    """The ways that enlarge the logits first."""
    mode = "bilinear" if len(size) == 2 else "trilinear"
    plain = sw.loss("RCE").cuda()

    def enlarged(z):
        return functional.interpolate(z.float(), size, mode=mode, align_corners=False)

    def peer(z, y):
        return functional.cross_entropy(enlarged(z), y.long())

    return {
        "interpolate, our RCE": lambda z, y: plain(enlarged(z), y),
        "interpolate, our RCE, channels_last": lambda z, y: plain(enlarged(z), y),
        "interpolate, torch CE": peer,
        "interpolate, torch CE, compiled": torch.compile(peer, fullgraph=True, dynamic=False),
    }


def measured(shape, size, dtype, labels, ways) -> Iterator[list[str]]:
    """A row for each way."""
    contiguous = torch.randn(shape, device="cuda", dtype=dtype)
    target = torch.randint(0, shape[1], (shape[0], *size), device="cuda", dtype=labels)
    for name, loss in ways(size).items():
        logits = contiguous.clone()
        if name.endswith("channels_last"):
            logits = logits.movedim(1, -1).contiguous().movedim(-1, 1)
        logits.requires_grad_()

        def run(loss=loss, logits=logits):
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
        words = ["x".join(map(str, shape)), "x".join(map(str, size)), str(dtype).removeprefix("torch."), name]
        yield [*words, f"{found:.1f}", f"{peak:.2f}", f"{first:.1f}"]
        del graph
    torch.cuda.empty_cache()


def main() -> None:
    """Print medians, and write them as rows."""
    path, seconds = [*sys.argv, ""][1], float([*sys.argv, "", ""][2] or 40)
    machine = [torch.cuda.get_device_name(), torch.__version__, os.environ.get("COMMIT", "")]
    start = time.perf_counter()
    with open(path or os.devnull, "w", newline="") as file:
        csv.writer(file).writerow([*HEAD, *MACHINE])
        for ways in (ours, peers):
            for case in CASES:
                if time.perf_counter() - start > seconds:
                    print("out of time before", ways.__name__, case[0], flush=True)
                    return
                for row in measured(*case, ways):
                    print(" ".join(row), flush=True)
                    csv.writer(file).writerow([*row, *machine])
                    file.flush()


if __name__ == "__main__":
    main()
