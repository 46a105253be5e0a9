"""The record of the advice, on evidence whose answer is known."""

import pytest
from advice.made_evidence import features, made_set, two_worlds

from sizewise.advice.advice_text import against_words
from sizewise.advice.evidence_table import Kind
from sizewise.advice.leave_one_out import against, close_share, leave_one_set_out, mean_regret


def test_in_two_worlds_the_advice_is_always_right_and_dicece_never_is():
    record = leave_one_set_out(two_worlds())
    assert [one.answer for one in record.advice] == [Kind("RCE")] * 4 + [Kind("CE")] * 4
    assert close_share(record.advice) == (8, 8)
    assert mean_regret(record.advice) == 0
    advice, always = against(record)
    assert advice == record.advice
    assert close_share(always) == (0, 8)
    assert mean_regret(always) == pytest.approx((4 * 0.03 + 4 * 0.01) / 8)


def test_a_set_that_is_unlike_its_neighbours_costs_what_the_advice_misses():
    odd = made_set("odd", features(0.0012), {"CE": 0.79, "DiceCE": 0.8, "RCE": 0.78})
    record = leave_one_set_out([*two_worlds(), odd])
    (found,) = [one for one in record.advice if one.set == "odd"]
    assert (found.answer, found.best) == (Kind("RCE"), Kind("DiceCE"))
    assert found.points == pytest.approx(0.02)
    assert not found.close


def test_another_network_on_the_same_images_is_left_out_too():
    """Else a study's own second network would answer for it."""
    lone = [made_set("lone", features(), {"CE": 0.8, "DiceCE": 0.8}) for _ in range(2)]
    assert leave_one_set_out(lone).advice == ()


def test_only_arms_of_the_set_are_advised_on_it():
    sets = [made_set(f"s{at}", features(), {"CE": 0.8, "DiceCE": 0.8, "RCE": 0.9}) for at in range(3)]
    poor = made_set("poor", features(), {"CE": 0.7, "DiceCE": 0.8})
    (found,) = [one for one in leave_one_set_out([*sets, poor]).advice if one.set == "poor"]
    assert found.answer in (Kind("CE"), Kind("DiceCE"))


def test_the_baseline_is_on_the_sets_that_have_it():
    sets = [made_set(f"s{at}", features(), {"CE": 0.8, "RCE": 0.9}) for at in range(3)]
    assert against(leave_one_set_out(sets)) == ((), ())
    sets.append(made_set("with", features(), {"CE": 0.8, "RCE": 0.9, "DiceCE": 0.85}))
    record = leave_one_set_out(sets)
    advice, always = against(record)
    assert [one.set for one in (*advice, *always)] == ["with", "with"]
    assert [one.points for one in (*advice, *always)] == pytest.approx([0, 0.05])
    said = against_words(record)
    assert said.startswith(
        "Always saying DiceCE, on the 1 set where it was run: within 0.5 DSC points of the best arm on 0"
    )
    assert said.endswith(
        "the advice there: within 0.5 DSC points of the best arm on 1 of 1, 0.00 behind it on average."
    )
