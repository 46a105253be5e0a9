"""Every loss where users are, and peers: ``PYTHONPATH=src python benchmarks/loss_tables.py OUT [SECONDS [FIRST]]``.

Two to 150 classes, float32 and bfloat16, contiguous and channels_last, 2D and 3D, as ``sizewise bench`` times them. All
kernels are compiled before, by as many processes as there are cores, each loss on each input once, so that the timed
process finds them in the compiler's cache. Then inputs are timed one after the other, and none is begun after so many
SECONDS (240). OUT gets ``bench.csv``, its plot, and what compiling took. COMMIT in the environment says which version
it was.
"""

import multiprocessing
import os
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import torch

from sizewise.bench import run_benchmark
from sizewise.bench.candidates import COMPILED, candidates
from sizewise.bench.measure import make_input, step
from sizewise.bench.options import BenchInput, parse_losses
from sizewise.bench.plot import draw_bench
from sizewise.bench.run import write_rows
from sizewise.parallel import available_cores

HALF, LAST = "bfloat16", "channels_last"
STREET, ORGANS = (8, 19, 512, 1024), (2, 16, 96, 160, 160)
INPUTS = (
    BenchInput(STREET),
    BenchInput((8, 2, 512, 512)),
    BenchInput((2, 3, 128, 128, 128)),
    BenchInput(ORGANS),
    BenchInput(STREET, HALF),
    BenchInput((8, 2, 512, 512), HALF),
    BenchInput((8, 150, 512, 512), HALF),
    BenchInput(STREET, layout=LAST),
    BenchInput(STREET, HALF, LAST),
    BenchInput((1, 118, 96, 128, 128)),
    BenchInput((1, 118, 96, 128, 128), HALF),
)
LOSSES = parse_losses("all")


def main() -> None:
    """Compile, then measure."""
    out, limit = Path(sys.argv[1]), float((sys.argv[2:] or ["240"])[0])
    inputs = INPUTS[int((sys.argv[3:] or ["0"])[0]) :]
    out.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    compile_all(inputs, out / "compiling.txt")
    rows: list[dict] = []
    for one in inputs:
        if time.monotonic() - start > limit:
            print(f"not begun after {limit:.0f} s: {one}", flush=True)
            continue
        rows += run_benchmark("cuda", inputs=[one], losses=LOSSES, rounds=5)
        torch.cuda.empty_cache()
        write_rows(out / "bench.csv", [row | {"commit": os.environ.get("COMMIT") or row["commit"]} for row in rows])
    if rows:
        draw_bench(out / "bench.svg", rows)


def compile_all(inputs: tuple[BenchInput, ...], log: Path) -> None:
    """Each loss that is compiled on each input once, in processes; what goes through torch.compile takes longest."""
    work = [(one, name) for one in inputs for name in names()]
    work.sort(key=lambda pair: COMPILED not in pair[1])
    start = time.monotonic()
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max(1, available_cores() - 2), mp_context=spawn) as pool, log.open("w") as file:
        jobs = [pool.submit(first_step, one, name) for one, name in work]
        for done in as_completed(jobs):
            file.write(done.result() + "\n")
    print(f"{len(work)} steps compiled in {time.monotonic() - start:.0f} s", flush=True)


def names() -> list[tuple[str, str]]:
    """Library and name of all that is compiled: ours, and the plain formula by torch."""
    found = [(one.library, one.name) for one in candidates(LOSSES, "cuda")]
    return [one for one in found if one[0] == "sizewise" or one == ("torch", COMPILED)]


def first_step(of: BenchInput, name: tuple[str, str]) -> str:
    """One loss on one input; what it took, in words."""
    warnings.simplefilter("ignore")
    found = next(one for one in candidates(LOSSES, "cuda") if (one.library, one.name) == name)
    logits, target = make_input(of, "cuda")
    start = time.monotonic()
    step(found.build(of.shape[1]), logits, target)
    torch.cuda.synchronize()
    return f"{time.monotonic() - start:6.1f} s  {' '.join(name)}  {of}"


if __name__ == "__main__":
    main()
