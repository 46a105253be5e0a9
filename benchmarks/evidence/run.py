"""The evidence, in parts that each leave a valid smaller study; what is in the tables is not run again.

    python benchmarks/evidence/run.py kvasir drive --data ROOT --encoder FILE --work DIR --part pilot
    python benchmarks/evidence/run.py kvasir drive --data ROOT --encoder FILE --work DIR --part 1

The pilot runs CE with each second term at a few λ and one seed; λ is then the one with the best validation DSC, test
cases unseen. Part 1 adds seeds 0 to 2 of CE, JaccardCE and each compound at its λ; part 2 seeds 3 and 4; part 3
CC-DiceCE and DiceCE at λ = 1 on the sets with many objects; part 4 the other named losses. ``trials`` are the size
penalties of size_terms.py, two seeds on four sets; ``sky`` is CamVid with its first class as the background, for what
decisions do then; ``longer`` trains CE and DiceCE four times as long, where the short protocol might be what tells them
apart. Every run is scored under argmax and dice. Runs go set by set, and within a set seed by seed: stopped
early, every loss has been run with the seeds before.
"""

import argparse
import os
import signal
import sys
from collections import defaultdict
from pathlib import Path

import yaml
from shrink import shrink
from tables import MANY_OBJECTS, add_runs, finished, read_runs

from sizewise.study.compare import compare
from sizewise.study.engines.engine import make_engine
from sizewise.study.study_config import StudyConfig

HERE = Path(__file__).parent
SETS = tuple(path.stem for path in sorted((HERE / "protocols").glob("*.yaml")))
# CE with each second term, at these λ: the paper's, and others around the strengths that peers use.
GRID = {"Dice": (0.1, 1.0, 3.0), "SizeL1": (0.3, 1.0, 3.0), "SizeKL": (0.1, 1.0)}
PLAIN = ("CE", "JaccardCE")
COMPONENT_PAIR = ("CE + 1 * Dice", "CC-DiceCE")  # they differ in the term per component alone, whatever λ was chosen
OTHERS = ("WCE", "FL", "Dice", "LogDice", "LogDiceCE", "DiceFL", "DBCE", "RFL-L1", "RFL-KL")
# How L1 pulls, then when and how hard, then together with overlap. Two seeds, since with one there is no interval; four
# sets whose structures differ (one large, thin, many small, three in a volume) make 80 short runs. IDRiD would tell
# least: the seeds of CE differ there by more than a penalty could show.
TRIALS = (
    *("huber", "relative", "relative_huber", "log_ratio", "soft_temperature"),
    *("warm_up", "rising_temperature", "dual"),
    *("dice_and_size", "jaccard_and_size"),
)
TRIAL_SETS = ("kvasir", "drive", "dsb2018", "acdc")
SKY = ("CE", "CE + 1 * Dice")
LONGER, LONGER_SETS = 4, ("idrid", "kvasir")  # where DiceCE is farthest ahead, and where the most cases tell
DECISIONS = ("argmax", "dice")


