"""Times ways to cut up the kernels' work: ``PYTHONPATH=src python benchmarks/kernel_variants.py [ROW]``.

For each input and pass: the time of every variant as replays of a CUDA graph, over the floor (the bytes that must move
at the bandwidth of a copy in the same run), its error against float64, and whether a second run gives the same bits.
The kernels are compiled by processes side by side before anything is timed. A row's name restricts it to that.
"""

import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import torch
from device_time import copied_bytes_per_us, replayed_us

from sizewise.stats.kernels import call, word_calls
from sizewise.stats.kernels.field_order import every_plane
from sizewise.stats.kernels.label_errors import record_of
from sizewise.stats.kernels.launch import Launch
from sizewise.stats.kernels.shapes import WordShape

LOSSES = {
    "RCE": ((0, 0.0), (1, 0.0), (2, 0.0), (4, 10.0)),
    "DiceCE": ((0, 0.0), (1, 0.0), (2, 0.0), (3, 0.0), (4, 1.0)),
    "RFL-KL": ((0, 0.0), (1, 0.0), (2, 2.0), (4, 10.0)),
    "LogDiceFL": ((0, 0.0), (1, 0.0), (2, 2.0), (3, 0.0), (4, 1.0)),
}
# What takes the fewest and the most registers in each pass.
TRIED = {"forward": ("RCE", "LogDiceFL"), "backward": ("RCE", "RFL-KL")}
PRESENT = None


