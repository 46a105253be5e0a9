"""The sentences, and when each is said."""

import re
from dataclasses import replace

import numpy as np
import pytest
from small_tables import scores_of

from sizewise.metrics.registry import METRICS
from sizewise.study.statistics.components import mean_squares
from sizewise.study.statistics.interval import interval
from sizewise.study.statistics.paired import compare
from sizewise.study.statistics.sample_size import SampleSize
from sizewise.study.statistics.seed_pool import moderated, seed_pool
from sizewise.study.statistics.sentences import verdict, verdicts
from sizewise.study.statistics.signed_rank import holm


@pytest.fixture(scope="module")
def comparison():
    """A comparison whose numbers the tests replace."""
    rng = np.random.default_rng(0)
    values = {loss: rng.normal(0.8, 0.02, (3, 60)) for loss in ("CE", "RCE")}
    (found,) = compare(scores_of(values), reference="CE")
    return replace(found, estimate=0.008, low=0.002, high=0.014, p_value=0.01, p_holm=0.01)


def test_a_difference_that_is_shown(comparison):
    assert verdict(comparison).sentence == (
        "RCE is better than CE by 0.8 DSC points [0.2, 1.4] (95 % interval; 3 seeds, 60 cases)."
    )
    worse = replace(comparison, estimate=-0.008, low=-0.014, high=-0.002)
    assert verdict(worse).sentence.startswith("RCE is worse than CE by 0.8 DSC points [0.2, 1.4]")
    assert (verdict(comparison).kind, verdict(worse).kind) == ("better", "worse")


def test_a_smaller_distance_is_better(comparison):
    hd95 = replace(comparison, metric=METRICS["hd95"], estimate=-1.5, low=-2.5, high=-0.5)
    assert verdict(hd95).sentence.startswith("RCE is better than CE by 1.5 mm HD95 [0.5, 2.5]")


def test_what_is_not_shown_says_what_would_show_it(comparison):
    none = replace(comparison, low=-0.004, high=0.02, p_value=0.2, p_holm=0.2)

    def said(*needed):
        return verdict(replace(none, needed=SampleSize(0.008, *needed)))

    more = said(9, 5, 18)
    assert more.kind == "not shown"
    assert more.sentence == (
        "no difference can be shown between RCE and CE: +0.8 DSC points [−0.4, +2.0] (95 % interval; 3 seeds, 60 cases). "
        "If the difference is as large as it looks, about 2 to 15 more seeds would be needed to show it."
    )
    assert "looks, about 1 more seed would" in said(4, 4, 4).sentence
    assert "looks, about 6 more seeds would" in said(9, 9, 9).sentence
    assert "looks, about 1 to 3 more seeds would" in said(4, 2, 6).sentence  # not 0 more: 3 seeds did not show it
    assert "looks, at least 2 more seeds would" in said(9, 5, None).sentence
    assert "looks, at least 1 more seed would" in said(9, 3, None).sentence
    assert "another study of this size" in said(3, 2, 5).sentence
    cases = said(None, None, None, 240).sentence
    assert "More seeds cannot help, the cases are the limit" in cases
    assert "about 240 cases would be needed" in cases
    both = said(None, None, None, None, 4).sentence
    assert "More seeds alone or more cases alone cannot show it" in both
    assert both.endswith("it takes about 12 seeds and 240 cases.")  # 4 times 3 seeds and 60 cases
    assert "It is too small to show: 66 times as many seeds and cases would not do" in said().sentence


def test_an_interval_without_zero_is_no_claim_among_many(comparison):
    many = verdict(replace(comparison, p_value=0.03, p_holm=0.12, comparisons=4))
    assert many.kind == "not shown"
    assert "among 4 comparisons one does so by chance too often" in many.sentence


def test_one_seed_few_cases_and_equal_results(comparison):
    one = verdict(replace(comparison, seeds=1))
    assert one.kind == "one seed"
    assert one.sentence.startswith("one seed cannot separate RCE from luck: run at least 3.")
    assert one.sentence.endswith("this run of RCE scores +0.8 DSC points against this run of CE.")  # no interval
    few = verdict(replace(comparison, groups=9, cases=9))
    assert few.kind == "too few cases"
    assert few.sentence.startswith("9 cases are too few")
    assert few.comparison.refused
    for refused in (one, few):
        assert not re.search(r"\[|interval|p =|more seed", refused.sentence)
    same = scores_of({"CE": [[0.5, np.nan] * 10] * 3, "RCE": [[0.5, np.nan] * 10] * 3})
    equal = verdict(compare(same, reference="CE")[0])
    assert equal.kind == "identical"
    assert "the same DSC in every case" in equal.sentence


def test_groups_are_named(comparison):
    assert "3 seeds, 60 cases of 12 groups" in verdict(replace(comparison, groups=12)).sentence


def test_small_numbers_keep_their_digits_and_there_is_no_minus_zero(comparison):
    assert (
        "by 0.08 DSC points [0.02, 0.14]"
        in verdict(replace(comparison, estimate=0.0008, low=0.0002, high=0.0014)).sentence
    )
    zero = verdict(replace(comparison, estimate=-1e-9, low=-0.01, high=0.01, p_value=0.9, p_holm=0.9)).sentence
    assert not re.search(r"−0\.0+ ", zero)


def test_what_is_shown_comes_first(comparison):
    none = replace(comparison, arm="X", p_holm=0.5, p_value=0.5)
    worse = replace(comparison, arm="W", estimate=-0.01)
    assert [v.comparison.arm for v in verdicts([none, worse, comparison])] == ["RCE", "W", "X"]


def test_the_claim_is_what_the_calibration_counts():
    """The whole way from rows to sentences agrees with the functions that the simulation calls on arrays."""
    rng = np.random.default_rng(3)
    kinds = []
    for gain in np.linspace(0, 0.05, 6):
        values = {loss: 0.8 + rng.normal(0, 0.02, (3, 1)) * 0.3 + rng.normal(0, 0.03, (3, 25)) for loss in "ABC"}
        values["C"] = values["C"] + gain
        differences = np.stack([values[loss] - values["A"] for loss in "BC"])
        pool = seed_pool(np.stack([values[loss].mean(axis=1) for loss in "ABC"]), 25)
        pairs = [mean_squares(one) for one in differences]
        if not pool.stands_out.any():
            pairs = [moderated(one, pool.square, 3) for one in pairs]
        found = [interval(one, squares=squares) for one, squares in zip(differences, pairs, strict=True)]
        claimed = holm(np.array([one.p_value for one in found])) < 0.05
        found = [verdict(one).kind for one in compare(scores_of(values), reference="A")]
        assert [kind in ("better", "worse") for kind in found] == claimed.tolist()
        kinds += found
    assert {"better", "not shown"} <= set(kinds)


def test_single_runs_go_through():
    """Label maps from elsewhere have no seed."""
    rng = np.random.default_rng(4)
    (single,) = compare(scores_of({loss: rng.normal(0.8, 0.1, (1, 30)) for loss in ("A", "B")}), reference="A")
    assert verdict(single).kind == "one seed"
    assert single.needed.seeds is None
    assert not single.shown
