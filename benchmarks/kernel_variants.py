"""Times ways to cut up the kernels' work: ``PYTHONPATH=src python benchmarks/kernel_variants.py [ROW]``.

For each input and pass: the time of every variant as replays of a CUDA graph, over the floor (the bytes that must move
at the bandwidth of a copy in the same run), its error against float64, and whether a second run gives the same bits.
Processes compile the kernels side by side; a row is timed as soon as its own are there, the open questions that matter
most first. A row's name restricts it to that.
"""

import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

import torch
from device_time import copied_bytes_per_us, replayed_us

from sizewise.stats.kernels import call, word_calls
from sizewise.stats.kernels.field_order import every_plane
from sizewise.stats.kernels.label_errors import record_of
from sizewise.stats.kernels.shapes import WordShape

LOSSES = {
    "RCE": ((0, 0.0), (1, 0.0), (2, 0.0), (4, 10.0)),
    "DiceCE": ((0, 0.0), (1, 0.0), (2, 0.0), (3, 0.0), (4, 1.0)),
    "RFL-KL": ((0, 0.0), (1, 0.0), (2, 2.0), (4, 10.0)),
    "LogDiceFL": ((0, 0.0), (1, 0.0), (2, 2.0), (3, 0.0), (4, 1.0)),
}
# What runs by default, and the kernels that do not read words.
PRESENT, TILES = "present", "tiles"
Variant = WordShape | str


