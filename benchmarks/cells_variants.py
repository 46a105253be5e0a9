"""Variants of the kernels of a step with cells: the step in a CUDA graph with each, and the kernel's own time.

    PYTHONPATH=src python benchmarks/cells_variants.py

Each variant is compiled, some seconds, and timed before the next one. Each step's gradient is compared with that of the
kernels as they are.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import torch
from components import CASES, blobs, kernel_times, median_ms
from device_time import captured

import sizewise as sw
from sizewise.criterion.fused.cell_step import Plan
from sizewise.stats.kernels import cell_passes, cell_walk
from sizewise.stats.kernels.launch import Launch
from sizewise.stats.kernels.shapes import Shape

DEVICE = torch.device("cuda")
FORMULA_WARPS = (4, 8, 16, 32)
# programs a multiprocessor, registers, pixels in a thread
SUMS = {
    "20 programs, 96 registers": (20, 96, 4),
    "12 programs, 168 registers": (12, 168, 4),
    "two pixels in a thread": (16, 128, 2),
}


def plan_of(criterion, arguments, fields, read) -> Plan:
    """A plan of its own with the constants as they are patched."""
    snapshot = criterion.snapshot()
    formula = next(iter(snapshot.formulas.values()))
    return Plan(snapshot, formula, *arguments, fields, read)


def variants(criterion, arguments):
    """The name of each variant, the kernel that it changes, and its plan."""
    kinds, parameters = criterion.snapshot().reading[2:4]
    formula = next(iter(criterion.snapshot().formulas.values()))
    fields, read = tuple(zip(kinds, parameters, strict=True)), formula.cells_read

    def made():
        return plan_of(criterion, arguments, fields, read)

    yield "as it is", "", made()
    for warps in FORMULA_WARPS:
        plan = made()
        old = plan.launch
        plan.launch = Launch(old.kernel, 1, warps, old.numbers, old.constants)
        yield f"formula, {warps} warps", "formula", plan
    for name, (waves, registers, vector) in SUMS.items():
        shape = Shape(1, cell_walk.LANES * vector, 1, vector, waves)
        with (
            patch.object(cell_passes, "sums_shape", lambda *_, shape=shape: shape),
            patch.object(cell_passes, "REGISTERS", registers),
        ):
            yield f"sums, {name}", "cell_tiles", made()


def main() -> None:
    """Both shapes, one after the other."""
    began = time.perf_counter()
    for name, (shape, wanted) in CASES.items():
        labels = blobs(shape, wanted)
        cells = sw.components(labels, classes="foreground").to(DEVICE)
        labels = labels.to(DEVICE)
        logits = torch.randn(shape, device=DEVICE).requires_grad_()

        def step(criterion, given, logits=logits, labels=labels):
            logits.grad = None
            criterion(logits, labels, cells=given).backward()

        plain = sw.loss("DiceCE", weight=1.0).to(DEVICE)
        step(plain, None)
        least = median_ms(captured(lambda: step(plain, None)), DEVICE)  # noqa: B023
        print(f"{name}: DiceCE {1e3 * least:.1f} us", flush=True)
        criterion = sw.loss("CC-DiceCE").to(DEVICE)
        step(criterion, cells)
        exact = logits.grad.clone()
        plans = criterion.snapshot().plans[0]
        (form,) = plans
        target = labels.unsqueeze(1)
        for what, kernel, plan in variants(criterion, (logits.detach(), target, None, cells)):
            with ThreadPoolExecutor(2) as pool:
                pool.submit(plan.compile_sums, logits.detach(), target, None, cells.maps)
                pool.submit(plan.compile_gradient, logits.detach(), target, None, cells.maps)
            plans[form] = plan
            try:
                step(criterion, cells)
                error = float((logits.grad - exact).norm() / exact.norm())
                took = median_ms(captured(lambda: step(criterion, cells)), DEVICE)  # noqa: B023
                times = kernel_times(lambda: step(criterion, cells))  # noqa: B023
            except Exception as problem:
                print(f"  {what}: {type(problem).__name__} {str(problem)[:200]}", flush=True)
                continue
            shown = {one: t for one, t in times.items() if not kernel or one == kernel}
            of = ", ".join(f"{one[:24]} {t:.2f}" for one, t in shown.items())
            print(f"  {what}: {1e3 * took:.1f} us, {took / least:.2f} x; {of}; off by {error:.1e}", flush=True)
        print(f"  after {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
