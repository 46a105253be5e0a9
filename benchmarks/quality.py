"""Quality on real data: R50-FPN on Kvasir-SEG and a 3D network on the decathlon's Hippocampus, RCE, several seeds.

    python benchmarks/quality.py --kvasir PATH --hippocampus PATH --encoder-weights FILE --seeds 3 --out DIR

The checkpoint is chosen on validation; scores are those of the test cases. Runs go seed by seed, so that an early end
leaves complete rows. Writes one row per run, class and metric to DIR/quality.csv, after each run.
"""

import argparse
import csv
import time
from pathlib import Path

import torch

import sizewise
from sizewise.metrics.cases_csv import read_cases
from sizewise.metrics.class_summary import summarise
from sizewise.train.config import Runtime
from sizewise.train.datasets import OpenDatasets
from sizewise.train.resolve import resolve
from sizewise.train.run import run_training
from sizewise.train.run_folder import is_finished
from sizewise.train.store import StoreCache


def main() -> None:
    """Train, score, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvasir")
    parser.add_argument("--hippocampus")
    parser.add_argument("--encoder-weights", default="imagenet")
    parser.add_argument("--kvasir-recipe", default="picture")
    parser.add_argument("--hippocampus-epochs", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budget-seconds", type=float, default=float("inf"), help="start no run after this")
    parser.add_argument("--out", type=Path, default=Path("quality"))
    options = parser.parse_args()
    wanted = {}
    if options.hippocampus:
        wanted["hippocampus"] = {
            "data": options.hippocampus,
            "epochs": options.hippocampus_epochs,
            "steps_per_epoch": 75,
            "validate_every": 5,
        }
    if options.kvasir:
        wanted["kvasir"] = {
            "data": options.kvasir,
            "recipe": options.kvasir_recipe,
            "encoder_weights": options.encoder_weights,
        }
    stores, opened, rows = StoreCache(), OpenDatasets(), []
    start = time.monotonic()
    for seed in range(options.seeds):
        for name, settings in wanted.items():
            if time.monotonic() - start > options.budget_seconds:
                print(f"{name} seed {seed}: no time left")
                continue
            run = resolve(settings | {"loss": "RCE", "seed": seed}, datasets=opened)
            folder = options.out / f"{name}-{seed}"
            clock = time.monotonic()
            if not is_finished(folder):
                run_training(run, folder=folder, runtime=Runtime(save_seconds=600), resume=True, stores=stores)
            seconds = time.monotonic() - clock
            for one in summarise(read_cases(folder / "cases.csv")):
                scores = {**one.means, **one.pooled}
                print(
                    name,
                    "seed",
                    seed,
                    "class",
                    one.class_id,
                    {k: round(v, 4) for k, v in scores.items() if v is not None},
                )
                for metric, value in scores.items():
                    rows.append(
                        [name, run.config.model, run.config.recipe, seed, one.class_id, metric, value, f"{seconds:.1f}"]
                    )
            with open(options.out / "quality.csv", "w", newline="") as file:
                writer = csv.writer(file)
                gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
                versions = [gpu, torch.__version__, sizewise.__version__]
                writer.writerow(
                    [
                        "data",
                        "model",
                        "recipe",
                        "seed",
                        "class",
                        "metric",
                        "value",
                        "run_seconds",
                        "gpu",
                        "torch",
                        "sizewise",
                    ]
                )
                writer.writerows(row + versions for row in rows)


if __name__ == "__main__":
    main()
