"""From the committed tables to the two small ones that ship in the package, for ``sizewise advise``.

    python benchmarks/evidence/aggregate.py --data ROOT

reads results/*.csv.xz and results/*-runs.csv, and the training masks of each set below ROOT for the features of their
regions, and writes src/sizewise/advice/sets.csv and arms.csv, and the example and the record of the advice into
docs/guides/advise.md. Run it again when there are more tables. The size-term trials are left out: they are no losses of
the package.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import median

import tables
import yaml
from advice_page import record_table, write_page
from shrink import shrink

from sizewise.advice.evidence_table import EvidenceSet, read_evidence, write_evidence
from sizewise.advice.features import features_of
from sizewise.advice.mask_regions import mask_regions
from sizewise.advice.set_scores import arm_scores
from sizewise.data.dataset import Dataset
from sizewise.data.recognise import open_dataset
from sizewise.metrics.cases_csv import COLUMNS, Row, RunColumns
from sizewise.study.results import results_of
from sizewise.study.row_labels import label_rows

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / "src" / "sizewise" / "advice"
OPENING = ("ignore_index", "background", "merge")


def main() -> None:
    """Write the tables of all sets that have results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds the data sets")
    parser.add_argument("--results", type=Path, default=tables.RESULTS, help="where the committed tables are")
    parser.add_argument("--out", type=Path, default=PACKAGE, help="where the two tables go")
    options = parser.parse_args()
    tables.RESULTS = options.results
    names = [path.stem for path in sorted((HERE / "protocols").glob("*.yaml"))]
    sets = [summarise(name, options.data) for name in names if (options.results / f"{name}-runs.csv").exists()]
    write_evidence(sets, options.out)
    kept = read_evidence(options.out)  # with the digits that ship
    print(f"{len(sets)} sets, {sum(len(one.arms) for one in sets)} arms\n{record_table(kept)}")
    if options.out == PACKAGE and any(one.compares for one in kept):
        write_page(kept)


def summarise(name: str, root: Path) -> EvidenceSet:
    """One set: the features of its masks, and a line for each arm."""
    protocol = yaml.safe_load((HERE / "protocols" / f"{name}.yaml").read_text())
    with tempfile.TemporaryDirectory() as work:
        dataset = open_set(protocol, root, Path(work))
        regions = mask_regions(dataset, most_pixels=10**12).table
    rows = [row for cells in tables.read_scores(name) if ":" not in (row := as_row(cells)).of.loss]
    results = results_of(rows)
    ((data, model),) = label_rows(results).settings
    runs = [run for run in tables.read_runs(name) if ":" not in run["loss"]]
    weights = {row.of.loss: row.of.weight for row in rows}
    validation: dict[tuple[str, str], dict[str, float]] = {}
    for run in runs:
        key = run["loss"], weights[run["loss"]]
        validation.setdefault(key, {})[run["seed"]] = float(run["validation_dsc"])
    groups = {case.name: case.group for case in dataset.cases if case.group}
    return EvidenceSet(
        name=name,
        features=features_of(regions),
        arms=arm_scores(results, data=data, model=model, groups=groups, validation=validation),
        model=model,
        recipe=protocol["settings"]["recipe"],
        cases=len({row.case for row in rows if row.metric == "dsc"}),
        steps=int(median(float(run["steps"]) for run in runs)),
        run_seconds=median(float(run["train_seconds"]) for run in runs),
        machine=machine(runs),
    )


def open_set(protocol: dict, root: Path, work: Path) -> Dataset:
    """The data set as its runs opened it: one that is shrunk for them is shrunk here, into ``work``."""
    settings, path = protocol["settings"], root / protocol["data"]
    if "shrink" in protocol:
        shrink(path, work / path.name, protocol["shrink"])
        path = work / path.name
    opening = {name: settings[name] for name in OPENING if name in settings}
    groups = str(HERE / "protocols" / settings["groups"]) if "groups" in settings else ""
    return open_dataset(path, groups=groups, **opening)


def machine(runs: list[dict[str, str]]) -> str:
    """The device of the runs, where the tables say it: the first words of what they ran on."""
    return next((run["machine"].split(";")[0].removeprefix("device ") for run in runs if run.get("machine")), "")


def as_row(cells: tuple[str, ...]) -> Row:
    """A line of the tables."""
    *of, case, class_id, metric, value = cells
    assert len(cells) == len(COLUMNS)
    return Row(RunColumns(*of), case, int(class_id), metric, float(value) if value else None)


if __name__ == "__main__":
    main()
