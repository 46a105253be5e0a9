"""How long a user waits for the first step: ``PYTHONPATH=src python benchmarks/first_call.py [OUT.csv] [SECONDS]``.

Value and gradient of a loss, or a decision, each in a process of its own that has imported torch and touched the GPU:
once with an empty compiler cache, once more in a second process that finds what the first one compiled, and the third
step of that process, which needs nothing new. "import" is what importing the package takes beside torch. Processes run
one at a time, so that nobody waits for another, and none is begun after so many SECONDS (200). COMMIT in the
environment says which version it was.
"""

import csv
import os
import subprocess
import sys
import tempfile
import time

import torch

HEAD = ["what", "shape", "logits", "import_s", "cold_s", "second_process_s", "third_step_ms", "gpu", "torch", "commit"]
SHAPES = ((8, 19, 512, 1024), (8, 2, 512, 512), (8, 150, 512, 512), (1, 118, 96, 128, 128))
LOSSES = ("RCE", "DiceCE", "RFL-KL", "LogDiceFL", "JaccardCE", "CE")
DECISIONS = ("dice", "size")
CODE = """
import sys, time
what, dtype, shape = sys.argv[1], sys.argv[2], tuple(map(int, sys.argv[3].split("x")))
import torch
logits = torch.randn(shape, device="cuda", dtype=getattr(torch, dtype)).requires_grad_()
target = torch.randint(0, shape[1], (shape[0], *shape[2:]), device="cuda")
torch.nn.functional.cross_entropy(logits, target).backward()  # what torch itself needs at its first step
logits.grad = None
torch.cuda.synchronize()
times = [time.perf_counter()]
import sizewise as sw
loss = None if what.startswith("decide ") else sw.loss(what).cuda()
def step():
    if loss is None:
        sw.decide(logits.detach(), metric=what.split()[1])
    else:
        loss(logits, target).backward()
        logits.grad = None
    torch.cuda.synchronize()
    times.append(time.perf_counter())
times.append(time.perf_counter())
for _ in range(3):
    step()
print(*(after - before for before, after in zip(times, times[1:])))
"""


def main() -> None:
    """Rows come out as they are measured."""
    out, limit = (sys.argv[1:] or [os.devnull])[0], float((sys.argv[2:] or ["200"])[0])
    start = time.monotonic()
    about = [torch.cuda.get_device_name(), torch.__version__, os.environ.get("COMMIT", "")]
    with open(out, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEAD)
        for shape, what in [(shape, what) for what in ways() for shape in SHAPES]:
            if time.monotonic() - start > limit:
                print(f"not begun after {limit:.0f} s: {what} on {shape}", flush=True)
                continue
            row = [what, "x".join(map(str, shape)), "float32", *waited(what, shape)]
            writer.writerow([*row, *about])
            file.flush()
            print(*row, flush=True)


def ways() -> list[str]:
    """What is called, most used first."""
    return [*LOSSES[:2], *(f"decide {metric}" for metric in DECISIONS), *LOSSES[2:]]


def waited(what: str, shape: tuple[int, ...]) -> list[str]:
    """Import, cold, in a second process, and a third step."""
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = (seconds(what, shape, cache) for _ in range(2))
    return [f"{cold[0]:.2f}", f"{cold[1]:.2f}", f"{warm[1]:.2f}", f"{1e3 * warm[3]:.3f}"]


def seconds(what: str, shape: tuple[int, ...], cache: str) -> list[float]:
    """Of importing and three steps, in a process with this cache."""
    places = {"TRITON_CACHE_DIR": f"{cache}/triton", "TORCHINDUCTOR_CACHE_DIR": f"{cache}/inductor"}
    done = subprocess.run(
        [sys.executable, "-c", CODE, what, "float32", "x".join(map(str, shape))],
        env=os.environ | places,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{what} on {shape} failed:\n{done.stderr[-2000:]}")
    return [float(one) for one in done.stdout.split()[-4:]]


if __name__ == "__main__":
    main()
