"""Where the time of a small loss goes, called from Python: ``PYTHONPATH=src python benchmarks/kernel_overhead.py``."""

import time

import torch
from kernel_tuning import copy_bandwidth, median_us
from torch.nn import functional

import sizewise as sw
from sizewise.stats.kernels import launch
from sizewise.stats.operator import region_gradient, region_sums

SHAPES = ((8, 2, 512, 512), (2, 3, 128, 128, 128), (8, 19, 512, 1024), (2, 16, 96, 160, 160))


def wall_us(run, repeats=100) -> float:
    """The time from call to call in Python, device included where it is slower."""
    for _ in range(10):
        run()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / repeats * 1e6


def steps(shape: tuple[int, ...]) -> tuple[dict, float]:
    """What to time for one shape, by name, and the bytes that a loss must move."""
    logits = torch.randn(shape, device="cuda", requires_grad=True)
    target = torch.randint(0, shape[1], (shape[0], *shape[2:]), device="cuda")
    criterion = sw.loss("RCE").cuda()
    fields = list(dict.fromkeys([(0, 0.0), (1, 0.0), *((int(kind), value) for kind, value in criterion.fields)]))
    options = (None, None, False, [kind for kind, _ in fields], [value for _, value in fields])
    plain, labels = logits.detach(), target.unsqueeze(1)
    sums = launch.region_sums(plain, labels, *options)

    def step(loss):
        return torch.autograd.grad(loss(logits, target), logits)

    def replay():
        for _ in range(3):
            step(criterion)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kept = step(criterion)
        return lambda: (graph.replay(), kept)

    runs = {
        "torch CE": lambda: step(functional.cross_entropy),
        "RCE": lambda: step(criterion),
        "RCE forward, no gradient": lambda: criterion(plain, target),
        "RCE as a CUDA graph": replay(),
        "launch forward": lambda: launch.region_sums(plain, labels, *options),
        "launch backward": lambda: launch.region_gradient(sums, plain, labels, *options),
        "operator forward": lambda: region_sums(plain, labels, *options),
        "operator backward": lambda: region_gradient(sums, plain, labels, *options),
    }
    return runs, 3 * logits.nbytes + 2 * target.nbytes


def main() -> None:
    """Print times in Python and on the device."""
    bandwidth = copy_bandwidth()
    for shape in SHAPES:
        runs, moved = steps(shape)
        print(f"{shape}: floor {moved / bandwidth * 1e6:.0f} us")
        for name, run in runs.items():
            print(f"  {name}: wall {wall_us(run):.0f} us, device {median_us(run, 30):.0f} us", flush=True)


if __name__ == "__main__":
    main()
