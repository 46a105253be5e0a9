"""Times the kernels one by one for several block shapes: ``PYTHONPATH=src python benchmarks/kernel_tuning.py``.

The floor of a kernel is the bytes that it must move at the bandwidth of a copy measured in the same run.
"""

import statistics
import sys
from functools import partial

import torch

from sizewise.stats.kernels import call
from sizewise.stats.kernels.label_errors import record_of
from sizewise.stats.kernels.shapes import Shape

RCE = [(0, 0.0), (1, 0.0), (2, 0.0), (4, 10.0)]


def median_us(run, repeats=15) -> float:
    """The median time on the device of one call, from events."""
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


def copy_bandwidth() -> float:
    """Bytes read and written each second."""
    source = torch.empty(1 << 30, dtype=torch.float32, device="cuda").normal_()
    target = torch.empty_like(source)
    return 2 * source.numel() * 4 / (median_us(lambda: target.copy_(source)) * 1e-6)


VARIANTS = [
    # (vector, warps, waves)
    (2, 1, 8),
    (2, 1, 12),
    (2, 1, 16),
    (2, 1, 32),
    (2, 4, 8),
    (4, 1, 8),
    (4, 1, 12),
    (4, 1, 32),
    (4, 4, 4),
]


def main() -> None:
    """Print the best variants for each kernel, shape and dtype."""
    bandwidth = copy_bandwidth()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, copy {bandwidth / 1e12:.2f} TB/s")
    shown = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    record = record_of(torch.device("cuda", 0))
    for shape in ((8, 19, 512, 1024), (2, 16, 96, 160, 160)):
        for dtype, label in ((torch.float32, torch.int64), (torch.bfloat16, torch.uint8)):
            logits = torch.randn(shape, device="cuda", dtype=dtype)
            target = torch.randint(0, shape[1], (shape[0], 1, *shape[2:]), device="cuda", dtype=label)
            gradient = torch.empty_like(logits)
            read = logits.nbytes + target.nbytes
            floors = {"forward": read / bandwidth * 1e6, "backward": (read + logits.nbytes) / bandwidth * 1e6}
            print(f"{shape} {dtype} {label}: floors {floors['forward']:.0f} + {floors['backward']:.0f} us")
            for which in ("forward", "backward"):
                results = []
                for vector, warps, waves in VARIANTS:
                    block = Shape(1, 32 * warps * vector, warps, vector, waves)
                    call.forward_shape = call.backward_shape = lambda *_, block=block: block
                    if which == "forward":
                        one = call.ForwardCall(logits, target, None, None, False, RCE)
                        arguments = (logits, target, None, record.tensor)
                    else:
                        one = call.BackwardCall(logits, target, None, gradient, None, False, RCE)
                        arguments = (torch.randn(4, *shape[:2], device="cuda"), logits, target, None, gradient)
                    time = median_us(partial(one, *arguments))
                    results.append((time / floors[which], time, vector, warps, waves))
                for ratio, time, vector, warps, waves in sorted(results)[:shown]:
                    print(
                        f"  {which:8} {ratio:.2f} x floor {time:6.0f} us vector {vector} warps {warps} waves {waves}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
