"""What ``upsample`` does to a whole training step: ``PYTHONPATH=src python benchmarks/whole_step.py [OUT.csv]``.

Forward, loss, backward and update in bfloat16, eager, for networks whose head is a quarter of the picture's size: as
people train them (the network or the loss enlarges the logits), and with the loss reading the head's own logits. Time
from step to step and the peak of memory. COMMIT in the environment says which version it was.
"""

import csv
import os
import statistics
import sys
import time

import torch
from torch.nn import functional

import sizewise as sw

ROUNDS, STEPS = 5, 8
HEAD = ["network", "batch", "classes", "way", "step_ms", "peak_mib", "gpu", "torch", "commit"]


def fpn(enlarged: bool) -> torch.nn.Module:
    """R50-FPN with 19 classes; its head enlarges four times, or not at all."""
    import segmentation_models_pytorch as smp

    network = smp.FPN("resnet50", encoder_weights=None, classes=19)
    if not enlarged:
        network.segmentation_head[1] = torch.nn.Identity()
    return network


def segformer(enlarged: bool) -> torch.nn.Module:
    """SegFormer-B0 with 150 classes; logits at a quarter of the size either way."""
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = SegformerForSemanticSegmentation(SegformerConfig(num_labels=150))

        def forward(self, pixels: torch.Tensor) -> torch.Tensor:
            logits = self.network(pixels).logits
            if not enlarged:
                return logits
            return functional.interpolate(logits, pixels.shape[2:], mode="bilinear", align_corners=False)

    return Logits()


CASES = (
    ("R50-FPN", fpn, (8, 3, 512, 1024), 19, "linear-corners"),
    ("SegFormer-B0", segformer, (8, 3, 512, 512), 150, "linear"),
)


def step_of(network, criterion, optimizer, pixels, target):
    """One training step as a function of nothing."""

    def step() -> None:
        with torch.autocast("cuda", torch.bfloat16):
            logits = network(pixels)
        criterion(logits, target).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def main() -> None:
    """Print medians, and append them as rows."""
    rows = []
    for name, build, shape, classes, upsample in CASES:
        pixels = torch.randn(shape, device="cuda").contiguous(memory_format=torch.channels_last)
        target = torch.randint(0, classes, (shape[0], *shape[2:]), device="cuda")
        ways = {
            "enlarged, torch CE": (True, torch.nn.CrossEntropyLoss()),
            "enlarged, our RCE": (True, sw.loss("RCE")),
            "our RCE, upsample": (False, sw.loss("RCE", upsample=upsample)),
        }
        for way, (enlarged, criterion) in ways.items():
            network = build(enlarged).cuda().to(memory_format=torch.channels_last)
            optimizer = torch.optim.AdamW(network.parameters(), fused=True)

            step = step_of(network, criterion.cuda(), optimizer, pixels, target)
            for _ in range(3):
                step()
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            times = []
            for _ in range(ROUNDS):
                start = time.perf_counter()
                for _ in range(STEPS):
                    step()
                torch.cuda.synchronize()
                times.append((time.perf_counter() - start) / STEPS * 1e3)
            peak = torch.cuda.max_memory_allocated() / 2**20
            rows.append(
                [name, "x".join(map(str, shape)), classes, way, f"{statistics.median(times):.2f}", f"{peak:.0f}"]
            )
            print(*rows[-1], sep=" | ", flush=True)
            del network, optimizer, step
            torch.cuda.empty_cache()
    if len(sys.argv) > 1:
        machine = [torch.cuda.get_device_name(), torch.__version__, os.environ.get("COMMIT", "")]
        with open(sys.argv[1], "w", newline="") as file:
            csv.writer(file).writerow(HEAD)
            csv.writer(file).writerows([[*row, *machine] for row in rows])


if __name__ == "__main__":
    main()
