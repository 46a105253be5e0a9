import numpy as np
import pytest
import torch
from probability_maps.saved_cases import drawn

import sizewise as sw
from sizewise.diagnosis.case_measure import DiagnosedCase, Problem, measure_case

# One row of six pixels: the foreground is probable at the first three, true at the first, second and fourth.
P = np.array([[0.9, 0.6, 0.55, 0.45, 0.1, 0.0]], dtype=np.float32)
TRUE = np.array([[1, 1, 0, 1, 0, 0]])
BINARY = Problem(classes=(1,))


def measured(problem=BINARY, *, target=TRUE, temperature=None, p=P):
    both = np.stack([1 - p, p])
    case = DiagnosedCase("a", both.argmax(0), target, both)
    return measure_case(case, problem, temperature=temperature).classes[0]


def test_every_question_by_hand():
    one = measured(temperature=2.0)
    assert (one.counts.predicted, one.counts.target, one.counts.intersection) == (3, 3, 2)
    assert one.dsc["now"] == pytest.approx(2 * 2 / (3 + 3))
    # Σp = 2.6; with four pixels 2 · 2.5 / (4 + 2.6) = 0.758, with three 2 · 2.05 / (3 + 2.6) = 0.732: four it is
    assert one.dsc["dice"] == pytest.approx(2 * 3 / (4 + 3))
    assert one.dsc["sizes"] == pytest.approx(2 / 3)  # the three most probable hold two of three
    assert one.dsc["matched"] == 1  # three of three pixels could be right
    assert "fitted" not in measured().dsc


def test_the_threshold_curve_holds_the_decision_at_one_half():
    one = measured()
    curve = one.histogram.dsc_over_threshold()
    assert curve[128] == pytest.approx(one.dsc["now"])
    assert curve[0] == pytest.approx(2 * 3 / (6 + 3))
    assert curve[int(0.45 * 256)] == pytest.approx(2 * 3 / (4 + 3))


def test_decisions_are_those_of_sw_decide():
    p, target = drawn((18, 14), classes=4)
    case = DiagnosedCase("a", p.argmax(0), target, p)
    found = measure_case(case, Problem(classes=(1, 2, 3)), temperature=1.7)
    for name, temperature in (("dice", 1.0), ("fitted", 1.7)):
        labels = sw.decide(torch.from_numpy(p)[None], given="probabilities", temperature=temperature)[0].numpy()
        for one in found.classes:
            mine, true = labels == one.class_id, target == one.class_id
            assert one.dsc[name] == pytest.approx(2 * (mine & true).sum() / (mine.sum() + true.sum()))


def test_ignored_pixels_count_for_nothing():
    target = TRUE.copy()
    target[0, 2:4] = 9
    one = measured(Problem(classes=(1,), ignore_index=9), target=target)
    assert (one.counts.predicted, one.counts.target, one.counts.valid) == (2, 2, 4)
    assert one.histogram.pixels.sum() == 4
    assert one.dsc["now"] == one.dsc["sizes"] == 1


def test_a_true_negative_has_no_dsc():
    one = measured(target=np.zeros_like(TRUE), p=np.full_like(P, 0.2))
    assert set(one.dsc.values()) == {None}


def test_regions_that_overlap():
    p = np.stack([P, 1 - P])
    target = np.stack([TRUE, np.ones_like(TRUE)])
    problem = Problem(classes=(1, 2), activation="sigmoid", multilabel=True)
    first, second = measure_case(DiagnosedCase("a", p > 0.5, target, p), problem).classes
    assert first.dsc["now"] == pytest.approx(4 / 6)
    assert first.dsc == measured().dsc | {"dice": first.dsc["dice"]}
    assert second.counts.target == 6


def test_without_probabilities_the_labels_say_which_classes_there_are():
    case = DiagnosedCase("a", np.array([[0, 2, 2]]), np.array([[0, 2, 5]]))
    found = measure_case(case, Problem())
    assert [one.class_id for one in found.classes] == [2, 5]
    assert set(found.classes[0].dsc) == {"now", "matched"}
    every = measure_case(case, Problem(background=None))
    assert [one.class_id for one in every.classes] == [0, 2, 5]
