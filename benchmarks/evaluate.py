"""Speed of ``sizewise evaluate`` against surface-distance in a loop, on the same files; see --help.

The loop reads each pair of label maps and asks surface-distance for the NSD of each class, and for nothing else. Ours
is the whole command: start of the interpreter, reading, all metrics, writing. Rounds alternate, so that a noisy machine
disturbs both alike; the best round of each counts. Processor time tells the work per core, wall time what a user waits.
"""

import argparse
import csv
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import surface_distance
from PIL import Image

from sizewise.metrics.cases_csv import read_cases
from sizewise.parallel import available_cores

TOLERANCE_MM = 1.0
LIBRARIES = ("sizewise", "surface-distance", "numpy", "scipy", "pillow")


def draw_case(seed, *, side, classes):
    """A label map of wobbly discs, and a prediction that is shifted, has one region too large and one missed."""
    rng = np.random.default_rng(seed)
    rows, columns = np.ogrid[:side, :side]
    maps = [np.zeros((side, side), np.uint8) for _ in range(2)]
    for label in range(1, classes + 1):
        centre, phase = rng.uniform(0.3, 0.7, 2) * side, rng.uniform(0, 6)
        for labels, shift, growth in ((maps[0], 0, 1.0), (maps[1], rng.integers(-4, 5), rng.uniform(0.95, 1.05))):
            down, right = rows - centre[0] - shift, columns - centre[1]
            wobble = 1 + 0.1 * np.sin(5 * np.arctan2(down, right) + phase)
            labels[np.hypot(down, right) < side * 0.3 / label * growth * wobble] = label
    if seed % 20 == 0:
        maps[1][maps[1] == classes] = 0
    return maps


def reference(folder, classes):
    """NSD of every case and class by surface-distance, one after the other."""
    scores = {}
    for path in sorted((folder / "target").iterdir()):
        target, predicted = np.array(Image.open(path)), np.array(Image.open(folder / "pred" / path.name))
        for label in range(1, classes + 1):
            masks = target == label, predicted == label
            if masks[0].any() and masks[1].any():  # its code for an empty mask fails under NumPy 2
                distances = surface_distance.compute_surface_distances(*masks, (1, 1))
                nsd = surface_distance.compute_surface_dice_at_tolerance(distances, TOLERANCE_MM)
                scores[path.stem, label] = float(nsd)
    return scores


def processor_s():
    """Of this process and its children so far."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def timed(work):
    """The result of a function, its wall time and its processor time."""
    wall, processor = time.perf_counter(), processor_s()
    result = work()
    return result, time.perf_counter() - wall, processor_s() - processor


def evaluate(folder, jobs):
    """Our command, as a user runs it."""
    command = [sys.executable, "-m", "sizewise.cli.main", "evaluate", "--nsd-tolerance", str(TOLERANCE_MM)]
    places = ["--pred", folder / "pred", "--target", folder / "target", "--out", folder / "out"]
    subprocess.run([*command, *places, "--jobs", str(jobs)], check=True, stdout=subprocess.DEVNULL)
    rows = read_cases(folder / "out" / "cases.csv")
    return {(row.case, row.class_id): row.value for row in rows if row.metric == "nsd"}


def main():
    """Read the command line, run, print and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--side", type=int, default=512)
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="CSV file for the rows")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", category=DeprecationWarning)  # surface-distance uses scipy's old names
    cores = available_cores()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for seed in range(given.cases):
            for kind, labels in zip(
                ("target", "pred"), draw_case(seed, side=given.side, classes=given.classes), strict=True
            ):
                (folder / kind).mkdir(exist_ok=True)
                Image.fromarray(labels).save(folder / kind / f"{seed:04}.png")
        runs = {"surface-distance, loop, NSD": lambda: reference(folder, given.classes)}
        for jobs in dict.fromkeys((1, cores)):
            runs[f"sizewise evaluate --jobs {jobs}, all metrics"] = lambda jobs=jobs: evaluate(folder, jobs)
        rounds = {name: [timed(work)] for name, work in runs.items()}
        for _ in range(given.rounds - 1):
            for name, work in runs.items():
                rounds[name].append(timed(work))
    theirs, *ours = (done[0][0] for done in rounds.values())
    different = sum(scores[key] != value for scores in ours for key, value in theirs.items())
    best = {name: (min(wall for _, wall, _ in done), min(cpu for _, _, cpu in done)) for name, done in rounds.items()}
    base_wall, base_cpu = next(iter(best.values()))
    rows = [
        {
            "what": name,
            "cases": given.cases,
            "side_px": given.side,
            "classes": given.classes,
            "wall_s": round(wall, 2),
            "processor_s": round(cpu, 2),
            "times_faster_wall": round(base_wall / wall, 2),
            "times_less_processor": round(base_cpu / cpu, 2),
            "nsd_values_that_differ": different,
            "cores": cores,
            "rounds": given.rounds,
            "load_average": round(os.getloadavg()[0], 1),
            "device": f"{platform.machine()} CPU",
            **{library: version(library) for library in LIBRARIES},
        }
        for name, (wall, cpu) in best.items()
    ]
    for row in rows:
        print(", ".join(f"{key} {value}" for key, value in row.items()))
    if given.out:
        with given.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
