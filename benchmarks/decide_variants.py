"""Variants of the decision's kernel: checked, then timed, each part in a process of its own.

    PYTHONPATH=src python benchmarks/decide_variants.py [PART ...]

Parts are first all run at once, which compiles and checks; then timed one after the other. A part that hangs is ended.
"""

import os
import statistics
import subprocess
import sys
import time
import traceback

import torch
from decide import smooth
from device_time import captured_or_none, stream_us

import sizewise as sw

LARGE, VOLUME = (8, 19, 512, 1024), (2, 16, 96, 160, 160)
SMALL, CUBE = (8, 2, 512, 512), (2, 3, 128, 128, 128)
# shape, metric, pixels in a thread, registers, whether one launch does all turns, fewest tiles of a program
VARIANTS = {
    "large": [
        (LARGE, "dice", 2, 128, True, 2),
        (LARGE, "dice", 2, 168, True, 2),
        (LARGE, "dice", 2, 128, False, 2),
    ],
    "volume": [
        (VOLUME, "dice", 2, 128, True, 2),
        (VOLUME, "dice", 2, 168, True, 2),
        (VOLUME, "dice", 2, 128, False, 2),
    ],
    "size": [
        (LARGE, "size", 2, 128, True, 2),
        (VOLUME, "size", 2, 128, True, 2),
        (SMALL, "size", 4, 128, True, 2),
        (CUBE, "size", 4, 128, True, 2),
    ],
    "small": [
        (SMALL, "dice", 4, 128, True, 2),
        (SMALL, "dice", 4, 128, True, 8),
        (SMALL, "dice", 4, 128, False, 2),
        (CUBE, "dice", 4, 128, True, 2),
    ],
    "bound": [(LARGE, "dice", 2, 128, True, 2)],
}
# Seconds for all checks together, which compile, and for the times of one part.
CHECKING, TIMING = 60, 30


def measured(run):
    """Medians from Python and on the device."""
    graph = captured_or_none(run)
    rounds = 5
    python = statistics.median(stream_us(run, 20) for _ in range(rounds))
    device = statistics.median(stream_us(graph, 20) for _ in range(rounds)) if graph else float("nan")
    return f"python {python:7.0f}  device {device:7.0f}"


