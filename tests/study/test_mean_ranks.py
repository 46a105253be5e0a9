"""Ranks over data sets, their stability, and critical differences against scikit-posthocs and the published table."""

import sys

import numpy as np
import pytest
import scikit_posthocs
from scipy import stats
from small_tables import rows_of, scores_of

from sizewise.errors import BadInput, MissingExtra
from sizewise.study.results import results_of
from sizewise.study.statistics.critical_difference import critical_difference
from sizewise.study.statistics.mean_ranks import rank
from sizewise.study.statistics.setting_scores import arrange


def data_set(seed, levels, *, spread=0.02, name=None, **options):
    rng = np.random.default_rng(seed)
    values = {loss: level + rng.normal(0, spread, (3, 20)) for loss, level in levels.items()}
    return scores_of(values, data=name or f"d{seed}", **options)


CLEAR = {"CE": 0.6, "RCE": 0.9, "Dice": 0.75}


def test_ranks_are_averaged_over_data_sets():
    """RCE, Dice, CE on two data sets and Dice, RCE, CE on the third: mean ranks 4/3, 5/3, 3."""
    scores = [data_set(s, CLEAR) for s in range(2)] + [data_set(2, {"CE": 0.6, "RCE": 0.75, "Dice": 0.9})]
    found = rank(scores)
    assert found.arms == ("RCE", "Dice", "CE")
    assert found.mean_ranks == pytest.approx((4 / 3, 5 / 3, 3))
    assert found.data == ("d0", "d1", "d2")
    assert (found.order_share, found.first_share) == (1, (1, 0, 0))
    assert found.rank_intervals == ((1, 1), (2, 2), (3, 3))


def test_models_of_one_data_set_do_not_outvote_another():
    """Data set a ranks RCE first with both of its models, b ranks Dice first: a tie of 1.5, not 4/3 to 5/3."""
    other = {"CE": 0.6, "RCE": 0.75, "Dice": 0.9}
    scores = [data_set(s, CLEAR, name="a", model=f"m{s}") for s in range(2)] + [data_set(2, other, name="b")]
    assert rank(scores).mean_ranks == pytest.approx((1.5, 1.5, 3))


def test_equal_losses_have_no_stable_order():
    shares = [rank([data_set(s, dict.fromkeys("ABC", 0.8))]).order_share for s in range(10)]
    assert np.mean(shares) < 0.7
    same = rank([scores_of({loss: [[0.5, 0.6]] * 3 for loss in "AB"})])
    assert same.mean_ranks == (1.5, 1.5)
    assert (same.order_share, same.first_share) == (0, (0.5, 0.5))


def test_the_replicates_spread_as_the_means_do():
    """Two losses whose difference is one standard error: the better one stays first in Φ(1) = 84 % of the replicates."""
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 1, (1, 400))
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    values = {"A": np.zeros((1, 400)), "B": noise + 1 / np.sqrt(400)}
    assert rank([scores_of(values)]).first_share[0] == pytest.approx(stats.norm.cdf(1), abs=0.03)
    by_seed = np.array([[-1.0], [0.0], [1.0]]) + 1 / np.sqrt(3)
    seeds = {"A": np.zeros((3, 5)), "B": np.repeat(by_seed, 5, axis=1)}
    # two of three seeds: means −1, −.5, −.5, 0, 0, 0, .5, .5, 1, each plus 0.577: one of nine is below 0
    assert rank([scores_of(seeds)]).first_share[0] == pytest.approx(8 / 9, abs=0.03)


def test_smaller_is_first_for_distances_and_results_repeat():
    scores = [data_set(0, CLEAR, metric="hd95")]
    assert rank(scores).arms == ("CE", "Dice", "RCE")
    assert rank(scores) == rank(scores)


def test_losses_that_a_data_set_lacks_are_not_ranked():
    found = rank([data_set(0, CLEAR), data_set(1, {"CE": 0.5, "RCE": 0.6, "FL": 0.7})])
    assert found.arms == ("RCE", "CE")
    assert found.notes == ("not on every data set, so not ranked: Dice, FL.",)
    with pytest.raises(BadInput, match="at least two losses that every data set has, got \\['CE'\\]"):
        rank([data_set(0, CLEAR), data_set(1, {"CE": 0.5, "FL": 0.7})])


def test_critical_difference_over_data_sets_is_that_of_the_library():
    rng = np.random.default_rng(1)
    levels = [{loss: rng.uniform(0.5, 0.9) for loss in "ABCD"} for _ in range(6)]
    scores = [data_set(seed, level) for seed, level in enumerate(levels)]
    found = critical_difference(scores)
    table = np.array([[one.contributions()[one.arm(arm)].mean() for arm in found.arms] for one in scores])
    assert found.data_sets == 6
    assert found.mean_ranks == pytest.approx(stats.rankdata(-table, axis=1).mean(axis=0))
    assert found.mean_ranks == tuple(sorted(found.mean_ranks))
    assert found.p_values == pytest.approx(scikit_posthocs.posthoc_nemenyi_friedman(table).to_numpy())
    assert found.friedman_p == pytest.approx(stats.friedmanchisquare(*table.T).pvalue)
    assert found.distance == pytest.approx(
        2.569 * np.sqrt(4 * 5 / (6 * 6)), rel=1e-3
    )  # Demšar's table: q = 2.569 for 4


def test_losses_that_cannot_be_told_apart_share_a_bar():
    """A and B exchange places from one data set to the next, C is always last."""
    levels = [{"A": 0.8, "B": 0.7, "C": 0.3}, {"A": 0.7, "B": 0.8, "C": 0.3}]
    found = critical_difference([data_set(seed, levels[seed % 2]) for seed in range(10)])
    assert found.mean_ranks == (1.5, 1.5, 3)
    assert found.arms[2] == "C"
    assert [set(bar) for bar in found.cliques] == [{"A", "B"}]
    assert found.p_values[0, 2] < 0.05


def test_equal_tables_and_wrong_use():
    same = critical_difference([scores_of({loss: [[0.5, 0.6]] for loss in "ABC"}, data=name) for name in "xyz"])
    assert same.friedman_p == 1
    assert same.cliques == (("A", "B", "C"),)
    with pytest.raises(BadInput, match="between at least 3 losses; all data sets have 2"):
        critical_difference([scores_of({loss: [[0.5, 0.6]] for loss in "AB"})])
    with pytest.raises(BadInput, match="at least 3 of them, the study has 2"):
        critical_difference([data_set(seed, CLEAR) for seed in range(2)])


def test_without_the_library_the_extra_that_brings_it_is_named(monkeypatch):
    import tomllib
    from pathlib import Path

    monkeypatch.setitem(sys.modules, "scikit_posthocs", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sizewise\[(\w+)\]'") as missing:
        critical_difference([data_set(seed, CLEAR) for seed in range(3)])
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    extra = str(missing.value).partition("[")[2].partition("]")[0]
    assert any(one.startswith("scikit-posthocs") for one in project["optional-dependencies"][extra])


def test_losses_without_a_seed_in_common_cannot_be_ranked():
    apart = [
        row
        for row in rows_of({loss: [[0.5, 0.6]] * 3 for loss in "ABC"})
        if int(row.of.seed) == "ABC".index(row.of.loss)
    ]
    with pytest.raises(BadInput, match="no seed in common"):
        rank([arrange(results_of(apart), data="d", model="m")])
