"""docs/statistics.md shows what the calibration measured, and the targets that it says are met are met."""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SHOWN = (
    "claims",
    "coverage",
    "coverage_of_difference",
    "power",
    "half_width",
    "own_claims",
    "own_power",
    "own_half_width",
    "plain_bootstrap_claims",
    "wilcoxon_claims",
)
STANDARD_ERROR = np.sqrt(0.05 * 0.95 / 2000)


def measured():
    table = defaultdict(dict)
    with (ROOT / "benchmarks" / "results" / "statistics-calibration.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            table[row["study"]][row["quantity"]] = float(row["value"])
    return table


def page_rows():
    lines = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8").splitlines()
    return {
        cells[0]: cells[1:]
        for cells in ([c.strip() for c in line.strip("|").split("|")] for line in lines if line.startswith("| "))
    }


def number(seeds):
    return ">200" if np.isinf(seeds) else f"{seeds:g}"


def levels():
    return {name: quantities for name, quantities in measured().items() if "claims" in quantities}


def unstable(name):
    return name.startswith(("one unstable", "unstable reference"))


def test_every_measured_share_is_on_the_page():
    rows, found = page_rows(), levels()
    assert len(found) == 35
    for name in found:
        assert rows[name][3:] == [f"{100 * found[name][key]:.1f}" for key in SHOWN]


def test_false_claims_are_rare_and_intervals_cover_what_they_say():
    for name, quantities in levels().items():
        assert quantities["claims"] <= (0.07 if unstable(name) else 0.05 + STANDARD_ERROR), name
        if not unstable(name):
            assert 0.93 <= quantities["coverage"] <= 0.98, name
            assert 0.93 <= quantities["coverage_of_difference"] <= 0.98, name


def test_moderated_seeds_show_twice_as_much():
    """Three seeds, sixty cases, four losses."""
    found = levels()["seeds matter more"]
    assert found["power"] >= 2 * found["own_power"]


def test_the_formula_for_seeds_is_within_30_percent():
    plans = {name: quantities for name, quantities in measured().items() if "seeds_true" in quantities}
    assert len(plans) == 4
    rows = page_rows()
    for name, quantities in plans.items():
        assert abs(quantities["seeds_from_true_variances"] / quantities["seeds_true"] - 1) <= 0.3
        assert rows[name][2:] == [f"{quantities[key]:g}" for key in ("seeds_true", "seeds_from_true_variances")]


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_what_pilots_predict_is_on_the_page(seeds):
    rows = page_rows()
    for name, quantities in measured().items():
        if "seeds_true" not in quantities:
            continue
        found = {key.removeprefix(f"pilot{seeds}_"): value for key, value in quantities.items()}
        middle = ", ".join(number(found[key]) for key in ("quarter", "three_quarters"))
        assert rows[f"{name}, {seeds} seeds"] == [
            f"{number(found['median'])} [{middle}]",
            f"{100 * found['within_30']:.0f} %",
            number(found["median_if_not_shown"]),
            number(found["median_known_difference"]),
            f"{100 * found['within_30_known_difference']:.0f} %",
            f"{100 * found['range_holds_known_difference']:.0f} %",
        ]
