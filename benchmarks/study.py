"""A study of small runs against its bare training: how much a GPU idles between the steps.

The study is `sizewise compare` as a user gives it, from the command's start to its end, report included. Its bare
training time is the sum over its runs of `train_seconds` (steps alone, without validation, saving and scoring) as they
are when a run has the machine to itself: from a study with --jobs 1 (--bare DIR), or from one run of each loss that is
carried out first, times the number of seeds. Run it with

    python benchmarks/study.py --data PATH_OF_KVASIR_SEG --losses CE,RCE --seeds 3 --epochs 60 --encoder-weights none
"""

import argparse
import csv
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from sizewise.train.history import read_history
from sizewise.train.run_folder import read_config


def compare(options: argparse.Namespace, *, seeds: str, jobs: str, out: Path) -> tuple[float, float]:
    """Carry out a study; its unix time of start, and the seconds that it took."""
    command = [sys.executable, "-m", "sizewise.cli.main", "compare", "--data", options.data, "--losses", options.losses]
    command += ["--seeds", seeds, "--jobs", jobs, "--device", options.device, "--out", str(out)]
    settings = [f"epochs={options.epochs}", f"encoder_weights={options.encoder_weights}", *options.setting]
    command += [word for setting in settings for word in ("--setting", setting)]
    start, clock = time.time(), time.perf_counter()
    subprocess.run(command, check=True)
    return start, time.perf_counter() - clock


def train_seconds(study: Path) -> dict[str, list[float]]:
    """By loss, of each finished run: the seconds that its steps took, the first epoch's warm-up included."""
    found: dict[str, list[float]] = {}
    for run in sorted((study / "runs").iterdir()):
        if (run / "cases.csv").exists():
            seconds = sum(row["train_seconds"] for row in read_history(run / "history.csv"))
            found.setdefault(read_config(run).loss, []).append(seconds)
    return found


def phases(study: Path, start: float, end: float) -> dict[str, float]:
    """Where the study's seconds went, from the times of its files."""
    runs = list((study / "runs").iterdir())
    opened = min((run / "problem.json").stat().st_mtime for run in runs)
    # TensorBoard's file is made right before the first epoch; its name has the second
    stepping = min(float(file.name.split(".")[3]) for run in runs for file in run.glob("tensorboard/*tfevents*"))
    trained = max((run / "history.csv").stat().st_mtime for run in runs)
    scored = (study / "results.csv").stat().st_mtime
    return {
        "starting, until the first run is open": opened - start,
        "building and reading, until its first epoch": stepping - opened,
        "from the first epoch to the last": trained - stepping,
        "saving and scoring after the last epoch": scored - trained,
        "report": end - scored,
    }


def processes(study: Path) -> int:
    """That worked side by side, as the runs wrote it down."""
    written = [json.loads((run / "versions.json").read_text()) for run in (study / "runs").iterdir()]
    return max(one["runtime"]["sharing"] for one in written)


def commit() -> str:
    """Of this repository, where it is one."""
    told = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=Path(__file__).parent, capture_output=True, text=True
    )
    return told.stdout.strip() or os.environ.get("COMMIT", "")


def main() -> None:
    """Measure, print, and write a row to OUT/study.csv."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="synthetic")
    parser.add_argument("--losses", default="CE,RCE")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--encoder-weights", default="none")
    parser.add_argument("--setting", action="append", default=[], help="of every run, as batch_size=4")
    parser.add_argument("--jobs", default="auto")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--bare", type=Path, help="a finished study of the same runs with --jobs 1")
    parser.add_argument("--out", type=Path, required=True, help="a new folder")
    options = parser.parse_args()
    study = options.out / f"study-jobs-{options.jobs}"
    if study.exists():
        sys.exit(f"{study} exists: its finished runs would be reused, and the time would be that of the rest.")
    runs = len(options.losses.split(",")) * options.seeds
    with tempfile.TemporaryDirectory() as folder:
        if not options.bare:
            compare(options, seeds="1", jobs="1", out=Path(folder) / "alone")
        alone = train_seconds(options.bare or Path(folder) / "alone")
    start, seconds = compare(options, seeds=str(options.seeds), jobs=options.jobs, out=study)
    where = phases(study, start, start + seconds)
    shared = train_seconds(study)
    measured = [one for each in shared.values() for one in each]
    if len(measured) != runs:
        sys.exit(f"{len(measured)} of {runs} runs were finished: no time to speak of.")
    if missing := shared.keys() - alone.keys():
        sys.exit(f"--bare {options.bare} has no run of {', '.join(missing)}.")
    bare = sum(statistics.mean(alone[loss]) * len(each) for loss, each in shared.items())
    on_gpu = options.device != "cpu" and torch.cuda.is_available()
    row = {
        "study_s": f"{seconds:.1f}",
        "bare_s": f"{bare:.1f}",
        "ratio": f"{seconds / bare:.3f}",
        "report_s": f"{where['report']:.1f}",
        "jobs": options.jobs,
        "processes": processes(study),
        "runs": runs,
        "data": Path(options.data).name,
        "losses": options.losses.replace(",", " "),
        "epochs": options.epochs,
        "gpu": torch.cuda.get_device_name() if on_gpu else f"none ({platform.machine()} CPU)",
        "cores": len(os.sched_getaffinity(0)),
        "torch": torch.__version__,
        "commit": commit(),
    }
    for name, taken in where.items():
        print(f"{taken:8.1f} s  {name}")
    print(f"{sum(measured):8.1f} s  sum of train_seconds in the study, where runs that share the device take longer")
    for name, value in row.items():
        print(f"{name},{value}")
    table = options.out / "study.csv"
    new = not table.exists()
    with open(table, "a", newline="") as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


if __name__ == "__main__":
    main()
