"""What ``--compile`` does to a training step: ``PYTHONPATH=src python benchmarks/compiled_step.py [OUT.csv]``.

R50-FPN, 352², batch 8, bfloat16, on one GPU. "trainer": the whole step of ``sizewise train`` with RCE, from cropping to
the update: eager, captured in a CUDA graph, and captured with the network compiled. "bare": forward, torch's
cross-entropy, backward and fused Adam on random tensors: eager, captured, and with ``torch.compile(mode=
"reduce-overhead")`` around forward and loss. Time from step to step, the seconds until the first timed step (compiling
included; a second run finds the compiler's cache), and the peak of memory. COMMIT in the environment says which version
it was.
"""

import csv
import os
import statistics
import sys
import time

import torch
from device_time import captured, stream_us
from train_epoch import BATCH, SIZE, bare_step, plain_loss

from sizewise.train.compiling import get_ready
from sizewise.train.config import Runtime
from sizewise.train.machine import make_fabric
from sizewise.train.preparation import fit_preparation
from sizewise.train.resolve import ResolvedRun, resolve
from sizewise.train.setup import set_up
from sizewise.train.store import StoreCache

SETTINGS = {
    "data": "synthetic", "model": "fpn-resnet50", "encoder_weights": "none", "loss": "RCE", "size": (SIZE, SIZE),
    "batch_size": BATCH, "steps_per_epoch": 20, "precision": "bfloat16",
}  # fmt: skip
TRAINER = {
    "captured": Runtime(accelerator="cuda", compile="off"),
    "captured, compiled": Runtime(accelerator="cuda", compile="on"),
    "eager": Runtime(accelerator="cuda", compile="off", graphs="off"),
}
BARE = ("captured", "reduce-overhead", "eager")
ROUNDS, STEPS = 5, 30
HEAD = ["step", "way", "step_ms", "ready_s", "peak_mib", "gpu", "torch", "commit"]


def trainer_step(run: ResolvedRun, runtime: Runtime, stores: StoreCache):
    """The trainer's own step, ready to run."""
    fabric = make_fabric(run.config, runtime)
    preparation = fit_preparation(run.dataset, run.task.cases(run.task.split.train), run.config)
    setup = set_up(run, runtime, fabric=fabric, preparation=preparation, stores=stores, saved=None, log=print)
    setup.network.train()
    setup.batches.begin(setup.draw(1))
    setup.step.begin(10**6)
    get_ready(setup, runtime, steps=10**6, log=print)
    return setup.step.run


def compiled_loss(model: torch.nn.Module):
    """Forward and loss under torch.compile, with its own CUDA graphs."""
    return torch.compile(plain_loss(model), mode="reduce-overhead", dynamic=False)


def bare(way: str):
    """The bare step, ready to run."""
    if way == "reduce-overhead":
        return bare_step(compiled_loss)
    return captured(bare_step()) if way == "captured" else bare_step()


def measure(name: str, way: str, make) -> list:
    """A row, printed at once: on a slow machine the rest may not be reached."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    started = time.perf_counter()
    run = make()
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    ready = time.perf_counter() - started
    times = [stream_us(run, STEPS) / 1e3 for _ in range(ROUNDS)]
    peak = torch.cuda.max_memory_allocated() / 2**20
    row = [name, way, f"{statistics.median(times):.3f}", f"{ready:.1f}", f"{peak:.0f}"]
    print(" | ".join(row), flush=True)
    return row


def main() -> None:
    """Print medians, and append them as rows."""
    torch.backends.cudnn.benchmark = True
    run, stores = resolve(SETTINGS), StoreCache()
    rows = []
    for way, runtime in TRAINER.items():
        rows.append(measure("trainer", way, lambda runtime=runtime: trainer_step(run, runtime, stores)))
    for way in BARE:
        rows.append(measure("bare", way, lambda way=way: bare(way)))
    if len(sys.argv) > 1:
        machine = [torch.cuda.get_device_name(), torch.__version__, os.environ.get("COMMIT", "")]
        with open(sys.argv[1], "a", newline="") as file:
            if not file.tell():
                csv.writer(file).writerow(HEAD)
            csv.writer(file).writerows([[*row, *machine] for row in rows])


if __name__ == "__main__":
    main()
