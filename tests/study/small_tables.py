"""Tables for the tests of the statistics, from arrays."""

import numpy as np

from sizewise.metrics.cases_csv import Row, RunColumns
from sizewise.study.results import results_of
from sizewise.study.statistics.setting_scores import arrange


def rows_of(values, *, data="d", model="m", metric="dsc", weights=None, cases=None):
    """Rows of {loss: (S, C) or (S, C, K)}; None or NaN is an empty cell."""
    rows = []
    for loss, runs in values.items():
        runs = np.asarray(runs, dtype=float)
        runs = runs[..., None] if runs.ndim == 2 else runs
        for seed, run in enumerate(runs):
            of = RunColumns(f"{loss}-{seed}", data, model, loss, (weights or {}).get(loss, "1.0"), str(seed), "argmax")
            for case, classes in enumerate(run):
                name = f"c{case:03d}" if cases is None else cases[case]
                rows += [
                    Row(of, name, k, metric, None if np.isnan(value) else float(value))
                    for k, value in enumerate(classes, 1)
                ]
    return rows


def scores_of(values, *, data="d", model="m", metric="dsc", **options):
    """The same, arranged."""
    return arrange(
        results_of(rows_of(values, data=data, model=model, metric=metric, **options)),
        data=data,
        model=model,
        metric=metric,
    )
