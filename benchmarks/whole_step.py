"""What ``upsample`` does to a whole step: ``PYTHONPATH=src python benchmarks/whole_step.py [OUT.csv] [SECONDS]``.

Forward, loss, backward and update in bfloat16, for networks whose head gives a quarter of the picture's size: with the
loss reading these logits, and as people train, enlarging them first. "step_ms" is the step captured in a CUDA graph, as
``sizewise train`` runs it, "eager_ms" that from Python, and the peak of memory is that of eager steps. Each row is
written when it is measured, and none is begun after so many SECONDS (60). COMMIT in the environment says which version
it was.
"""

import csv
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from steps import captured, stream_us
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
    except ImportError:
        print("there is no transformers here: the SegFormer of segmentation_models.pytorch is taken", flush=True)
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


def measured(way: str, case: Case) -> list[str]:
    """A row."""
    torch.cuda.empty_cache()
    start = time.perf_counter()
    step = step_of(way, case)
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    first = time.perf_counter() - start
    torch.cuda.reset_peak_memory_stats()
    eager = statistics.median(stream_us(step, STEPS) for _ in range(ROUNDS)) / 1e3
    peak = torch.cuda.max_memory_allocated() / 2**20
    try:
        graph = captured(step)
        on_device = f"{statistics.median(stream_us(graph, STEPS) for _ in range(ROUNDS)) / 1e3:.2f}"
    except RuntimeError as error:
        print(f"{case.name}, {way}: not captured, {str(error).splitlines()[0]}", flush=True)
        on_device = ""
    words = [case.name, "x".join(map(str, case.batch)), str(case.classes), way, on_device]
    return [*words, f"{eager:.2f}", f"{peak:.0f}", f"{first:.1f}"]


def main() -> None:
    """Print medians, and write them as rows."""
    path, seconds = [*sys.argv, ""][1], float([*sys.argv, "", ""][2] or 60)
    torch.backends.cudnn.benchmark = True  # as training does
    machine = [torch.cuda.get_device_name(), torch.__version__, os.environ.get("COMMIT", "")]
    start = time.perf_counter()
    with open(path or os.devnull, "w", newline="") as file:
        csv.writer(file).writerow(HEAD)
        for case in CASES:
            for way in WAYS:
                if time.perf_counter() - start > seconds:
                    print("out of time before", case.name, way, flush=True)
                    return
                row = measured(way, case)
                print(*row, sep=" | ", flush=True)
                csv.writer(file).writerow([*row, *machine])
                file.flush()


if __name__ == "__main__":
    main()