class Variant:
    """The decision with block sizes, registers and launches as asked for."""

    def __init__(self, vector, registers, together, fewest):
        from sizewise.decisions.kernels import launches
        from sizewise.stats.kernels import passes
        from sizewise.stats.kernels.shapes import Shape, forward_shape

        passes._calls.clear()
        launches.FEWEST_TILES_TOGETHER = fewest
        launches.registers_a_thread = lambda *_: registers
        launches.decision_shape = lambda classes, last, itemsize: (
            Shape(1, 32 * vector, 1, vector, 65536 // (32 * registers))
            if not last and classes <= 32
            else forward_shape(classes, last, itemsize)
        )
        if not hasattr(launches, "buffers_as_they_were"):
            launches.buffers_as_they_were = launches.KernelDecision._buffers
            launches.together_as_it_was = launches.KernelDecision._programs_together
        self.rules = None

        def buffers(decision, turns, pooled):
            found = launches.buffers_as_they_were(decision, turns, pooled)
            self.rules, self.decision = found[0], decision
            return found

        launches.KernelDecision._buffers = buffers
        launches.KernelDecision._programs_together = launches.together_as_it_was if together else lambda self: 0

    def turns(self):
        """How many turns each row took."""
        from sizewise.decisions.kernels import state

        at = self.decision.numbers_at
        ended = self.rules[:, at + state.ENDED.value].tolist()
        raised = self.rules[:, at + state.RAISED.value].tolist()
        grid = {one.grid[0] for one in self.decision.launches.values()}
        return f"turns {[int(one) for one in ended]} raised {[int(one) for one in raised]} grid {sorted(grid)}"


def reference(logits, **options):
    """The streaming passes, on the device."""
    from sizewise.decisions import decide as module

    kept, module.takes_kernels = module.takes_kernels, lambda values: False
    try:
        return sw.decide(logits, **options)
    finally:
        module.takes_kernels = kept


def expected_dice(logits, labels):
    """F of each image, in float64."""
    scores = []
    for z, s in zip(logits, labels, strict=True):
        p = z.flatten(1).softmax(0)
        s = s.flatten()
        chosen = torch.bincount(s, minlength=len(p)).double()
        inside = torch.zeros(len(p), dtype=torch.float64, device=z.device)
        inside.index_add_(0, s, p.gather(0, s[None])[0].double())
        scores.append(float((2 * inside / (chosen + p.sum(1, dtype=torch.float64)))[1:].sum()))
    return scores


def check(logits, metric, **options):
    """What differs from the reference, and whether the bits are the same every time."""
    wanted, found = reference(logits, metric=metric, **options), sw.decide(logits, metric=metric, **options)
    again = sw.decide(logits, metric=metric, **options)
    text = f"differs at {float((found != wanted).double().mean()):.1e}, same bits {torch.equal(found, again)}"
    if metric == "dice":
        gains = [a - b for a, b in zip(expected_dice(logits, found), expected_dice(logits, wanted), strict=True)]
        base = [
            a - b for a, b in zip(expected_dice(logits, found), expected_dice(logits, logits.argmax(1)), strict=True)
        ]
        text += f", F against the reference {min(gains):+.1e} to {max(gains):+.1e}, against argmax {min(base):+.1e}"
    if metric == "size":
        classes = logits.shape[1]
        p = torch.stack([z.flatten(1).softmax(0).sum(1, dtype=torch.float64) for z in logits])
        sizes = torch.stack([torch.bincount(one.flatten(), minlength=classes) for one in found]).double()
        text += f", worst error {float((sizes - p).abs().sum(1).max()):.1f} of {logits[0, 0].numel()} pixels"
    return text


def decisions(part, timing):
    """Check or time the variants of a part."""
    for shape, metric, vector, registers, together, fewest in VARIANTS[part]:
        name = f"{'x'.join(map(str, shape))} {metric} vector {vector} registers {registers} "
        name += ("one launch" if together else "a launch a turn") + f" tiles {fewest}"
        try:
            variant = Variant(vector, registers, together, fewest)
            logits = smooth(shape)
            if part == "bound":  # some classes are never likely
                logits[:, -5:] -= 4
            if timing:

                def run(logits=logits, metric=metric):
                    return sw.decide(logits, metric=metric)

                run()
                fallen = "" if bool(variant.decision.together) == together else "  (fell back to turns)"
                print(f"{part}: {name}: {measured(run)}  {variant.turns()}{fallen}", flush=True)
            else:
                print(f"{part}: {name}: {check(logits, metric)}", flush=True)
            del logits
        except Exception:
            print(f"{part}: {name}: FAILED\n{traceback.format_exc()[-1500:]}", flush=True)
        torch.cuda.empty_cache()


def main():
    """Check all parts at once, then time them one after the other."""
    parts = sys.argv[1:] or list(VARIANTS)
    here = [sys.executable, os.path.abspath(__file__)]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    running = {part: subprocess.Popen([*here, "--check", part], env=environment) for part in parts}
    end = time.time() + CHECKING
    for part, process in running.items():
        try:
            process.wait(max(1, end - time.time()))
        except subprocess.TimeoutExpired:
            process.kill()
            print(f"{part}: the check took too long", flush=True)
    for part in parts:
        try:
            subprocess.run([*here, "--time", part], timeout=TIMING, check=False, env=environment)
        except subprocess.TimeoutExpired:
            print(f"{part}: took too long", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] in ("--check", "--time"):
        decisions(sys.argv[2], sys.argv[1] == "--time")
    else:
        main()
