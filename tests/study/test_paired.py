"""Comparisons with a reference: by hand, against scipy, with missing values, groups and several data sets."""

import numpy as np
import pytest
from scipy import stats
from small_tables import rows_of, scores_of
from statsmodels.stats.multitest import multipletests

from sizewise.errors import BadInput
from sizewise.study.results import results_of
from sizewise.study.statistics.paired import compare, group_differences
from sizewise.study.statistics.setting_scores import arrange
from sizewise.study.statistics.signed_rank import holm, rank_biserial, signed_rank_p, standardised_difference

NO = np.nan


def drawn(seed=0, *, losses=("CE", "Dice", "RCE"), seeds=3, cases=40, gain=0.0):
    rng = np.random.default_rng(seed)
    difficulty = rng.normal(0.8, 0.05, cases)
    values = {loss: difficulty + rng.normal(0, 0.02, (seeds, cases)) for loss in losses}
    values[losses[-1]] = values[losses[-1]] + gain
    return values


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_holm_is_that_of_statsmodels(count):
    p_values = np.random.default_rng(count).random(count) ** 3
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


def test_holm_corrects_each_row_by_itself():
    assert holm(np.array([[0.01, 0.5], [0.04, 0.03]])) == pytest.approx(np.array([[0.02, 0.5], [0.06, 0.06]]))


def test_signed_rank_is_that_of_scipy_without_the_equal_cases():
    differences = np.random.default_rng(0).normal(0.1, 1, 30)
    assert signed_rank_p(differences) == stats.wilcoxon(differences, method="exact").pvalue
    assert signed_rank_p(np.append(differences, [0, 0])) == signed_rank_p(differences)
    assert signed_rank_p(np.zeros(5)) == 1
    assert signed_rank_p(np.array([1.0, 1.0, -1.0, 1.0] * 5)) == pytest.approx(
        stats.wilcoxon([1.0, 1.0, -1.0, 1.0] * 5, method="asymptotic").pvalue
    )


def test_effect_sizes_by_hand():
    assert rank_biserial(np.array([0.5, -0.2, 0.3, 0.0])) == pytest.approx((3 + 2 - 1) / 6)
    assert rank_biserial(np.zeros(3)) == 0
    assert standardised_difference(np.array([1.0, 2.0, 3.0])) == pytest.approx(2 / 1)
    assert standardised_difference(np.ones(3)) is None
    assert standardised_difference(np.ones(1)) is None


def test_a_comparison_holds_the_difference_of_the_reported_means():
    values = drawn(gain=0.03)
    first, second = compare(scores_of(values), reference="CE")
    assert (first.arm, second.arm, second.reference, second.comparisons) == ("Dice", "RCE", "CE", 2)
    assert second.estimate == pytest.approx(values["RCE"].mean() - values["CE"].mean())
    assert second.low < second.estimate < second.high
    assert (second.seeds, second.cases, second.groups) == (3, 40, 40)
    assert [first.p_holm, second.p_holm] == pytest.approx(holm(np.array([first.p_value, second.p_value])).tolist())
    averaged = values["RCE"].mean(axis=0) - values["CE"].mean(axis=0)
    assert second.wilcoxon_p == pytest.approx(stats.wilcoxon(averaged).pvalue)
    assert second.standardised == pytest.approx(averaged.mean() / averaged.std(ddof=1))
    assert second.shown
    assert second.rank_biserial > 0.5


def test_the_reference_and_the_loss_can_be_exchanged():
    values = drawn(losses=("CE", "RCE"), gain=0.01)
    (one,) = compare(scores_of(values), reference="CE")
    (other,) = compare(scores_of(values), reference="RCE")
    assert (other.low, other.high) == (pytest.approx(-one.high), pytest.approx(-one.low))
    assert (other.p_value, other.wilcoxon_p, other.shown) == (one.p_value, pytest.approx(one.wilcoxon_p), one.shown)
    assert other.rank_biserial == pytest.approx(-one.rank_biserial)


def test_a_distance_is_better_when_it_is_smaller():
    values = {loss: 100 * runs for loss, runs in drawn(losses=("CE", "RCE"), gain=0.03).items()}
    (one,) = compare(scores_of(values, metric="hd95"), reference="CE")
    assert one.estimate > 0 > one.gain
    assert one.shown
    assert one.rank_biserial < 0


def test_a_true_negative_beats_a_false_alarm_in_the_ranks():
    """Per case: 0.8 − 0.7; both empty: left out; flawless 1 against 0; 0 against flawless 1."""
    scores = scores_of({"A": [[0.8, NO, NO, 0.0]], "B": [[0.7, NO, 0.0, NO]]})
    assert group_differences(scores, 0, 1) == pytest.approx([0.1, 1, -1])
    distances = scores_of({"A": [[5.0, NO, NO]], "B": [[7.0, NO, 90.0]]}, metric="hd95")
    assert group_differences(distances, 0, 1) == pytest.approx([-2, -90])


def test_patients_are_the_units_where_they_are_known():
    """20 patients with 4 nearly equal cases each: taken as 80 cases the interval would be about half as wide."""
    rng = np.random.default_rng(1)
    patient = np.repeat(rng.normal(0, 0.05, 20), 4)
    values = {"CE": 0.8 + rng.normal(0, 0.002, (3, 80)), "RCE": 0.8 + patient + rng.normal(0, 0.002, (3, 80))}
    scores = scores_of(values)
    groups = {"d": {case: f"p{index // 4}" for index, case in enumerate(scores.cases)}}
    (alone,), (together,) = compare(scores, reference="CE"), compare(scores, reference="CE", groups=groups)
    assert (together.groups, together.cases) == (20, 80)
    assert together.estimate == pytest.approx(alone.estimate)
    assert (together.high - together.low) / (alone.high - alone.low) == pytest.approx(2, rel=0.2)
    assert together.wilcoxon_p > alone.wilcoxon_p


def test_only_seeds_that_both_have_are_compared():
    values = drawn(losses=("CE", "RCE"))
    rows = [row for row in rows_of(values) if row.of.run != "RCE-1"]
    (one,) = compare(arrange(results_of(rows), data="d", model="m"), reference="CE")
    assert one.seeds == 2
    assert one.estimate == pytest.approx((values["RCE"] - values["CE"])[[0, 2]].mean())
    none = [row for row in rows_of(values) if row.of.run not in ("RCE-1", "RCE-2", "CE-0")]
    with pytest.raises(BadInput, match="no seed in common"):
        compare(arrange(results_of(none), data="d", model="m"), reference="CE")


def test_data_sets_are_corrected_together():
    scores = [scores_of(drawn(seed), data=f"d{seed}") for seed in range(3)]
    found = compare(*scores, reference="CE")
    assert [each.data for each in found] == ["d0", "d0", "d1", "d1", "d2", "d2"]
    assert [each.p_holm for each in found] == pytest.approx(holm(np.array([each.p_value for each in found])).tolist())
    assert compare(scores_of({"CE": [[0.1]]}), reference="CE") == []
    with pytest.raises(BadInput, match="CE, Dice, RCE, got 'BCE'"):
        compare(*scores, reference="BCE")
