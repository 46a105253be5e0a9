"""``sw.advise``: the answer with its reasons, and that it claims no more than the table holds."""

from dataclasses import replace

import numpy as np
import pytest
from advice.made_evidence import arm, features, made_set, two_worlds
from report.synthetic_study import make_study

import sizewise as sw
from sizewise.advice.advice_text import advice_lines, cost_sentence
from sizewise.advice.advise import advise_table, chosen_weight
from sizewise.advice.evidence_table import Kind
from sizewise.advice.near_sets import nearest
from sizewise.advice.region_table import RegionTable, region_table
from sizewise.errors import BadInput

SMALL = RegionTable(np.array([[0.001], [0.002], [0.0005]]))


def test_a_clear_winner_is_called_so():
    advice = advise_table(SMALL, evidence=two_worlds())
    assert (advice.loss, advice.decision, advice.scope, advice.recipe) == ("RCE", "argmax", "image", "picture")
    assert advice.clear
    text = str(advice)
    assert "RCE is better than each of the 2 other arms on the nearest sets." in text
    assert "Against DiceCE on sets like these: +3.0 DSC points" in text
    assert "shown; one by one: small" in text
    assert "within 0.5 DSC points of the best arm on 8 of 8, 0.00 behind it on average" in text
    assert "Always saying DiceCE: within 0.5 DSC points of the best arm on 0 of 8, 2.00 behind it" in text


def test_without_a_clear_winner_it_says_so_and_names_the_simplest():
    scores = {"CE": 0.8, ("CE", "dice"): 0.8, "DiceCE": 0.8, "RCE": 0.803}
    evidence = [made_set(f"s{at}", features(), scores, half=0.02) for at in range(4)]
    advice = advise_table(SMALL, evidence=evidence)
    assert (advice.loss, advice.decision, advice.clear) == ("CE", "argmax", False)
    text = str(advice)
    assert "No clear winner: on the nearest sets CE cannot be told from CE (dice), DiceCE, RCE" in text
    assert "of these it is the simplest" in text
    assert "decided for dice the same networks score +0.0 DSC points (−1.2 to 1.2) there, which is not shown" in text
    assert "is better than" not in text


def with_components(name, recall, precision, *, dsc=0.81):
    """A set on which CC-DiceCE was run beside DiceCE with λ = 1."""
    one = made_set(name, features(0.001, components=8.0), {"CE": 0.79, "JaccardCE": 0.82})
    partner = replace(arm(Kind("DiceCE"), 0.8, weight="1"), component_recall=0.5, component_precision=0.9)
    ours = replace(arm(Kind("CC-DiceCE"), dsc), component_recall=recall, component_precision=precision)
    return replace(one, arms=(*one.arms, partner, ours))


def test_many_pieces_get_a_word_on_counting_each():
    evidence = [with_components("a", 0.7, 0.8), with_components("b", 0.6, 0.86, dsc=0.796), *two_worlds()[:2]]
    pieces = RegionTable(np.array([[0.001], [0.002]]), 2, np.array([[9], [7]]), (np.full(16, 40.0),))
    text = str(advise_table(pieces, evidence=evidence))
    assert "A class has 8 pieces in a case. On a and b CC-DiceCE" in text
    assert "found 15.0 points more of them than DiceCE" in text
    assert "7.0 points fewer of those that it drew were true" in text
    assert "its DSC differed by +0.3 points" in text
    few = RegionTable(np.array([[0.001], [0.002]]), 2, np.array([[1], [2]]), (np.full(3, 40.0),))
    for table, sets in ((few, evidence), (SMALL, evidence), (pieces, two_worlds())):  # few, unknown, never run
        assert "pieces in a case" not in str(advise_table(table, evidence=sets))


def test_ahead_is_not_shown():
    evidence = [made_set(f"s{at}", features(), {"CE": 0.8, "DiceCE": 0.8, "RCE": 0.83}, half=0.2) for at in range(3)]
    advice = advise_table(SMALL, evidence=evidence)
    assert advice.loss == "RCE"
    assert "No clear winner: RCE is ahead on the nearest sets" in str(advice)
    assert "not shown; one by one" in str(advice)


def test_the_weight_is_the_best_on_validation_of_the_near_sets():
    """On s0 λ = 1 leads 3 by 2 points, on s1 3 leads 1 by 1; 0.1 was tried on s0 alone."""
    tried = [{"0.1": 0.9, "1": 0.8, "3": 0.78}, {"1": 0.8, "3": 0.81}]
    sets = []
    for at, validation in enumerate(tried):
        arms = [arm(Kind("RCE"), 0.8, weight=weight, validation=score) for weight, score in validation.items()]
        sets.append(replace(made_set(f"s{at}", features(), {"CE": 0.8}), arms=tuple(arms)))
    assert chosen_weight(nearest(features(), sets), "RCE") == 1
    assert chosen_weight(nearest(features(), sets), "CE") is None
    alone = [replace(sets[0], arms=sets[0].arms[:1]), replace(sets[1], name="s2")]
    assert chosen_weight(nearest(features(), alone), "RCE") == 0.1  # nothing in common: the nearest one's


def test_far_from_everything_is_said():
    advice = advise_table(RegionTable(np.array([[1e-9], [2e-9]])), evidence=two_worlds())
    assert advice.far
    assert any("take this as a guess" in line for line in advice_lines(advice))
    assert not advise_table(SMALL, evidence=two_worlds()).far


def test_the_cost_is_that_of_the_nearest_set_or_unknown():
    advice = advise_table(SMALL, evidence=two_worlds())
    said = cost_sentence(advice, 9)
    assert "1,500 steps) the training of a run took 1:10 on a fast GPU, beside others, so 10:30 for all" in said
    free = [replace(one, run_seconds=None) for one in two_worlds()]
    assert "cannot be known" in cost_sentence(advise_table(SMALL, evidence=free), 9)


def test_no_evidence_is_a_sentence():
    with pytest.raises(BadInput, match="no two losses with two seeds each on the nearest sets"):
        advise_table(SMALL, evidence=[])


def test_a_users_study_counts_and_is_the_nearest_to_its_own_data(tmp_path):
    study = make_study(tmp_path / "study", data=("spots",), overlays=0)
    shares = np.exp(np.random.default_rng(1).normal(-3, 1, size=(30, 2))).clip(0, 0.4)
    table = np.column_stack([1 - shares.sum(axis=1), shares])
    advice = sw.advise(table, evidence=[study])
    assert advice.near[0].set.name == "spots"
    assert advice.near[0].set.own
    assert region_table(table).shares.shape == (30, 2)
    with pytest.raises(BadInput, match="`evidence`: there is no folder"):
        sw.advise(table, evidence=[tmp_path / "none"])


def test_what_is_advised_can_be_made():
    advice = sw.advise([[9000, 1000], [8500, 1500], [9900, 100]])
    options = {} if advice.weight is None else {"weight": advice.weight}
    assert sw.loss(advice.loss, scope=advice.scope, **options)
    sw.Decision(advice.decision) if advice.decision != "argmax" else None
