"""What the defaults reach on real data, one set and seed a call, so that several share a GPU.

    python benchmarks/quality.py camvid --seed 0 --data ROOT --encoder FILE --work DIR

Nothing is set but what the set needs (its void, its groups) and how long it trains. The checkpoint is chosen on
validation; scores are those of the test cases, by argmax. Prints one CSV line per class and metric, and writes them to
DIR/SET-SEED.csv. COMMIT in the environment says which version it was.
"""

import argparse
import csv
import os
import time
from pathlib import Path

import torch

from sizewise.metrics.cases_csv import read_cases
from sizewise.metrics.class_summary import summarise
from sizewise.train.config import Runtime
from sizewise.train.datasets import OpenDatasets
from sizewise.train.resolve import resolve
from sizewise.train.run import run_training
from sizewise.train.run_folder import is_finished
from sizewise.train.store import StoreCache

GROUPS = Path(__file__).parent / "evidence" / "protocols" / "acdc-groups.csv"
SETS = {
    "camvid": {"data": "camvid", "model": "fpn-resnet50", "ignore_index": 255, "background": "none", "epochs": 45},
    "kvasir": {"data": "kvasir-seg"},
    "hippocampus": {"data": "Task04_Hippocampus", "epochs": 60, "steps_per_epoch": 75},
    "acdc": {"data": "Dataset027_ACDC", "groups": str(GROUPS), "epochs": 40},
}
HEAD = [
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
    "recipe_note",
]


def main() -> None:
    """Train, score, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=SETS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds the data sets")
    parser.add_argument("--encoder", default="imagenet", help="the encoder's weights: a file, or imagenet")
    parser.add_argument("--work", type=Path, required=True, help="where run folders and tables go")
    options = parser.parse_args()
    settings = SETS[options.name] | {"data": str(options.data / SETS[options.name]["data"]), "seed": options.seed}
    if options.name in ("camvid", "kvasir"):
        settings["encoder_weights"] = options.encoder
    run = resolve(settings, datasets=OpenDatasets())
    folder, clock = options.work / f"{options.name}-{options.seed}", time.monotonic()
    if not is_finished(folder):
        run_training(run, folder=folder, runtime=Runtime(save_seconds=600), resume=True, stores=StoreCache())
    seconds = f"{time.monotonic() - clock:.1f}"
    config, version = run.config, os.environ.get("COMMIT", "unknown")
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    note = f"{config.loss}, {config.epochs} epochs, defaults"
    with open(options.work / f"{options.name}-{options.seed}.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEAD)
        for one in summarise(read_cases(folder / "cases.csv")):
            of = [options.name, config.model, config.recipe, options.seed, one.class_id]
            for metric, value in {**one.means, **one.pooled}.items():
                print(*of, metric, value, flush=True)
                writer.writerow([*of, metric, value, seconds, gpu, torch.__version__, version, note])


if __name__ == "__main__":
    main()
