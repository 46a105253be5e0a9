"""Who wins on the near sets, who is tied, and what is the simplest of those."""

import math
from dataclasses import replace

import pytest
from advice.made_evidence import features, made_set, two_worlds

from sizewise.advice.choice import TERMS, choose, difference, simplicity
from sizewise.advice.evidence_table import Kind
from sizewise.advice.near_sets import nearest, usual_distance
from sizewise.losses import ALIASES, NAMED_LOSSES


def chosen(evidence, of=None):
    return choose(nearest(of or evidence[0].features, evidence))


def test_the_winner_of_the_near_sets_is_taken_where_it_is_shown():
    evidence = two_worlds()
    small, large = chosen(evidence, features(0.001)), chosen(evidence, features(0.3))
    assert (small.kind, small.clear) == (Kind("RCE"), True)
    assert (large.kind, large.clear) == (Kind("CE"), True)


def test_what_is_not_shown_is_a_tie_and_the_simplest_of_it_is_taken():
    """RCE is 0.3 points ahead on average, with intervals of ± 2."""
    evidence = [made_set(f"s{at}", features(), {"CE": 0.8, "DiceCE": 0.8, "RCE": 0.803}, half=0.02) for at in range(4)]
    found = chosen(evidence)
    assert found.best == Kind("RCE")
    assert found.kind == Kind("CE")
    assert not found.clear
    assert set(found.tied) == {Kind("CE"), Kind("DiceCE"), Kind("RCE")}


def test_who_is_far_ahead_without_being_shown_is_taken_and_not_called_clear():
    evidence = [made_set(f"s{at}", features(), {"CE": 0.8, "DiceCE": 0.8, "RCE": 0.83}, half=0.2) for at in range(3)]
    found = chosen(evidence)
    assert (found.kind, found.clear, found.tied) == (Kind("RCE"), False, (Kind("RCE"),))


def test_sets_that_disagree_show_nothing():
    """+3 and −3 points, each with a narrow interval: on average nothing, and it varies from set to set."""
    evidence = [
        made_set(f"s{at}", features(), {"DiceCE": 0.8, "RCE": 0.83 if at % 2 else 0.771}, half=0.001) for at in range(4)
    ]
    found = difference(nearest(features(), evidence, how_many=4), Kind("RCE"), Kind("DiceCE"))
    assert found.estimate == pytest.approx(0.0005)
    assert not found.shown
    assert found.high > 0.02  # the intervals alone would say 0.0005 ± 0.0005


def test_a_decision_of_the_same_networks_has_its_own_interval():
    """CE decided for Dice is as good as DiceCE; against argmax it is shown, so it is taken with CE."""
    scores = {"CE": 0.798, ("CE", "dice"): 0.801, "DiceCE": 0.8, ("DiceCE", "dice"): 0.8}
    evidence = [made_set(f"s{at}", features(), scores, half=0.0009) for at in range(3)]
    found = chosen(evidence)
    assert found.kind == Kind("CE", "dice")
    gain = difference(nearest(features(), evidence), Kind("CE", "dice"), Kind("CE"))
    assert gain.shown
    assert gain.estimate == pytest.approx(0.003)


def test_an_arm_that_few_near_sets_have_is_no_candidate_and_one_seed_is_none():
    evidence = [made_set(f"s{at}", features(), {"CE": 0.8, "DiceCE": 0.8}) for at in range(3)]
    evidence[0] = made_set("s0", features(), {"CE": 0.8, "DiceCE": 0.8, "RCE": 0.99})
    assert chosen(evidence).best != Kind("RCE")
    assert choose(nearest(features(), evidence[:1]), among=[Kind("CE")]) is None
    assert chosen([made_set("s", features(), {"CE": 0.8})]) is None


def test_simplicity():
    kinds = [
        Kind("my:loss"),
        Kind("CC-DiceCE"),
        Kind("RCE"),
        Kind("DiceCE", "dice"),
        Kind("DiceCE"),
        Kind("CE", "dice"),
        Kind("CE"),
    ]
    assert sorted(kinds, key=simplicity) == [
        Kind("CE"), Kind("CE", "dice"), Kind("DiceCE"), Kind("DiceCE", "dice"), Kind("RCE"), Kind("my:loss"), Kind("CC-DiceCE"),
    ]  # fmt: skip


def test_of_two_that_are_tied_the_one_without_a_weight_to_choose_is_simpler():
    evidence = [made_set(f"s{at}", features(), {"DiceCE": 0.8, "JaccardCE": 0.8}, half=0.01) for at in range(3)]
    assert chosen(evidence).kind == Kind("DiceCE")
    tried = [replace(one, arms=(*one.arms, replace(one.arms[0], weight="3", seeds=1))) for one in evidence]
    assert chosen(tried).kind == Kind("JaccardCE")


def test_the_terms_are_those_of_the_named_losses():
    wanted = {}
    for name, named in NAMED_LOSSES.items():
        called = {full: short for short, full in ALIASES.items()}.get(name, name)
        wanted.setdefault(len(named.parts), []).append(called)
    assert {count: list(names) for count, names in TERMS.items()} == wanted


def test_near_sets_count_by_their_distance():
    evidence = [made_set("near", features(0.1), {"CE": 0.8}), made_set("far", features(0.001), {"CE": 0.8})]
    near, far = nearest(features(0.1), evidence)
    assert (near.set.name, near.distance, far.distance) == ("near", 0.0, pytest.approx(2 / math.sqrt(7)))
    assert near.weight == pytest.approx((1 / 0.25) / (1 / 0.25 + math.sqrt(7) / 2))
    assert near.weight + far.weight == pytest.approx(1)
    assert usual_distance(two_worlds()) == 1.0  # in either world they are much nearer
    lonely = [*evidence, made_set("lonely", features(0.1, components=1e6, smallest_px=1e6, classes=1000), {"CE": 0.8})]
    assert usual_distance(lonely) == max(nearest(lonely[2].features, lonely[:2], how_many=1)[0].distance, 1.0) > 1