def main() -> None:
    """Run what is missing of one part on the sets that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+", choices=SETS)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds the data sets")
    parser.add_argument("--encoder", default="imagenet", help="the encoder's weights: a file, or imagenet")
    parser.add_argument("--work", type=Path, required=True, help="where run folders go")
    parser.add_argument("--part", choices=("pilot", "1", "2", "3", "4", "trials", "sky", "longer"), required=True)
    parser.add_argument("--jobs", default="auto")
    parser.add_argument("--set", action="append", default=[], help="NAME=VALUE, to try it out; not for the tables")
    options = parser.parse_args()
    hear_signals()
    sys.path.append(str(HERE))  # where size_terms:NAME lies; helper processes look there too
    os.environ["PYTHONPATH"] = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(HERE)])
    for name in options.sets:
        todo = defaultdict(list)  # losses by the seeds that are missing: what runs together shares the machine
        for loss, seeds in planned(name, options.part):
            missing = tuple(seed for seed in seeds if (loss, str(seed)) not in finished(table(name, options.part)))
            todo[missing].append(loss)
        if not any(todo):
            print(f"{name}: the tables have all of part {options.part}", flush=True)
        for seeds, losses in todo.items():
            if seeds:
                run(name, losses, seeds, options)


def hear_signals() -> None:
    """Both end a study as Ctrl-C does, which a background job would ignore: its finished runs count."""
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.default_int_handler)


def planned(name: str, part: str) -> list[tuple[str, tuple[int, ...]]]:
    """Losses and seeds of what a part runs."""
    if part == "pilot":
        return [(compound(term, weight), (0,)) for term, weights in GRID.items() for weight in weights]
    if part in ("1", "2"):
        chosen = (best_compound(name, term) for term in GRID)
        return [(loss, (0, 1, 2) if part == "1" else (3, 4)) for loss in (*PLAIN, *chosen)]
    if part == "3":
        return [(loss, (0, 1, 2)) for loss in COMPONENT_PAIR] if name in MANY_OBJECTS else []
    if part == "sky":
        return [(loss, (0, 1)) for loss in SKY] if name == "camvid" else []
    if part == "longer":
        return [(loss, (0, 1)) for loss in ("CE", best_compound(name, "Dice"))] if name in LONGER_SETS else []
    if part == "trials":
        return [(f"size_terms:{loss}", (0, 1)) for loss in TRIALS] if name in TRIAL_SETS else []
    return [(loss, (0, 1, 2)) for loss in OTHERS]


def table(name: str, part: str) -> str:
    """Whose tables the runs go to: ``sky`` and ``longer`` have other protocols, and are no part of the study."""
    return f"{name}-{part}" if part in ("sky", "longer") else name


def compound(term: str, weight: float) -> str:
    """CE + λ · term."""
    return f"CE + {weight:g} * {term}"


def best_compound(name: str, term: str) -> str:
    """That with the best validation DSC of seed 0."""
    tried = {run["loss"]: float(run["validation_dsc"]) for run in read_runs(name) if run["seed"] == "0"}
    losses = [compound(term, weight) for weight in GRID[term]]
    missing = [loss for loss in losses if loss not in tried]
    if missing:
        raise SystemExit(f"{name}: run --part pilot first, there is no run of {', '.join(missing)}.")
    return max(losses, key=lambda loss: tried[loss])


def run(name: str, losses: list[str], seeds: tuple[int, ...], options: argparse.Namespace) -> None:
    """A study of these losses, and its rows in the tables."""
    protocol = yaml.safe_load((HERE / "protocols" / f"{name}.yaml").read_text())
    settings = dict(protocol["settings"])
    if "resnet" in settings["model"]:
        settings["encoder_weights"] = options.encoder
    if "groups" in settings:
        settings["groups"] = str(HERE / "protocols" / settings["groups"])
    if options.part == "sky":
        settings["background"] = "0"
    if options.part == "longer":  # as many looks at the validation cases, so that choosing an epoch gains no more
        settings |= {key: LONGER * settings[key] for key in ("epochs", "validate_every")}
    settings |= {key: yaml.safe_load(value) for key, _, value in (one.partition("=") for one in options.set)}
    data = options.data / protocol["data"]
    if "shrink" in protocol:
        data = options.work / data.name  # under the same name: it is the set that the tables speak of
        if not data.exists():
            shrink(options.data / protocol["data"], data, protocol["shrink"])
    study = StudyConfig(
        data=(str(data),),
        losses=tuple(losses),
        seeds=seeds,
        decisions=DECISIONS,
        settings=tuple(settings.items()),
    )
    folder = options.work / "studies" / name / f"{options.part}-{'-'.join(map(str, seeds))}"
    try:
        compare(study, folder=folder, engine=make_engine("local", {"jobs": options.jobs}))
    finally:  # stopped in the middle, what is finished counts
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.SIG_IGN)
        if not options.set and (folder / "runs").exists():
            added = add_runs(table(name, options.part), sorted((folder / "runs").iterdir()))
            print(f"{name}: {added} runs added to the tables", flush=True)
        hear_signals()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:  # what was finished is in the tables
        sys.exit(130)