class Row(NamedTuple):
    """One input, and what to try beside the default: a shape of the kernels by words, and a bound on registers."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    layout: str
    forward: list[tuple[WordShape, int]]
    backward: list[tuple[WordShape, int]]

    def variants(self, which: str) -> list[tuple[WordShape, int] | None]:
        """All that one pass is tried with."""
        return [PRESENT, *(self.forward if which == "forward" else self.backward)]


def lines(vector, word, waves=(12,), gathered=True, warps=(1,), elements=(1,), registers=(0,)):
    """Classes one by one, pixels side by side."""
    return [
        (WordShape(1, 32 * vector * each * warp, warp, vector, wave, word, False, gathered), most)
        for each in elements for warp in warps for wave in waves for most in registers
    ]  # fmt: skip


def runs(vector, word, waves=(12,), warps=(1,), turned=False, registers=(0,)):
    """Pixels with all their classes in one line."""
    return [
        (WordShape(1, 32 * vector * warp, warp, vector, wave, word, True, True, turned), most)
        for warp in warps for wave in waves for most in registers
    ]  # fmt: skip


def chunks(chunk, lanes, warps, vector, waves, registers=(0,)):
    """Chunks of classes, ``lanes`` side by side."""
    return [
        (WordShape(chunk, lanes * vector, warps, vector, wave, 8, False, True), most)
        for wave in waves for most in registers
    ]  # fmt: skip


CITYSCAPES, VOLUME, ADE, SMALL = (8, 19, 512, 1024), (1, 118, 96, 128, 128), (8, 150, 512, 512), (8, 2, 512, 512)
F32, B16 = torch.float32, torch.bfloat16
ROWS = [
    Row("bf16", CITYSCAPES, B16, "contiguous",
        lines(4, 8, registers=(0, 128)) + lines(2, 4, waves=(16,)) + lines(2, 4, (16,), gathered=False),
        lines(4, 8, waves=(32,), registers=(0, 128)) + lines(2, 4, waves=(32,))),
    Row("fp32 cl", CITYSCAPES, F32, "channels_last",
        lines(1, 0, waves=(16,)),
        runs(2, 8, (12, 32), turned=True) + runs(2, 8, (6, 16), (2,), True) + runs(2, 8, (4,), (4,), True)),
    Row("bf16 cl", CITYSCAPES, B16, "channels_last",
        runs(4, 8, registers=(0, 128)) + runs(2, 4, waves=(16,)) + lines(1, 0, waves=(16,)),
        runs(4, 8) + runs(4, 8, (12, 32), turned=True) + runs(4, 8, (6,), (2,), True)
        + runs(2, 4, (32,), turned=True)),
    Row("150 bf16", ADE, B16, "contiguous",
        chunks(8, 4, 1, 4, (12,), (0, 168)) + chunks(16, 2, 1, 4, (16,)) + chunks(16, 4, 2, 4, (8,)),
        chunks(8, 4, 1, 4, (12, 32)) + chunks(16, 2, 1, 4, (32,)) + chunks(16, 4, 2, 4, (16,))),
    Row("118 fp32", VOLUME, F32, "contiguous",
        chunks(8, 4, 1, 2, (12,), (0, 168)) + chunks(16, 2, 1, 2, (16,)) + chunks(8, 8, 2, 2, (8,)),
        chunks(8, 4, 1, 2, (16, 32)) + chunks(16, 2, 1, 2, (32,)) + chunks(8, 8, 2, 2, (16,))),
    Row("118 bf16", VOLUME, B16, "contiguous",
        chunks(8, 4, 1, 4, (12, 16)) + chunks(16, 2, 1, 4, (16,)),
        chunks(8, 4, 1, 4, (12, 32)) + chunks(16, 2, 1, 4, (32,))),
    Row("2 bf16", SMALL, B16, "contiguous",
        lines(4, 8, (8, 16), False, elements=(1, 2)) + lines(4, 8, (4, 8), False, warps=(4,)),
        lines(4, 8, (16, 32), False, elements=(1, 2)) + lines(4, 8, (4, 8), False, warps=(4,))),
    Row("2 fp32", SMALL, F32, "contiguous",
        lines(2, 8, (16, 32), False, elements=(1, 2)),
        lines(2, 8, (16, 32), False, elements=(1, 2))),
    Row("fp32", CITYSCAPES, F32, "contiguous",
        lines(2, 8, (13,)),
        lines(2, 8, (12, 32))),
]  # fmt: skip
DEFAULTS = word_calls.word_sums_shape, word_calls.word_gradient_shape


def with_registers(self: Launch) -> dict[str, Any]:
    """The settings of a launch, with a bound on registers where one is tried."""
    most = {"maxnreg": Launch.most_registers} if Launch.most_registers else {}
    return {**self.constants, "num_warps": self.warps, "enable_fp_fusion": True, **most}


Launch.most_registers = 0
Launch._settings = with_registers


def tensors_of(row: Row, filled: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits and labels; only their form matters to the compiler."""
    target = (row.shape[0], 1, *row.shape[2:])
    label = torch.int64 if row.dtype == F32 else torch.uint8
    if not filled:
        logits, labels = (
            torch.empty(shape, device="cuda", dtype=dtype) for shape, dtype in ((row.shape, row.dtype), (target, label))
        )
    else:
        generator = torch.Generator("cuda").manual_seed(len(row.name))
        logits = torch.randn(row.shape, device="cuda", generator=generator).mul_(2).to(row.dtype)
        labels = torch.randint(0, row.shape[1], target, device="cuda", generator=generator).to(label)
    if row.layout == "channels_last":
        logits = logits.to(memory_format=torch.channels_last)
    return logits, labels


def prepared(which: str, variant: tuple[WordShape, int] | None, loss: str, logits, labels):
    """The pass of one variant."""
    fields, (shape, Launch.most_registers) = LOSSES[loss], variant or (None, 0)
    word_calls.word_sums_shape, word_calls.word_gradient_shape = DEFAULTS
    if shape is not None:
        word_calls.word_sums_shape = word_calls.word_gradient_shape = lambda *_: shape
    if which == "forward":
        return call.ForwardCall(logits, labels, None, None, False, fields)
    gradient = torch.empty_like(logits)
    return call.BackwardCall(logits, labels, None, gradient, None, False, fields, every_plane(fields))


def compile_one(job: tuple) -> str:
    """Compile one pass in this process; the result lies in Triton's cache."""
    place, which, variant, loss = job
    try:
        row = ROWS[place]
        logits, labels = tensors_of(row, False)
        made = prepared(which, variant, loss, logits, labels)
        if which == "forward":
            for one in made.compilations(logits, labels, None, record_of(logits.device).tensor):
                one()
        else:
            made.compile(logits, labels, None)
    except Exception as error:
        return f"{job}: {error!r}"
    return ""


