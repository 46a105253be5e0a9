"""Times the kernels as they are, for many inputs: ``PYTHONPATH=src python benchmarks/kernel_shapes.py``."""

from functools import partial

import torch
from device_time import copied_bytes_per_us, replayed_us
from kernel_variants import LOSSES

from sizewise.stats.kernels import passes

CITYSCAPES, VOLUME, ADE = (8, 19, 512, 1024), (1, 118, 96, 128, 128), (8, 150, 512, 512)
F32, B16, LONG, BYTE = torch.float32, torch.bfloat16, torch.int64, torch.uint8
CASES = (
    # shape, logits, target, layout
    (CITYSCAPES, F32, LONG, "contiguous"),
    (CITYSCAPES, F32, LONG, "channels_last"),
    (CITYSCAPES, B16, BYTE, "contiguous"),
    (CITYSCAPES, B16, BYTE, "channels_last"),
    (VOLUME, F32, LONG, "contiguous"),
    (VOLUME, B16, BYTE, "contiguous"),
    (ADE, B16, BYTE, "contiguous"),
    ((8, 2, 512, 512), B16, BYTE, "contiguous"),
    ((8, 2, 512, 512), F32, LONG, "contiguous"),
    ((2, 3, 128, 128, 128), F32, LONG, "contiguous"),
    ((2, 16, 96, 160, 160), F32, LONG, "contiguous"),
    ((8, 16, 512, 1024), F32, LONG, "channels_last"),
    ((8, 19, 511, 1023), F32, LONG, "contiguous"),  # no two pixels at once
    (CITYSCAPES, F32, F32, "contiguous"),  # probabilities
)


def main() -> None:
    """Print forward and backward over their floors; launches are replayed from CUDA graphs."""
    bandwidth = copied_bytes_per_us()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, copy {bandwidth / 1e6:.2f} TB/s")
    for shape, dtype, label, layout in CASES:
        logits = torch.randn(shape, device="cuda", dtype=dtype)
        if layout == "channels_last":
            logits = logits.to(memory_format=torch.channels_last)
        if label.is_floating_point:
            target = torch.randn(shape, device="cuda").softmax(1)
        else:
            target = torch.randint(0, shape[1], (shape[0], 1, *shape[2:]), device="cuda", dtype=label)
        for loss, fields in LOSSES.items():
            kinds, parameters = zip(*fields, strict=True)
            arguments = (logits, target, None, None, False, list(kinds), list(parameters))
            sums = passes.region_sums(*arguments)
            forward = replayed_us(partial(passes.region_sums, *arguments))
            backward = replayed_us(partial(passes.region_gradient, sums, *arguments))
            read = (logits.nbytes + target.nbytes) / bandwidth
            floor = 2 * read + logits.nbytes / bandwidth
            print(
                f"{loss:9} {shape} {layout} {dtype} {label}: forward {forward:.0f} us ({forward / read:.2f}), backward "
                f"{backward:.0f} us ({backward / (floor - read):.2f}), both {(forward + backward) / floor:.2f} x floor",
                flush=True,
            )


if __name__ == "__main__":
    main()
