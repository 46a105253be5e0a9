"""Times the kernels as they are, for many inputs: ``PYTHONPATH=src python benchmarks/kernel_shapes.py``."""

from functools import partial

import torch
from kernel_tuning import copy_bandwidth, median_us

from sizewise.stats.kernels import launch

FIELDS = {
    "RCE": ((0, 0.0), (1, 0.0), (2, 0.0), (4, 10.0)),
    "CE": ((0, 0.0), (1, 0.0), (2, 0.0)),
    "RFL": ((0, 0.0), (1, 0.0), (2, 2.0), (4, 10.0)),
    "DiceCE": ((0, 0.0), (1, 0.0), (2, 0.0), (3, 0.0), (4, 1.0)),
    "DiceFL": ((0, 0.0), (1, 0.0), (2, 2.0), (3, 0.0), (4, 1.0)),
}
CASES = (
    # shape, logits, labels, fields, layout
    ((8, 19, 512, 1024), torch.float32, torch.int64, "RCE", "contiguous"),
    ((2, 16, 96, 160, 160), torch.float32, torch.int64, "RCE", "contiguous"),
    ((8, 19, 512, 1024), torch.bfloat16, torch.uint8, "RCE", "contiguous"),
    ((2, 16, 96, 160, 160), torch.bfloat16, torch.uint8, "RCE", "contiguous"),
    ((8, 2, 512, 512), torch.float32, torch.int64, "RCE", "contiguous"),
    ((2, 3, 128, 128, 128), torch.float32, torch.int64, "RCE", "contiguous"),
    ((8, 19, 512, 1024), torch.float32, torch.int64, "CE", "contiguous"),
    ((8, 19, 512, 1024), torch.float32, torch.int64, "RFL", "contiguous"),
    ((8, 19, 512, 1024), torch.float32, torch.int64, "DiceCE", "contiguous"),
    ((8, 19, 512, 1024), torch.float32, torch.int64, "DiceFL", "contiguous"),
    ((8, 150, 256, 256), torch.float32, torch.int64, "RCE", "contiguous"),
    ((4, 256, 256, 256), torch.float32, torch.int64, "RCE", "contiguous"),
    ((8, 19, 512, 1024), torch.float32, torch.int64, "RCE", "channels_last"),
    ((8, 16, 512, 1024), torch.float32, torch.int64, "RCE", "channels_last"),
    ((8, 19, 511, 1023), torch.float32, torch.int64, "RCE", "contiguous"),
    ((8, 19, 512, 1024), torch.float32, torch.float32, "RCE", "contiguous"),
)


def main() -> None:
    """Print forward and backward over their floors; launches are replayed from CUDA graphs."""
    bandwidth = copy_bandwidth()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, copy {bandwidth / 1e12:.2f} TB/s")
    for shape, dtype, label, fields, layout in CASES:
        logits = torch.randn(shape, device="cuda", dtype=dtype)
        if layout == "channels_last":
            logits = logits.contiguous(memory_format=torch.channels_last)
        if label.is_floating_point:
            target = torch.randn(shape, device="cuda").softmax(1)
        else:
            target = torch.randint(0, shape[1], (shape[0], 1, *shape[2:]), device="cuda", dtype=label)
        kinds, parameters = zip(*FIELDS[fields], strict=True)
        arguments = (logits, target, None, None, False, list(kinds), list(parameters))
        sums = launch.region_sums(*arguments)
        forward = median_us(replay(partial(launch.region_sums, *arguments)))
        backward = median_us(replay(partial(launch.region_gradient, sums, *arguments)))
        read = (logits.nbytes + target.nbytes) / bandwidth * 1e6
        floor = 2 * read + logits.nbytes / bandwidth * 1e6
        print(
            f"{fields:6} {shape} {layout} {dtype} {label}: forward {forward:.0f} us ({forward / read:.2f}), backward "
            f"{backward:.0f} us ({backward / (floor - read):.2f}), both {(forward + backward) / floor:.2f} x floor",
            flush=True,
        )


def replay(run):
    """A CUDA graph of ``run``: the time on the device, without gaps for Python."""
    for _ in range(2):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = run()
    return lambda: (graph.replay(), kept)


if __name__ == "__main__":
    main()
