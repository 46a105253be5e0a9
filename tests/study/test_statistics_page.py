"""docs/statistics.md shows what the calibration measured, and the targets that it says are met are met."""

import csv
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHOWN = (
    "claims",
    "coverage",
    "coverage_of_difference",
    "plain_bootstrap_coverage",
    "plain_bootstrap_claims",
    "wilcoxon_claims",
)


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


def test_every_measured_share_is_on_the_page():
    rows, found = page_rows(), measured()
    studies = [name for name, quantities in found.items() if "claims" in quantities]
    assert len(studies) == 16
    for name in studies:
        assert rows[name][3:] == [f"{100 * found[name][key]:.1f}" for key in SHOWN]


def test_false_claims_are_rare_and_usual_studies_are_covered():
    found = measured()
    assert max(quantities["claims"] for quantities in found.values() if "claims" in quantities) <= 0.05
    assert min(quantities["coverage"] for quantities in found.values() if "coverage" in quantities) >= 0.93
    assert 0.93 <= found["drawn"]["coverage"] <= 0.97
    assert 0.93 <= found["drawn"]["coverage_of_difference"] <= 0.97


def test_the_formula_for_seeds_is_within_30_percent():
    plans = {name: quantities for name, quantities in measured().items() if "seeds_true" in quantities}
    assert len(plans) == 4
    rows = page_rows()
    for name, quantities in plans.items():
        assert abs(quantities["seeds_from_true_variances"] / quantities["seeds_true"] - 1) <= 0.3
        assert rows[name][2:4] == [f"{quantities[key]:g}" for key in ("seeds_true", "seeds_from_true_variances")]