class Row(NamedTuple):
    """One input, and for each pass what to try, with which losses: those of the fewest and the most registers."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    layout: str
    forward: list[Variant]
    backward: list[Variant]
    losses: dict[str, tuple[str, ...]]

    def variants(self, which: str) -> list[Variant]:
        """All that one pass is tried with."""
        return self.forward if which == "forward" else self.backward

    def jobs(self) -> list[tuple[str, str, Variant]]:
        """Pass, loss and variant; the gradient first, which takes the compiler longer."""
        return [
            (which, loss, variant)
            for which in ("backward", "forward")
            for loss in self.losses.get(which, ())
            for variant in self.variants(which)
        ]


def lines(vector, word, waves, gathered=True, elements=1, warps=1):
    """Classes one by one, pixels side by side."""
    return WordShape(1, 32 * vector * elements * warps, warps, vector, waves, word, False, gathered)


def runs(vector, word, waves):
    """Pixels with all their classes in one line."""
    return WordShape(1, 32 * vector, 1, vector, waves, word, True, True)


def chunks(chunk, lanes, vector, waves):
    """Chunks of classes, ``lanes`` side by side."""
    return WordShape(chunk, lanes * vector, 1, vector, waves, 8, False, True)


CITYSCAPES, VOLUME, ADE, SMALL = (8, 19, 512, 1024), (1, 118, 96, 128, 128), (8, 150, 512, 512), (8, 2, 512, 512)
F32, B16 = torch.float32, torch.bfloat16
BOTH = {"forward": ("RCE", "LogDiceFL"), "backward": ("RCE", "RFL-KL")}
ROWS = [
    Row("150 bf16", ADE, B16, "contiguous",
        [PRESENT, chunks(8, 4, 4, 8), chunks(16, 2, 4, 12)],
        [PRESENT, chunks(8, 4, 4, 12), chunks(8, 4, 4, 32), chunks(16, 2, 4, 32)],
        {"forward": ("LogDiceFL",), "backward": ("RCE", "RFL-KL")}),
    Row("118 fp32", VOLUME, F32, "contiguous",
        [PRESENT, chunks(8, 4, 2, 12)],
        [PRESENT, chunks(8, 4, 2, 32)],
        BOTH),
    Row("118 bf16", VOLUME, B16, "contiguous",
        [PRESENT, TILES],
        [PRESENT, chunks(8, 4, 4, 12), chunks(8, 4, 4, 32)],
        {"forward": ("RCE",), "backward": ("RCE",)}),
    Row("2 bf16", SMALL, B16, "contiguous",
        [PRESENT, lines(4, 8, 16, False), lines(4, 8, 4, False, warps=4)],
        [PRESENT, lines(4, 8, 32, False), lines(4, 8, 8, False, warps=4)],
        {"forward": ("RCE",), "backward": ("RCE",)}),
    Row("2 fp32", SMALL, F32, "contiguous",
        [PRESENT, lines(2, 8, 16, False)],
        [PRESENT, lines(2, 8, 32, False)],
        {"forward": ("RCE",), "backward": ("RCE",)}),
    Row("fp32", CITYSCAPES, F32, "contiguous",
        [PRESENT, lines(1, 0, 16)], [PRESENT, TILES], {"forward": ("LogDiceFL",), "backward": ("RCE", "RFL-KL")}),
    Row("16 fp32 cl", (8, 16, 512, 1024), F32, "channels_last",
        [], [PRESENT, runs(2, 8, 12)], {"backward": ("RCE", "RFL-KL")}),
    Row("16 bf16 cl", (8, 16, 512, 1024), B16, "channels_last",
        [], [PRESENT, runs(2, 4, 32)], {"backward": ("RCE",)}),
    Row("odd fp32", (8, 19, 511, 1023), F32, "contiguous",
        [PRESENT, lines(1, 0, 16)], [PRESENT, lines(1, 0, 32)], {"forward": ("RCE",), "backward": ("RCE",)}),
]  # fmt: skip
DEFAULTS = word_calls.word_sums_shape, word_calls.word_gradient_shape


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


def prepared(which: str, variant: Variant, loss: str, logits, labels):
    """The pass of one variant."""
    fields = LOSSES[loss]
    word_calls.word_sums_shape, word_calls.word_gradient_shape = DEFAULTS
    if variant != PRESENT:
        shape = None if variant == TILES else variant
        word_calls.word_sums_shape = word_calls.word_gradient_shape = lambda *_: shape
    if which == "forward":
        return call.ForwardCall(logits, labels, None, None, False, fields)
    gradient = torch.empty_like(logits)
    return call.BackwardCall(logits, labels, None, gradient, None, False, fields, every_plane(fields))


def compile_one(job: tuple) -> str:
    """Compile one pass in this process; the result lies in Triton's cache."""
    place, (which, loss, variant) = job
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
    """Print a line for each pass, loss and variant."""
    logits, labels = tensors_of(row, True)
    record, one = record_of(logits.device).tensor, torch.ones(1, device="cuda")
    gradient = torch.empty_like(logits)
    known: dict[str, tuple] = {}
    for which, loss, variant in row.jobs():
        if loss not in known:
            coefficients = torch.randn(len(LOSSES[loss]), *row.shape[:2], device="cuda")
            known[loss] = (*exact(LOSSES[loss], logits, labels, coefficients), coefficients)
        sums, wanted, coefficients = known[loss]
        read = logits.nbytes + labels.nbytes
        floor = floor_us(read if which == "forward" else read + logits.nbytes)
        said = f"{row.name:10} {loss:10} {which:8} floor {floor:5.0f}"
        try:
            made = prepared(which, variant, loss, logits, labels)
            if which == "forward":
                run = partial(made, logits, labels, None, record)
                first, again = run(), run()
                error = distance(first[:, 0], sums)
            else:
                run = partial(made, torch.cat((coefficients.flatten(), one)), one, logits, labels, None, gradient)
                gradient.fill_(float("nan"))
                run()
                first = gradient.clone()
                run()
                again = gradient
                error = distance(first[0], wanted)
            same = "same bits" if torch.equal(first, again) else "OTHER BITS"
            took = replayed_us(run)
            shape = variant if isinstance(variant, str) else tuple(variant)
            print(f"{said} {took:8.1f} us {took / floor:5.2f} x {error:.1e} {same} {shape}", flush=True)
        except Exception as error:
            print(f"{said} failed {variant}: {error!r}"[:300], flush=True)


def main() -> None:
    """Compile everything, and time each row when its kernels are compiled."""
    global BANDWIDTH
    start = time.perf_counter()
    chosen = [place for place, row in enumerate(ROWS) if len(sys.argv) == 1 or row.name in sys.argv[1:]]
    workers = max(2, (os.cpu_count() or 4) - 2)
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        compiling = {place: [pool.submit(compile_one, (place, job)) for job in ROWS[place].jobs()] for place in chosen}
        BANDWIDTH = copied_bytes_per_us()
        print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, copy {BANDWIDTH / 1e6:.2f} TB/s", flush=True)
        for place in chosen:
            for said in (one.result() for one in compiling[place]):
                if said:
                    print(said[:500], flush=True)
            print(f"{ROWS[place].name} compiled after {time.perf_counter() - start:.0f} s", flush=True)
            measure(ROWS[place])
            torch.cuda.empty_cache()
    kernels = sum(len(one) for one in compiling.values())
    print(f"{kernels} kernels, {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
