"""Every entry of the registry keeps its promises: one formula, a direction, a best value, a policy for empty regions."""

import numpy as np
import pytest

from sizewise.errors import BadInput
from sizewise.metrics.case import score_case
from sizewise.metrics.overlap import Counts
from sizewise.metrics.registry import METRICS, SCALES, find_metric, score_names

pytestmark = pytest.mark.filterwarnings("ignore:Please import:DeprecationWarning")  # surface-distance calls old scipy
OPTIONS = {"classes": [1], "spacing": (1, 1), "nsd_tolerance": 1.0}


def scored(predicted, target):
    return score_case(predicted, target, **OPTIONS)[0].values()


@pytest.fixture(scope="module")
def maps():
    region = np.zeros((12, 12), np.uint8)
    region[3:8, 2:9] = 1
    return {"region": region, "other": np.roll(region, 2, axis=0), "empty": np.zeros_like(region)}


@pytest.mark.parametrize("name", METRICS)
def test_an_entry_is_complete(name):
    metric = METRICS[name]
    assert metric.name == name
    formulas = (metric.of_counts, metric.of_region, metric.of_components)
    assert sum(formula is not None for formula in formulas) == 1
    assert metric.of_counts is not None or not metric.pooled  # surfaces cannot be summed over cases
    assert metric.unit in SCALES
    assert all((metric.label, metric.formula, metric.span))
    assert bool(metric.difference) == bool(metric.better)
    assert not metric.screen[0] or metric.screen[1].format(0.5)


# Of one case's components there are no thirds; test_component_matches.py has them.
BY_CASE = [name for name in score_names() if not METRICS[name].third]


@pytest.mark.parametrize("name", BY_CASE)
def test_a_flawless_case_scores_the_best_and_a_missed_region_is_worse(name, maps):
    metric = METRICS[name]
    flawless = scored(maps["region"], maps["region"])[name]
    missed = scored(maps["empty"], maps["region"])[name]
    assert flawless == metric.best
    assert metric.sign * (abs(missed) - metric.best) < 0
    near = scored(maps["other"], maps["region"])[name]
    assert metric.sign * (abs(near) - abs(missed)) > 0 or metric.signed  # a shifted region has the right size


@pytest.mark.parametrize("name", [name for name in BY_CASE if not METRICS[name].signed])
def test_a_true_negative_has_no_value_and_a_false_alarm_the_worst(name, maps):
    assert scored(maps["empty"], maps["empty"])[name] is None
    if name == "component_recall":  # there is nothing to find, whatever is predicted
        assert scored(maps["region"], maps["empty"])[name] is None
    else:
        assert scored(maps["region"], maps["empty"])[name] == scored(maps["empty"], maps["region"])[name]


def test_true_proportions_by_hand():
    """35 of 144 pixels; no score, so nothing is compared by it."""
    assert METRICS["true_proportion"].of_counts(Counts(0, 3, 35, 144)) == 35 / 144
    assert METRICS["true_proportion"].of_counts(Counts(0, 0, 0, 0)) is None
    assert "true_proportion" not in score_names()
    with pytest.raises(BadInput, match=r"`metric` must be one of dsc, .* got 'true_proportion'"):
        find_metric("true_proportion")
