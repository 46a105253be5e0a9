"""From the scores of every case to a line for each arm."""

import numpy as np
import pytest
from study.small_tables import rows_of

from sizewise.advice.evidence_table import EvidenceSet, Kind, read_evidence, write_evidence
from sizewise.advice.features import Features
from sizewise.advice.set_scores import arm_scores
from sizewise.metrics.cases_csv import Row
from sizewise.study.results import results_of

CASES = 30


def table(*, weights=None, **losses):
    """(seeds, cases) of each loss, with its cases' own difficulty; written-down losses have no weight column."""
    hard = np.linspace(0.5, 0.9, CASES)
    random = np.random.default_rng(0)
    values = {name: [hard + mean + random.normal(0, 0.01, CASES) for mean in seeds] for name, seeds in losses.items()}
    return rows_of(values, weights=weights or dict.fromkeys(values, ""))


def decided(rows, more):
    """The same runs decided for Dice: so much better."""
    return [
        Row(
            type(row.of)(**(row.of.__dict__ | {"decision": "dice"})),
            row.case,
            row.class_id,
            row.metric,
            row.value + more,
        )
        for row in rows
    ]


def by_name(found):
    return {(one.loss, one.weight, one.decision): one for one in found}


def test_means_gains_and_intervals():
    rows = table(**{"CE": [0.0, 0.01, -0.01], "CE + 1 * Dice": [0.03, 0.04, 0.02], "CE + 3 * Dice": [0.0]})
    rows += decided(rows, 0.02)
    found = by_name(
        arm_scores(
            results_of(rows),
            data="d",
            model="m",
            validation={
                ("CE + 1 * Dice", ""): {"0": 0.8, "1": 0.1, "2": 0.1},
                ("CE + 3 * Dice", ""): {"0": 0.7},
                ("CE", ""): {"0": 0.6, "1": 0.8},
            },
        )
    )
    ce, reference = found["CE", "", "argmax"], found["DiceCE", "1", "argmax"]
    assert (reference.gain, reference.low, reference.high) == (0, 0, 0)
    assert ce.dsc == pytest.approx(0.7, abs=0.005)
    assert ce.std == pytest.approx(0.01, abs=0.004)
    assert ce.gain == pytest.approx(ce.dsc - reference.dsc)
    assert ce.low < ce.gain < ce.high < 0
    dice = found["CE", "", "dice"]
    assert dice.decided == pytest.approx(0.02)
    assert dice.decided_high - dice.decided_low < 1e-6 < ce.high - ce.low  # within runs nothing varies here
    pilot = found["DiceCE", "3", "argmax"]
    assert (pilot.seeds, pilot.std, pilot.low) == (1, None, None)
    assert reference.validation == 0.8  # on seed 0, which every λ has
    assert ce.validation == pytest.approx(0.7)


def test_too_few_cases_have_no_interval_and_size_errors_are_without_sign():
    hard = [[0.5, 0.6], [0.5, 0.7]]
    rows = rows_of({"CE": hard, "RCE": np.add(hard, 0.1)}, weights={"CE": "", "RCE": "1"})
    rows += rows_of(
        {"CE": [[0.1, -0.1]] * 2, "RCE": [[0.0, 0.2]] * 2}, weights={"CE": "", "RCE": "1"}, metric="size_error"
    )
    met = {"CE": [[0.5, 1.0]] * 2, "RCE": [[0.25, 0.75]] * 2}
    rows += rows_of(met, weights={"CE": "", "RCE": "1"}, metric="component_recall")
    found = by_name(arm_scores(results_of(rows), data="d", model="m"))
    assert [found[key].component_recall for key in (("CE", "", "argmax"), ("RCE", "1", "argmax"))] == [0.75, 0.5]
    assert found["CE", "", "argmax"].component_precision is None
    assert found["CE", "", "argmax"].gain == 0  # no DiceCE: the first is the reference
    assert found["RCE", "1", "argmax"].gain == pytest.approx(0.1)
    assert found["RCE", "1", "argmax"].low is None
    assert [found[key].size_error for key in (("CE", "", "argmax"), ("RCE", "1", "argmax"))] == pytest.approx(
        [0.1, 0.1]
    )


def test_another_temperature_has_no_line():
    rows = rows_of({"CE": [[0.5] * 3], "RCE τ=5": [[0.5] * 3]}, weights={"CE": "", "RCE τ=5": "1"})
    assert [one.loss for one in arm_scores(results_of(rows), data="d", model="m")] == ["CE"]


def test_the_tables_come_back_as_they_were(tmp_path):
    rows = table(CE=[0.0, 0.01], DiceCE=[0.03, 0.04], weights={"CE": "", "DiceCE": "0.1"})
    arms = arm_scores(results_of(rows), data="d", model="m")
    one = EvidenceSet("d", Features(0.1, 0.5, 0.0, None, 20.0, 2, 3), arms, "net", "volume", 30, 1500, 71.3, "GPU")
    write_evidence([one], tmp_path)
    (again,) = read_evidence(tmp_path)
    assert again.features == one.features
    assert (again.model, again.recipe, again.cases, again.steps, again.run_seconds) == ("net", "volume", 30, 1500, 71.3)
    assert set(again.chosen()) == {Kind("CE"), Kind("DiceCE")}
    assert again.arms[0].dsc == pytest.approx(arms[0].dsc, abs=1e-4)
    assert again.arms[1].low is not None
    assert again.arms[1].decided is None


def test_the_package_ships_a_small_table():
    sets = read_evidence()
    assert len({one.name for one in sets}) == len(sets)
    for one in sets:
        assert Kind("DiceCE") in {arm.kind for arm in one.arms}, one.name
        assert all(0 < arm.dsc < 1 and ":" not in arm.loss for arm in one.arms)
        assert 0 < one.features.share < 1