def exact(fields, logits, labels, coefficients):
    """Sums and gradient of the first image in float64."""
    z = logits[:1].double().contiguous().flatten(2).requires_grad_()
    y = labels[:1].long().flatten(2)
    own = z.log_softmax(1).gather(1, y)[:, 0]
    hits = torch.zeros_like(z.detach()).scatter_(1, y, 1.0)
    found = []
    for kind, parameter in fields:
        if kind == 4:
            found.append((parameter * z).softmax(1).sum(-1)[0])
        elif kind in (0, 1):
            found.append(hits.sum(-1)[0] if kind == 0 else torch.full_like(hits[0, :, 0], y.numel()))
        else:
            value = own.exp() if kind == 3 else -own if parameter == 0 else -((1 - own.exp()) ** parameter) * own
            found.append((hits * value[:, None]).sum(-1)[0])
    found = torch.stack(found)
    found.backward(coefficients[:, 0].double())
    return found.detach(), z.grad.view(logits[0].shape)


def distance(result, wanted) -> float:
    """‖result − wanted‖ / ‖wanted‖."""
    return float((result.double() - wanted).norm() / wanted.norm())


def floor_us(bytes_moved: int) -> float:
    """The time a copy would take for so many bytes, read or written."""
    return bytes_moved / BANDWIDTH


def measure(row: Row) -> None:
    """Print a line for each pass, loss and variant, the fastest first."""
    logits, labels = tensors_of(row, True)
    record, one = record_of(logits.device).tensor, torch.ones(1, device="cuda")
    gradient = torch.empty_like(logits)
    for loss in dict.fromkeys((*TRIED["forward"], *TRIED["backward"])):
        coefficients = torch.randn(len(LOSSES[loss]), *row.shape[:2], device="cuda")
        sums, wanted = exact(LOSSES[loss], logits, labels, coefficients)
        planes = torch.cat((coefficients.flatten(), one))
        for which in [which for which in TRIED if loss in TRIED[which]]:
            read = logits.nbytes + labels.nbytes
            floor = floor_us(read if which == "forward" else read + logits.nbytes)
            lines = []
            for variant in row.variants(which):
                try:
                    made = prepared(which, variant, loss, logits, labels)
                    if which == "forward":
                        run = partial(made, logits, labels, None, record)
                        first, again = run(), run()
                        error = distance(first[:, 0], sums)
                    else:
                        run = partial(made, planes, one, logits, labels, None, gradient)
                        gradient.fill_(float("nan"))
                        run()
                        first = gradient.clone()
                        run()
                        again = gradient
                        error = distance(first[0], wanted)
                    same = "same bits" if torch.equal(first, again) else "OTHER BITS"
                    took = replayed_us(run)
                    said = "present" if variant is None else f"{tuple(variant[0])} {variant[1] or ''}"
                    lines.append((took, f"{took:8.1f} us {took / floor:5.2f} x {error:.1e} {same} {said}"))
                except Exception as error:
                    lines.append((1e9, f"  failed {variant}: {error!r}"[:300]))
            for _, line in sorted(lines):
                print(f"{row.name:9} {loss:10} {which:8} floor {floor:5.0f} {line}", flush=True)


def main() -> None:
    """Compile everything, then time it."""
    global BANDWIDTH
    start = time.perf_counter()
    chosen = [place for place, row in enumerate(ROWS) if len(sys.argv) == 1 or row.name in sys.argv[1:]]
    jobs = [
        (place, which, variant, loss)
        for place in chosen
        for which in ("backward", "forward")
        for loss in TRIED[which]
        for variant in ROWS[place].variants(which)
    ]
    workers = max(2, (os.cpu_count() or 4) - 2)
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        for said in pool.map(compile_one, jobs):
            if said:
                print(said[:500], flush=True)
    print(f"{len(jobs)} kernels compiled in {time.perf_counter() - start:.0f} s", flush=True)
    BANDWIDTH = copied_bytes_per_us()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, copy {BANDWIDTH / 1e6:.2f} TB/s", flush=True)
    for place in chosen:
        measure(ROWS[place])
        torch.cuda.empty_cache()
    print(f"{time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
