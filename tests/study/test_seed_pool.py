"""Moderated seed variances: by hand, which losses they pool, folds as seeds, and the warning of unequal spreads."""

from dataclasses import replace

import numpy as np
import pytest
from small_tables import rows_of, scores_of

from sizewise.study.results import results_of
from sizewise.study.statistics.components import mean_squares, seed_degrees
from sizewise.study.statistics.paired import compare
from sizewise.study.statistics.seed_pool import moderated, seed_pool
from sizewise.study.statistics.seed_spread import spread_note, spreads_differ
from sizewise.study.statistics.setting_scores import arrange


def drawn(seed=0, *, losses="ABCD", seeds=3, cases=30, spreads=None, gain=0.0):
    """Scores whose run means spread by 0.01, or as ``spreads`` says."""
    rng = np.random.default_rng(seed)
    values = {
        loss: 0.7 + rng.normal(0, (spreads or {}).get(loss, 0.01), (seeds, 1)) + rng.normal(0, 0.02, (seeds, cases))
        for loss in losses
    }
    values[losses[-1]] = values[losses[-1]] + gain
    return values


def pool_of(runs, groups):
    found = seed_pool(runs, groups)
    assert not found.stands_out.any()
    return found.square


def test_the_pool_by_hand():
    """Run means 1 2 3, 2 3 1, 3 1 2 around 2: no seed is better for all, so r are −1 0 1 turned: 6 / (2 · 2) · 10."""
    runs = np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 1.0], [3.0, 1.0, 2.0]])
    assert pool_of(runs, groups=10) == pytest.approx(15.0)
    shifted = runs + np.array([0.0, 5.0, -3.0])  # what a seed does to all losses is not in it
    assert pool_of(shifted, groups=10) == pytest.approx(15.0)


def test_a_loss_that_stands_out_is_judged_by_itself():
    """Standard deviations 1, 1, 1 and 6: without the last the pool is that of the three above."""
    runs = np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 1.0], [3.0, 1.0, 2.0], [-4.0, 2.0, 8.0]])
    found = seed_pool(runs, groups=10)
    assert found.stands_out.tolist() == [False, False, False, True]
    assert (float(found.square), int(found.arms)) == (pytest.approx(15.0), 3)
    rng = np.random.default_rng(3)
    values = {
        loss: 0.7 + 0.01 * np.array(run)[:, None] + rng.normal(0, 1e-4, (3, 30))
        for loss, run in zip("ABCD", runs, strict=True)
    }
    by_arm = {one.arm: one for one in compare(scores_of(values), reference="A")}
    assert by_arm["D"].squares == mean_squares(values["D"] - values["A"])
    assert by_arm["B"].squares.arms == by_arm["C"].squares.arms == 3
    assert {one.squares.arms for one in compare(scores_of(values), reference="D")} == {2}


def test_two_losses_are_what_they_were():
    values = drawn(losses="AB")
    differences = values["B"] - values["A"]
    own = mean_squares(differences)
    pool = pool_of(np.stack([values["A"].mean(axis=1), values["B"].mean(axis=1)]), 30)
    assert 2 * pool == pytest.approx(own.seed)
    assert moderated(own, pool, 2).seed == pytest.approx(own.seed)
    assert seed_degrees(3, 2) == 2


def test_degrees_are_those_of_satterthwaite():
    """2 · mean² / variance of M̃S over 40,000 draws with equal spreads: 4 · 2 · 3 / 6 = 4 for 3 seeds and 4 losses."""
    runs = np.random.default_rng(1).standard_normal((40_000, 4, 3))
    own = mean_squares((runs[:, 1] - runs[:, 0])[..., None])
    rest = runs - runs.mean(axis=-1, keepdims=True) - runs.mean(axis=-2, keepdims=True)
    rest = rest + runs.mean(axis=(-2, -1), keepdims=True)
    found = moderated(own, (rest**2).sum(axis=(-2, -1)) / 6, 4)
    assert found.seed.mean() == pytest.approx(2, rel=0.02)
    assert 2 * found.seed.mean() ** 2 / found.seed.var() == pytest.approx(seed_degrees(3, 4), rel=0.05)
    assert found.seed_degrees == 4


