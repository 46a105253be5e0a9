"""Recall and precision of components: by hand, by size, and where there is none."""

import numpy as np
import pytest

from sizewise.metrics.case import score_case, true_negative
from sizewise.metrics.cases_csv import score_rows
from sizewise.metrics.component_matches import match_components, size_thirds
from sizewise.metrics.registry import METRICS

pytestmark = pytest.mark.filterwarnings("ignore:Please import:DeprecationWarning")  # surface-distance calls old scipy
NAMES = ("component_recall", "component_precision")


def scored(predicted, target, **options):
    (score,) = score_case(
        np.array(predicted), np.array(target), classes=[1], spacing=(1, 1), nsd_tolerance=1, metrics=NAMES, **options
    )
    return score


def test_by_hand():
    # true: a corner pair (one component), a single pixel that is missed; predicted: one that meets the pair, two alarms
    target = [[1, 0, 0, 0, 0], [0, 1, 0, 0, 1], [0, 0, 0, 0, 0]]
    predicted = [[1, 0, 0, 1, 0], [0, 0, 0, 0, 0], [0, 1, 0, 0, 0]]
    values = scored(predicted, target).values()
    assert values["component_recall"] == 1 / 2
    assert values["component_precision"] == 1 / 3
    found = match_components(np.array(predicted, bool), np.array(target, bool))
    assert found.true.sizes_px == (2, 1)
    assert found.predicted.met == (True, False, False)


def test_other_classes_and_ignored_pixels_are_no_components():
    target, predicted = [[1, 2, 1, 9, 1]], [[2, 1, 1, 1, 0]]
    values = scored(predicted, target, ignore_index=9).values()
    assert values["component_recall"] == 1 / 3  # of pixels 0, 2 and 4 the second is met
    assert values["component_precision"] == 1.0  # pixels 1 and 2; pixel 3 does not count


def test_empty_regions_have_no_value():
    nothing, something = [[0, 0, 0]], [[0, 1, 0]]
    missed, alarm = scored(nothing, something).values(), scored(something, nothing).values()
    assert [missed[name] for name in NAMES] == [0.0, 0.0]  # to miss all never improves a score
    assert [alarm[name] for name in NAMES] == [None, 0.0]
    assert [true_negative(1, valid_px=3).values()[name] for name in NAMES] == [None, None]


def test_thirds_are_those_of_all_true_components():
    assert size_thirds([]) is None
    assert size_thirds([5]) == (5.0, 5.0)
    assert size_thirds([1, 2, 3]) == (1.0, 2.0)
    # sizes 1 and 3 in the first case, 2 in the second: thirds of (1, 2, 3)
    first = scored([[0, 0, 1, 0, 0, 0]], [[1, 0, 1, 1, 1, 0]])
    second = scored([[1, 1, 0, 1, 1, 1]], [[1, 1, 0, 0, 0, 0]])
    rows = {(row.case, row.metric): row.value for row in score_rows({"a": [first], "b": [second]})}
    by_third = {
        third: [rows[case, f"component_recall_{third}"] for case in "ab"] for third in ("small", "medium", "large")
    }
    assert by_third == {"small": [0.0, None], "medium": [None, 1.0], "large": [1.0, None]}
    assert rows["a", "component_recall"] == 0.5
    assert [rows["b", f"component_precision_{third}"] for third in ("medium", "large")] == [1.0, 0.0]
    assert rows["a", "component_precision_small"] == 1.0


def test_the_registry_has_all_eight():
    names = [name for name, metric in METRICS.items() if metric.of_components is not None]
    assert names == [
        f"component_{side}{third}" for side in ("recall", "precision") for third in ("", "_small", "_medium", "_large")
    ]
    assert all(METRICS[name].better == "higher" for name in names)
