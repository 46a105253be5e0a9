"""An epoch's draws are a pure function of seed and epoch, and land where they should."""

import numpy as np
import pytest
import torch
from train.tiny_runs import PHOTO, memory_dataset, numbered_dataset

from sizewise.train.augment import AUGMENTATIONS
from sizewise.train.epoch_plan import draw_plan
from sizewise.train.store import load_store


def store_of(dataset):
    return load_store(dataset, dataset.cases, PHOTO, device=torch.device("cpu"), workers=1)


@pytest.fixture(scope="module")
def store():
    return store_of(numbered_dataset([(12, 20), (30, 9), (16, 16), (5, 5), (40, 40)]))


def plan(store, **given):
    settings = {"seed": 0, "epoch": 1, "steps": 0, "batch_size": 2, "patch": (8, 8), "oversample": 0.0}
    settings |= {"augmentation": AUGMENTATIONS["picture"], "spacing": (1.0, 1.0)} | given
    return draw_plan(store, **settings)


def arrays(plan):
    return plan.cases, plan.origins, plan.motions, plan.colours


def test_same_seed_and_epoch_same_draws(store):
    for mine, again in zip(arrays(plan(store)), arrays(plan(store)), strict=True):
        np.testing.assert_array_equal(mine, again)
    for other in ({"seed": 1}, {"epoch": 2}):
        assert not np.array_equal(plan(store).motions, plan(store, **other).motions)


def test_an_epoch_is_one_pass_and_a_whole_number_of_batches(store):
    assert plan(store).cases.shape == (2, 2)
    assert len(set(plan(store).cases.ravel())) == 4
    assert plan(store, batch_size=8).cases.shape == (1, 8)  # more than there are cases
    assert set(plan(store, batch_size=8).cases.ravel()) == set(range(5))
    assert plan(store, steps=7).cases.shape == (7, 2)
    counts = np.bincount(plan(store, steps=10).cases.ravel())
    assert counts.tolist() == [4] * 5  # 20 samples are four passes


def test_crops_lie_inside_or_are_centred(store):
    drawn = plan(store, steps=100, batch_size=5)
    for case, origin in zip(drawn.cases.ravel(), drawn.origins.reshape(-1, 2), strict=True):
        for length, start in zip(store.shapes[case], origin, strict=True):
            if length >= 8:
                assert 0 <= start <= length - 8
            else:
                assert start == (length - 8) // 2  # a margin on both sides
    starts = drawn.origins[drawn.cases == 4]
    assert starts.min() == 0
    assert starts.max() == 32  # every place can come


def test_the_last_samples_of_a_batch_are_centred_on_the_foreground():
    target = np.zeros((64, 64), np.uint8)
    target[40, 50] = 1
    target[20, 10] = 2
    dataset = memory_dataset(
        {"a": np.zeros((1, 64, 64), np.uint8)}, {"a": target}, classes=("background", "one", "two")
    )
    drawn = plan(store_of(dataset), steps=60, batch_size=4, oversample=0.5)
    centres = {tuple(origin) for origin in drawn.origins[:, 2:].reshape(-1, 2)}
    assert centres == {(36, 46), (16, 6)}  # the pixel less half the patch; rare classes as often as common ones
    assert len({tuple(origin) for origin in drawn.origins[:, :2].reshape(-1, 2)}) > 60
    third = plan(store_of(dataset), steps=5, batch_size=2, oversample=0.33)
    assert {tuple(origin) for origin in third.origins[:, 1]} <= centres  # at least one of each batch


def test_foreground_does_not_move_the_other_draws(store):
    """Two data sets that differ in their labels alone see the same motions and colours."""
    with_it, without = plan(store, oversample=1.0), plan(store, oversample=0.0)
    np.testing.assert_array_equal(with_it.motions, without.motions)
    np.testing.assert_array_equal(with_it.cases, without.cases)


def test_processes_share_each_batch(store):
    whole = plan(store, batch_size=4, steps=3, oversample=0.5)
    parts = [whole.share(rank, 2) for rank in range(2)]
    assert parts[0].cases.shape == (3, 2)
    together = np.stack([parts[0].cases, parts[1].cases], axis=2).reshape(3, 4)
    np.testing.assert_array_equal(together, whole.cases)
    np.testing.assert_array_equal(parts[1].origins, whole.origins[:, 1::2])
    assert whole.share(0, 1) is whole