def test_every_loss_of_the_study_is_in_the_pool():
    values = drawn()
    found = compare(scores_of(values), reference="A")
    pool = pool_of(np.stack([values[loss].mean(axis=1) for loss in "ABCD"]), 30)
    for one in found:
        own = mean_squares(values[one.arm] - values["A"])
        assert one.squares.arms == 4
        assert one.squares.seed == pytest.approx((own.seed + 2 * pool) / 2)


def test_a_loss_that_lacks_seeds_stands_alone_and_is_in_no_pool():
    values = drawn()
    rows = [row for row in rows_of(values) if row.of.run != "C-1"]
    found = {one.arm: one for one in compare(arrange(results_of(rows), data="d", model="m"), reference="A")}
    assert found["C"].seeds == 2
    assert found["C"].squares == mean_squares((values["C"] - values["A"])[[0, 2]])
    pool = pool_of(np.stack([values[loss].mean(axis=1) for loss in "ABD"]), 30)
    assert found["B"].squares.arms == 3
    assert found["B"].squares.seed == pytest.approx((mean_squares(values["B"] - values["A"]).seed + 2 * pool) / 2)


def test_two_decisions_of_the_same_weights_are_not_two_losses():
    values = drawn(losses="ABC")
    rows = rows_of(values)
    rows += [
        replace(row, of=replace(row.of, decision="dice"), value=row.value + 0.01 * (int(row.case[1:]) % 3))
        for row in rows
    ]
    found = {one.arm: one for one in compare(arrange(results_of(rows), data="d", model="m"), reference="A")}
    assert set(found) == {"B", "C", "A (dice)", "B (dice)", "C (dice)"}
    assert [found[arm].squares.arms for arm in ("B", "C")] == [3, 3]
    assert found["A (dice)"].squares.arms == found["B (dice)"].squares.arms == 2  # own seeds


def folded(values, folds=5):
    """The same table as a cross-validation: case c is tested by the run of fold c mod 5."""
    return [
        replace(row, of=replace(row.of, run=f"{row.of.run}-fold{int(row.case[1:]) % folds}")) for row in rows_of(values)
    ]


def test_folds_make_one_seed_and_every_case_counts():
    values = drawn(gain=0.05)
    one_split = compare(scores_of(values), reference="A")
    over_folds = compare(arrange(results_of(folded(values)), data="d", model="m"), reference="A")
    assert over_folds == one_split
    single = compare(
        arrange(results_of(folded({loss: runs[:1] for loss, runs in values.items()})), data="d", model="m"),
        reference="A",
    )
    assert all(one.refused and not one.shown for one in single)


def test_a_seed_that_lacks_folds_is_left_out():
    rows = [row for row in folded(drawn()) if row.of.run != "C-2-fold4"]
    scores = arrange(results_of(rows), data="d", model="m")
    assert len(scores.cases) == 30
    assert scores.present.tolist() == [[True] * 3, [True] * 3, [True, True, False], [True] * 3]
    assert "seeds whose folds are not all there are left out: C seed 2." in scores.notes[0]
    begun = [row for row in folded(drawn()) if row.of.run.split("-")[1:] in (["0", "fold0"], ["0", "fold1"])]
    assert len(arrange(results_of(begun), data="d", model="m").cases) == 12


def test_unequal_spreads_are_named_and_equal_ones_are_not():
    unstable = scores_of(drawn(spreads={"C": 0.2}, seeds=5))
    assert spread_note(unstable).startswith("the seeds of C spread ")
    assert not spread_note(scores_of(drawn(seeds=5)))
    assert not spread_note(scores_of(drawn(seeds=1)))
    assert not spread_note(scores_of(drawn(losses="AB", spreads={"B": 0.2})))
    alike = np.random.default_rng(2).standard_normal((4000, 4, 3))
    assert np.mean(spreads_differ(alike)) < 0.06
    alike[:, 1] *= 10
    assert np.mean(spreads_differ(alike)) > 0.6
