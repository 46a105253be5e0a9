"""The benchmark: every loss on every shape, as a table on the screen, rows in a file, and a plot of them."""

import csv
import platform
import subprocess
import warnings
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from sizewise.bench.candidates import CAPTURED, COMPILED, Candidate, candidates
from sizewise.bench.correctness import check_losses
from sizewise.bench.measure import copy_bandwidth, make_input, peak_extra_bytes, peak_in_fresh_process, time_together
from sizewise.bench.options import OUR_LOSSES, SHAPES, BenchInput, choose_device
from sizewise.errors import BadInput

Row = dict[str, object]


def run_benchmark(
    device: str | None = None,
    *,
    inputs: Sequence[BenchInput] | None = None,
    losses: tuple[str, ...] = OUR_LOSSES,
    rounds: int = 15,
    memory: bool = True,
    out: Path | None = None,
) -> list[Row]:
    """Check every loss of ours, time forward + backward of all, print a table, and return its rows.

    Args:
        device: ``"cpu"`` or ``"cuda"``; default: a GPU if there is one.
        inputs: shapes, dtypes and layouts; default: the usual shapes in contiguous float32.
        losses: names of our losses, "RCE" among them.
        rounds: each round times every loss once, on a GPU ten steps in a row, five with the device behind, and ours and
            torch's five times more as a CUDA graph.
        memory: whether to measure peak memory too, on a CPU each loss in a process of its own.
        out: folder for ``bench.csv`` and the plot ``bench.svg``, ``bench.png``.
    """
    if rounds < 1:
        raise BadInput(f"bench: --rounds must be at least 1, got {rounds}.")
    device = choose_device(device)
    if out is not None:
        make_folder(out)
    bandwidth = copy_bandwidth(device)
    about = provenance(device) | {"copy_gb_per_s": round(bandwidth / 1e9, 1)}
    print(" · ".join(f"{name} {value}" for name, value in about.items()))
    rows: list[Row] = []
    for one in inputs or [BenchInput(shape) for shape in SHAPES[device]]:
        print(f"\nforward + backward: {one}", flush=True)
        for row in measure_input(one, device, candidates(losses, device), rounds, bandwidth, memory):
            rows.append(row | about)
            print(line_of(row), flush=True)
        if out is not None:
            write_rows(out / "bench.csv", rows)  # whatever has been measured survives an interruption
    if out is not None:
        from sizewise.bench.plot import draw_bench

        draw_bench(out / "bench.svg", rows)
        print(f"\nrows in {out / 'bench.csv'}, plot in {out / 'bench.svg'} and .png")
    return rows


def measure_input(
    of: BenchInput, device: str, chosen: list[Candidate], rounds: int, bandwidth: float, memory: bool
) -> list[Row]:
    """One row per loss. The floor is each pass's read of logits and labels, and the gradient's write, at copy speed."""
    logits, target = make_input(of, device)
    floor_ms = 1e3 * (3 * logits.nbytes + 2 * target.nbytes) / bandwidth
    peaks: list[float | None] = [None] * len(chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peers' own, on import and in use
        ours = [one.name for one in chosen if one.library == "sizewise" and one.name != COMPILED]
        check_losses(ours, logits, target)
        if device == "cuda":
            torch.compiler.reset()  # what was compiled for other shapes
        losses = [one.build(of.shape[1]) for one in chosen]
        timings = time_together(losses, logits, target, rounds, [one.library in CAPTURED for one in chosen])
        if memory and device == "cuda":  # exact there; resident memory is not once a process has run something else
            peaks = [peak_extra_bytes(loss, logits, target) / logits.nbytes for loss in losses]
        elif memory:
            peaks = [peak_in_fresh_process(one.library, one.name, of) for one in chosen]
    by_name = {(one.library, one.name): timing for one, timing in zip(chosen, timings, strict=True)}
    rce_ms, rce_device_ms = by_name["sizewise", "RCE"].median_ms, by_name["sizewise", "RCE"].device_ms
    ce_ms = by_name["torch", "CE"].median_ms
    return [
        {
            "library": one.library,
            "loss": one.name,
            "shape": "x".join(map(str, of.shape)),
            "logits": of.dtype,
            "layout": of.layout,
            "labels": str(target.dtype).removeprefix("torch."),
            "median_ms": round(timing.median_ms, 4),
            "low_quartile_ms": round(timing.low_ms, 4),
            "high_quartile_ms": round(timing.high_ms, 4),
            "device_ms": round(timing.device_ms, 4),
            "graph_ms": None if timing.graph_ms is None else round(timing.graph_ms, 4),
            "floor_ms": round(floor_ms, 4),
            "over_floor": round(timing.median_ms / floor_ms, 2),
            "device_over_floor": round(timing.device_ms / floor_ms, 2),
            "graph_over_floor": None if timing.graph_ms is None else round(timing.graph_ms / floor_ms, 2),
            "over_rce": round(timing.median_ms / rce_ms, 2),
            "device_over_rce": round(timing.device_ms / rce_device_ms, 2),
            "over_torch_ce": round(timing.median_ms / ce_ms, 2),
            "peak_over_logits": round(peak, 4) if peak is not None else None,
        }
        for one, timing, peak in zip(chosen, timings, peaks, strict=True)
    ]


def line_of(row: Row) -> str:
    """One line of the table on the screen; on a GPU the device's own times stand beside that seen from Python."""
    peak, device = row["peak_over_logits"], ""
    if row["device_ms"] != row["median_ms"]:
        device = f"   device {row['device_ms']:8.3f} ms   {row['device_over_floor']:6.2f} × floor"
    if row["graph_ms"] is not None:
        device += f"   graph {row['graph_ms']:8.3f} ms   {row['graph_over_floor']:6.2f} × floor"
    extra = "" if peak is None else f"   {peak:5.2f} × logits extra"
    return (
        f"  {row['library']:9s} {row['loss']:25s} {row['median_ms']:9.3f} ms   {row['over_floor']:6.2f} × floor   "
        f"{row['over_rce']:5.2f} × our RCE{device}{extra}"
    )


def make_folder(out: Path) -> None:
    """Make the folder for the results now: after minutes of measuring it would be too late to fail."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"bench: --out must be a folder that can be written to, got '{out}' ({error.strerror})."
        ) from error


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """The rows as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def provenance(device: str) -> Row:
    """Where these numbers come from."""
    name = torch.cuda.get_device_name() if device == "cuda" else f"{platform.machine()} CPU"
    about: Row = {"device": name, "threads": torch.get_num_threads(), "commit": commit()}
    for package in ("torch", "sizewise", "monai", "segmentation-models-pytorch", "nnunetv2", "triton"):
        try:
            about[package] = version(package)
        except PackageNotFoundError:
            continue
    return about


def commit() -> str:
    """The commit of this source tree, with a + if files differ from it, or nothing outside one."""
    folder = str(Path(__file__).parent)
    try:
        head = subprocess.run(["git", "-C", folder, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
        changed = subprocess.run(
            ["git", "-C", folder, "status", "--porcelain", "--", "."], capture_output=True, text=True
        )
    except OSError:
        return ""
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")
