"""Tables of a study that never ran, in the form of benchmarks/evidence/results: scores are a sum of known effects."""

import numpy as np

from sizewise.metrics.cases_csv import COLUMNS

# DSC of each loss by argmax, and what deciding for Dice adds to it.
EFFECTS = {
    "CE": (0.60, 0.03),
    "CE + 1 * Dice": (0.63, 0.005),
    "CE + 0.1 * Dice": (0.61, 0.02),
    "JaccardCE": (0.625, 0.002),
}
OTHERS = (0.605, 0.01)
COMPONENT_EFFECTS = {}  # by loss and metric, what its components' scores have beside its DSC
VALIDATION = {"CE + 1 * Dice": 0.9, "CE + 1 * SizeL1": 0.9, "CE + 1 * SizeKL": 0.9}


def write_tables(tables, name, plan, *, classes, data, cases=12, seed=0):
    """Write the tables of one set.

    Args:
        tables: the module of benchmarks/evidence, its RESULTS already in a folder of the test's.
        name: of the set.
        plan: by loss, its seeds.
        classes: the labels.
        data: what the rows call the set.
        cases: how many test cases, or their names.
        seed: of the noise.
    """
    generator = np.random.default_rng(seed)
    names = [f"case{at:03d}" for at in range(cases)] if isinstance(cases, int) else list(cases)
    hard = generator.normal(0, 0.1, (len(names), len(classes)))
    share = generator.uniform(0.01, 0.2, (len(names), len(classes)))
    components = tables.COMPONENTS if name in tables.MANY_OBJECTS else ()
    scores, runs = [], []
    for loss, seeds in plan.items():
        base, gain = EFFECTS.get(loss, OTHERS)
        for number in seeds:
            luck = generator.normal(0, 0.003)
            noise = generator.normal(0, 0.01, hard.shape)
            for decision, more in (("argmax", 0.0), ("dice", gain)):
                dsc = np.clip(base + more + luck + hard + noise + generator.normal(0, 0.002, hard.shape), 0, 1)
                size = share * generator.normal(0, 0.1 if "Size" in loss else 0.2, hard.shape)
                values = {
                    "dsc": dsc,
                    "iou": dsc / (2 - dsc),
                    "nsd": dsc * 0.9,
                    "size_error": size,
                    "true_proportion": share,
                }
                values |= {
                    metric: np.clip(dsc + 0.1 + COMPONENT_EFFECTS.get((loss, metric), 0), 0, 1) for metric in components
                }
                head = ("", data, "net", loss, "", str(number), decision)
                for metric, cells in values.items():
                    for at, case in enumerate(names):
                        for column, label in enumerate(classes):
                            scores.append((*head, case, str(label), metric, f"{cells[at, column]:.4g}"))
                for label in classes:
                    scores.append((*head, "all", str(label), "iou_pooled", f"{dsc.mean() / 2:.4g}"))
            validation = VALIDATION.get(loss, 0.8)
            line = (
                loss,
                str(number),
                f"{validation:.5f}",
                "8",
                "100",
                "20.0",
                f"{1 + gain * 20 + luck:.3f}",
                "0.7",
                "abc",
                "cpu",
            )
            runs.append(dict(zip(tables.RUN_HEAD, line, strict=True)))
    assert all(len(row) == len(COLUMNS) for row in scores)
    tables.write(name, scores, runs)


def whole_plan(runner, name, seeds=(0, 1, 2)):
    """Something of every part of the study on one set, with these seeds."""
    plan = {runner.compound(term, weight): (0,) for term, weights in runner.GRID.items() for weight in weights}
    chosen = [loss for loss in plan if loss in VALIDATION]
    plan |= dict.fromkeys([*runner.PLAIN, *chosen, "FL", "DBCE"], seeds)
    if name in runner.MANY_OBJECTS:
        plan |= dict.fromkeys(runner.COMPONENT_PAIR, seeds)
    return plan | {f"size_terms:{trial}": seeds[:2] for trial in ("huber", "relative")}
