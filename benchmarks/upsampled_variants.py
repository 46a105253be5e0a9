"""Shapes of the kernels for upsampled logits: ``PYTHONPATH=src python benchmarks/upsampled_variants.py [CLASSES]``.

Device time of RCE's two passes, each in a CUDA graph, and the seconds to compile them, for several chunks of classes,
pixels in a thread, programs on a multiprocessor and limits on registers.
"""

import sys
import time
from functools import partial

import torch
from device_time import captured, stream_us

from sizewise.stats.kernels import passes, piece_calls, upsampled_call
from sizewise.stats.kernels.shapes import PieceShape

SIZES = {150: ((128, 128), (512, 512)), 19: ((128, 256), (512, 1024))}
# chunk, block, warps, columns, lines, pixels, waves, registers
SHAPES = (
    PieceShape(4, 32, 1, 4, 4, 8, 12, 168),
    PieceShape(4, 32, 1, 4, 4, 8, 8, 0),
    PieceShape(4, 32, 1, 4, 4, 8, 16, 128),
    PieceShape(4, 32, 1, 4, 4, 4, 16, 128),
    PieceShape(4, 32, 1, 4, 4, 4, 12, 168),
    PieceShape(8, 32, 1, 4, 4, 4, 12, 168),
    PieceShape(2, 32, 1, 4, 4, 8, 16, 128),
    PieceShape(4, 32, 1, 4, 4, 4, 24, 80),
)


def main() -> None:
    """Print a line for each shape."""
    for classes in map(int, sys.argv[1:] or ["150", "19"]):
        small, full = SIZES[classes]
        logits = torch.randn(8, classes, *small, device="cuda")
        target = torch.randint(0, classes, (8, 1, *full), device="cuda")
        options = (None, None, False, [0, 1, 2, 4], [0.0, 0.0, 0.0, 10.0], "linear")
        for shape in SHAPES:
            piece_calls.piece_shape = upsampled_call.piece_shape = lambda _classes, shape=shape: shape
            passes._calls.clear()
            start = time.perf_counter()
            try:
                sums = passes.region_sums(logits, target, *options)
                between = time.perf_counter()
                coefficients = torch.ones_like(sums)
                passes.region_gradient(coefficients, logits, target, *options)
            except Exception as error:
                print(classes, tuple(shape), type(error).__name__, str(error)[:200], flush=True)
                continue
            end = time.perf_counter()
            forward = captured(partial(passes.region_sums, logits, target, *options))
            backward = captured(partial(passes.region_gradient, coefficients, logits, target, *options))
            times = [min(stream_us(one, 10) for _ in range(3)) for one in (forward, backward)]
            compiled = f"compiled in {between - start:.1f} + {end - between:.1f} s"
            print(
                classes, tuple(shape), f"forward {times[0]:.0f} us, backward {times[1]:.0f} us,", compiled, flush=True
            )


if __name__ == "__main__":
    main()
