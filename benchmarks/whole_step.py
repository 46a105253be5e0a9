"""What ``upsample`` does to a whole step: ``PYTHONPATH=src python benchmarks/whole_step.py [OUT.csv] [SECONDS]``.

Forward, loss, backward and update in bfloat16, for networks whose head gives a quarter of the picture's size: with the
loss reading these logits, and as people train, enlarging them first. "step_ms" is the step captured in a CUDA graph, as
``sizewise train`` runs it, "eager_ms" that from Python, and the peak of memory is that of eager steps. The ways of a
network take turns, there and back, so that none gains by its place; their graphs are kept side by side, some 25 GB in
all. No network is begun after so many SECONDS (60); the first one takes half a minute to get ready. COMMIT in the
environment says which version it was.
"""

import csv
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from device_time import captured, stream_us
from torch import Tensor, nn
from torch.nn import functional

import sizewise as sw
from sizewise.models.build import build_model
from sizewise.models.head_upsampling import leave_upsampling_to_loss

ROUNDS, STEPS = 5, 5
HEAD = ["network", "batch", "classes", "way", "step_ms", "eager_ms", "peak_mib", "first_s", "gpu", "torch", "commit"]
WAYS = ("our RCE, upsample", "interpolate, our RCE", "interpolate, torch CE")


@dataclass(frozen=True)
class Case:
    """A network in training; ``upsample`` is how its logits are enlarged."""

    name: str
    build: Callable[[int], nn.Module]
    batch: tuple[int, int, int, int]
    classes: int
    upsample: str
    layout: torch.memory_format = torch.contiguous_format


def fpn(classes: int) -> nn.Module:
    """R50-FPN of segmentation_models.pytorch, whose head leaves the enlarging to others."""
    network = build_model("fpn-resnet50", spatial_dims=2, in_channels=3, out_channels=classes)
    assert leave_upsampling_to_loss(network) == "linear-corners"
    return network


def segformer(classes: int) -> nn.Module:
    """SegFormer-B0, of transformers or, where that is not installed, of segmentation_models.pytorch."""
    try:
        from transformers import SegformerConfig, SegformerForSemanticSegmentation
    except ImportError as error:
        why = str(error).strip().splitlines()[-1]
        print(f"no transformers here ({why}): the SegFormer of segmentation_models.pytorch is taken", flush=True)
        network = build_model("segformer-mit_b0", spatial_dims=2, in_channels=3, out_channels=classes)
        leave_upsampling_to_loss(network)
        return network

    class Logits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = SegformerForSemanticSegmentation(SegformerConfig(num_labels=classes))

        def forward(self, pixels: Tensor) -> Tensor:
            return self.network(pixels).logits

    return Logits()


CASES = (
    Case("R50-FPN", fpn, (8, 3, 512, 1024), 19, "linear-corners", torch.channels_last),
    Case("SegFormer-B0", segformer, (8, 3, 512, 512), 150, "linear"),
    Case("R50-FPN", fpn, (8, 3, 352, 352), 2, "linear-corners", torch.channels_last),
)


def loss_of(way: str, case: Case, device: str) -> Callable[[Tensor, Tensor], Tensor]:
    """From the head's own logits to the loss."""
    if way == "our RCE, upsample":
        return sw.loss("RCE", upsample=case.upsample).to(device)
    plain = nn.CrossEntropyLoss() if way.endswith("torch CE") else sw.loss("RCE").to(device)

    def enlarging(logits: Tensor, target: Tensor) -> Tensor:
        size, corners = target.shape[1:], case.upsample == "linear-corners"
        return plain(functional.interpolate(logits, size, mode="bilinear", align_corners=corners), target)

    return enlarging


def step_of(way: str, case: Case, device: str = "cuda") -> Callable[[], None]:
    """One training step as a function of nothing."""
    torch.manual_seed(0)
    network = case.build(case.classes).to(device).to(memory_format=case.layout).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=True, capturable=device == "cuda")
    criterion = loss_of(way, case, device)
    pixels = torch.randn(case.batch, device=device).contiguous(memory_format=case.layout)
    target = torch.randint(0, case.classes, (case.batch[0], *case.batch[2:]), device=device)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16):
            loss = criterion(network(pixels), target)
        loss.backward()
        optimizer.step()

    return step


def in_turns(runs: dict[str, Callable], repeats: int = STEPS) -> dict[str, float]:
    """Median milliseconds of each, measured in turns: there and back."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(ROUNDS):
        for name in list(runs)[:: -1 if turn % 2 else 1]:
            times[name].append(stream_us(runs[name], repeats) / 1e3)
    return {name: statistics.median(found) for name, found in times.items()}


def measured(case: Case) -> list[list[str]]:
    """A row for each way."""
    steps, readiness = {}, {}
    for way in WAYS:
        torch.cuda.empty_cache()
        others = torch.cuda.memory_allocated()  # the weights of the ways before it
        start = time.perf_counter()
        steps[way] = step_of(way, case)
        for _ in range(3):
            steps[way]()
        torch.cuda.synchronize()
        first = time.perf_counter() - start
        torch.cuda.reset_peak_memory_stats()
        steps[way]()
        torch.cuda.synchronize()
        readiness[way] = [f"{(torch.cuda.max_memory_allocated() - others) / 2**20:.0f}", f"{first:.1f}"]
        print(f"{case.name}, {way}: {readiness[way][0]} MiB, ready after {first:.1f} s", flush=True)
    eager = in_turns(steps)
    replayed = in_turns({way: captured(step) for way, step in steps.items()})
    words = [case.name, "x".join(map(str, case.batch)), str(case.classes)]
    return [[*words, way, f"{replayed[way]:.2f}", f"{eager[way]:.2f}", *readiness[way]] for way in WAYS]


def main() -> None:
    """Print medians, and write them as rows."""
    path, seconds = [*sys.argv, ""][1], float([*sys.argv, "", ""][2] or 60)
    torch.backends.cudnn.benchmark = True  # as training does
    machine = [torch.cuda.get_device_name(), torch.__version__, os.environ.get("COMMIT", "")]
    start = time.perf_counter()
    with open(path or os.devnull, "w", newline="") as file:
        csv.writer(file).writerow(HEAD)
        for case in CASES:
            if time.perf_counter() - start > seconds:
                print("out of time before", case.name, case.classes, flush=True)
                return
            for row in measured(case):
                print(*row, sep=" | ", flush=True)
                csv.writer(file).writerow([*row, *machine])
            file.flush()


if __name__ == "__main__":
    main()
