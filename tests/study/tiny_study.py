"""A study that takes seconds: run as a program, so that tests can kill it."""

import sys
from pathlib import Path

import torch

from sizewise.study.compare import compare
from sizewise.study.engines.engine import make_engine
from sizewise.study.study_words import parse_study
from sizewise.train.config import Runtime

SETTINGS = ("epochs=2", "steps_per_epoch=2", "batch_size=2")


def tiny_study(folder: Path, *, losses: str = "CE,RCE", seeds: str = "2", engine: str = "local", jobs: int | str = ""):
    """Run, or finish, the study in ``folder``; returns the runs that are not finished."""
    torch.set_num_threads(1)
    options = {"jobs": jobs or 1} if engine == "local" else {}
    config = parse_study({"data": "synthetic", "losses": losses, "seeds": seeds, "settings": SETTINGS})
    runtime = Runtime(accelerator="cpu", save_seconds=0)
    outcome = compare(
        config, folder=folder, command="sizewise compare", runtime=runtime, engine=make_engine(engine, options)
    )
    return [*outcome.failed, *outcome.elsewhere]


if __name__ == "__main__":
    options = dict(argument.split("=", 1) for argument in sys.argv[2:])
    tiny_study(Path(sys.argv[1]), **options)
