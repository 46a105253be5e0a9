"""The benchmark: every loss on every shape, as a table on the screen and rows in a file."""

import csv
import platform
import subprocess
import warnings
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from sizewise.bench.candidates import Candidate, candidates
from sizewise.bench.measure import copy_bandwidth, make_input, peak_extra_bytes, peak_in_fresh_process, time_together

SHAPES = {
    "cpu": ((8, 2, 512, 512), (2, 19, 512, 1024), (2, 16, 48, 96, 96)),
    "cuda": ((8, 2, 512, 512), (8, 19, 512, 1024), (2, 3, 128, 128, 128), (2, 16, 96, 160, 160)),
}
OUR_LOSSES = ("RCE", "CE", "DiceCE")


def run_benchmark(
    device: str | None = None,
    *,
    shapes: Sequence[tuple[int, ...]] | None = None,
    losses: tuple[str, ...] = OUR_LOSSES,
    repeats: int = 15,
    memory: bool = True,
    out: Path | None = None,
) -> list[dict[str, object]]:
    """Time forward + backward of every loss from float32 logits and int64 labels; print a table; return its rows.

    Args:
        device: ``"cpu"`` or ``"cuda"``; default: a GPU if there is one.
        shapes: of the logits, (N, K, *S).
        losses: names of our losses.
        repeats: timed rounds; each round times every loss once.
        memory: whether to measure peak memory too, each loss in a process of its own.
        out: CSV file to write the rows to.
    """
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    bandwidth = copy_bandwidth(device)
    about = provenance(device) | {"copy_gb_per_s": round(bandwidth / 1e9, 1)}
    print(" · ".join(f"{name} {value}" for name, value in about.items()))
    rows: list[dict[str, object]] = []
    for shape in shapes or SHAPES[device]:
        print(f"\n{' × '.join(map(str, shape))}: forward + backward, float32 logits, int64 labels")
        for row in measure_shape(shape, device, candidates(losses), repeats, bandwidth, memory):
            rows.append(row | about)
            extra = "" if row["peak_over_logits"] is None else f"   {row['peak_over_logits']:5.2f} × logits extra"
            print(
                f"  {row['library']:9s} {row['loss']:19s} {row['median_ms']:9.2f} ms   "
                f"{row['over_floor']:6.1f} × floor   {row['over_rce']:5.2f} × our RCE{extra}"
            )
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        print(f"\nrows written to {out}")
    return rows


def measure_shape(
    shape: tuple[int, ...], device: str, chosen: list[Candidate], repeats: int, bandwidth: float, memory: bool
) -> list[dict[str, object]]:
    """One row per loss. The floor is each pass's read of logits and labels, and the gradient's write, at copy speed."""
    logits, target = make_input(shape, device, torch.float32)
    moved = 3 * logits.numel() * logits.element_size() + 2 * target.numel() * target.element_size()
    floor_ms = 1e3 * moved / bandwidth
    peaks: list[float | None] = [None] * len(chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peers' own, on import and in use
        losses = [one.build(shape[1]) for one in chosen]
        timings = time_together(losses, logits, target, repeats)
        if memory and device == "cuda":  # exact there; resident memory is not once a process has run something else
            peaks = [peak_extra_bytes(loss, logits, target) / (logits.numel() * 4) for loss in losses]
        elif memory:
            peaks = [peak_in_fresh_process(one.library, one.name, shape, device) for one in chosen]
    rce_ms = timings[[(one.library, one.name) for one in chosen].index(("sizewise", "RCE"))].median_ms
    return [
        {
            "library": one.library,
            "loss": one.name,
            "shape": "x".join(map(str, shape)),
            "median_ms": round(timing.median_ms, 3),
            "low_quartile_ms": round(timing.low_ms, 3),
            "high_quartile_ms": round(timing.high_ms, 3),
            "floor_ms": round(floor_ms, 3),
            "over_floor": round(timing.median_ms / floor_ms, 2),
            "over_rce": round(timing.median_ms / rce_ms, 2),
            "peak_over_logits": round(peak, 2) if peak is not None else None,
        }
        for one, timing, peak in zip(chosen, timings, peaks, strict=True)
    ]


def provenance(device: str) -> dict[str, object]:
    """Where these numbers come from."""
    name = torch.cuda.get_device_name() if device == "cuda" else f"{platform.machine()} CPU"
    about: dict[str, object] = {"device": name, "threads": torch.get_num_threads(), "commit": commit()}
    for package in ("torch", "sizewise", "monai", "segmentation-models-pytorch", "nnunetv2", "triton"):
        try:
            about[package] = version(package)
        except PackageNotFoundError:
            continue
    return about


def commit() -> str:
    """The commit of this source tree, or nothing outside one."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        result = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return ""
    return result.stdout.strip()
