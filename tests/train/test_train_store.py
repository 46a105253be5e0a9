"""Stores in memory and on disk hold the same, whatever the shapes."""

import errno
import os
import time

import numpy as np
import pytest
import torch
from train.tiny_runs import PHOTO, memory_dataset, numbered_dataset

from sizewise.errors import BadInput, RunFailed
from sizewise.train import disk_store
from sizewise.train import store as store_module
from sizewise.train.preparation import UNLABELLED
from sizewise.train.store import StoreCache, classes_present, decode, foreground_points, load_store, prepare_case

CPU = torch.device("cpu")
SHAPES = [(5, 7), (9, 4), (5, 7), (3, 3)]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SIZEWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def load(dataset, **options):
    return load_store(dataset, dataset.cases, PHOTO, device=CPU, workers=2, **options)


def assert_equal(one, other):
    assert one.names == other.names
    assert (one.channels, one.label_channels) == (other.channels, other.label_channels)
    for index in range(len(one)):
        assert torch.equal(one.image(index), other.image(index))
        assert torch.equal(one.target(index), other.target(index))
        for mine, theirs in zip(one.points[index], other.points[index], strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("shapes", [SHAPES, [(4, 5, 6), (2, 3, 9)]])
def test_views_are_the_prepared_cases_in_memory_and_on_disk(cache, shapes):
    dataset = numbered_dataset(shapes)
    resident, on_disk = load(dataset), load(dataset, keep_on_device="never")
    for index, case in enumerate(dataset.cases):
        assert torch.equal(resident.image(index), torch.from_numpy(dataset.reader.images[case.name]))
        assert torch.equal(resident.target(index), torch.from_numpy(dataset.reader.targets[case.name]))
    assert_equal(resident, on_disk)
    assert_equal(resident, load(dataset, keep_on_device="never"))  # now from the cache


def test_multi_label_targets_keep_their_channels(cache):
    rng = np.random.default_rng(0)
    images = {name: rng.integers(0, 255, (1, 4, 6), dtype=np.uint8) for name in "ab"}
    targets = {name: rng.integers(0, 2, (3, 4, 6), dtype=np.uint8) for name in "ab"}
    dataset = memory_dataset(images, targets, classes=("x", "y", "z"), activation="sigmoid")
    resident = load(dataset)
    assert resident.label_channels == 3
    assert torch.equal(resident.target(1), torch.from_numpy(targets["b"]))
    assert_equal(resident, load(dataset, keep_on_device="never"))


def test_what_does_not_fit_goes_to_disk_also_when_only_later_cases_are_large(cache, monkeypatch):
    monkeypatch.setattr(store_module, "free_bytes", lambda device: 1000)  # 400 bytes may be kept
    small_first = numbered_dataset([(2, 2), (30, 30)])  # 8 bytes each, by the first
    assert load(small_first).images.nbytes == 904
    assert len(list(cache.glob("memory-*"))) == 1
    load(numbered_dataset([(2, 2), (3, 3)]))
    assert len(list(cache.glob("memory-*"))) == 1


def test_the_cache_is_not_decoded_again_and_a_damaged_entry_is(cache):
    dataset = numbered_dataset(SHAPES)
    whole = load(dataset, keep_on_device="never")

    def never():
        raise AssertionError
        yield

    assert_equal(whole, disk_store.cached_store(dataset, dataset.cases, PHOTO, never()))
    (entry,) = cache.iterdir()
    (entry / "images.bin").write_bytes(b"short")
    fresh = disk_store.cached_store(dataset, dataset.cases, PHOTO, decode(dataset, dataset.cases, PHOTO, 1, ""))
    assert_equal(load(dataset), fresh)


def test_a_flipped_bit_anywhere_in_an_entry_is_found_and_the_entry_is_made_again(cache):
    dataset = numbered_dataset([(8, 8), (6, 10)])
    whole = load(dataset)  # in memory: what is mapped from the disk changes with it
    load(dataset, keep_on_device="never")
    (entry,) = cache.iterdir()
    for file in sorted(entry.iterdir()):
        content = file.read_bytes()
        for place in (0, len(content) // 2, len(content) - 1):
            damaged = bytearray(content)
            damaged[place] ^= 1
            file.write_bytes(damaged)
            assert disk_store._read_index(entry) is None, (file.name, place)
            assert_equal(load(dataset, keep_on_device="never"), whole)
            assert disk_store._read_index(entry) is not None


def test_abandoned_parts_are_removed_and_a_full_or_locked_disk_is_named(cache, monkeypatch):
    old, new = cache / ".partial-old", cache / ".partial-new"
    for folder in (old, new):
        folder.mkdir(parents=True)
    long_ago = time.time() - 2 * disk_store.ABANDONED_S
    os.utime(old, (long_ago, long_ago))
    dataset = numbered_dataset([(2, 2)])

    def fails(*given):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(disk_store, "_write", fails)
    with pytest.raises(RunFailed, match=r"the disk of the cache folder .* is full.*SIZEWISE_CACHE"):
        load(dataset, keep_on_device="never")
    assert list(cache.iterdir()) == [new]
    monkeypatch.setenv("SIZEWISE_CACHE", "/proc/nowhere")
    with pytest.raises(BadInput, match="the cache folder /proc/nowhere cannot be written"):
        load(dataset, keep_on_device="never")


def test_bad_cases_are_named():
    picture = np.zeros((1, 4, 4), np.uint8)
    for target, message in (
        (np.zeros((4, 5), np.uint8), r"a: the target has shape \(4, 5\), its image \(4, 4\)"),
        (np.full((4, 4), 7, np.uint8), "a: the target has the labels 7, and there are 2 classes"),
        (np.full((4, 4), -1, np.int8), "a: the target has the labels -1"),
    ):
        dataset = memory_dataset({"a": picture}, {"a": target})
        with pytest.raises(BadInput, match=message):
            load(dataset)


def test_an_ignored_label_is_no_stray_label():
    dataset = memory_dataset({"a": np.zeros((1, 1, 2), np.uint8)}, {"a": np.array([[1, 200]])}, ignore_index=200)
    assert load(dataset).target(0).tolist() == [[1, UNLABELLED]]


def test_an_image_with_other_channels_is_named():
    images = {"a": np.zeros((1, 2, 2), np.uint8), "b": np.zeros((3, 2, 2), np.uint8)}
    dataset = memory_dataset(images, {name: np.zeros((2, 2), np.uint8) for name in "ab"})
    with pytest.raises(BadInput, match="b: the image has 3 channels, and those that were trained on 1"):
        load(dataset)


def test_foreground_points_lie_in_the_foreground_and_are_thinned(monkeypatch):
    labels = torch.zeros(20, 20, dtype=torch.uint8)
    labels[2:6, 3:9] = 2
    labels[10, 10] = 1
    labels[0] = UNLABELLED
    one, two = foreground_points(labels, 2)
    assert one.tolist() == [[10, 10]]
    assert len(two) == 24
    monkeypatch.setattr(store_module, "POINTS_KEPT", 5)
    assert 1 <= len(foreground_points(labels, 2)[1]) <= 5
    assert all(labels[row, column] == 2 for row, column in foreground_points(labels, 2)[1])
    channels = torch.stack([labels == 1, torch.zeros_like(labels), labels == 2]).to(torch.uint8)
    assert [len(points) for points in foreground_points(channels, 2)] == [1, 5]


def test_decoding_keeps_the_order_and_stops_at_a_bad_case():
    dataset = numbered_dataset([(2, 2)] * 30)
    prepared = list(decode(dataset, dataset.cases, PHOTO, 2, ""))
    assert [int(one.image[0, 0, 0]) for one in prepared] == [17 * number % 251 for number in range(30)]
    dataset.reader.targets["case20"] = np.zeros((1, 1), np.uint8)
    with pytest.raises(BadInput, match="case20"):
        list(decode(dataset, dataset.cases, PHOTO, 2, ""))


def test_runs_of_one_process_share_a_store(cache):
    dataset = numbered_dataset(SHAPES)
    stores = StoreCache()
    first = stores.load(dataset, dataset.cases, PHOTO, device=CPU, what="a")
    assert stores.load(dataset, dataset.cases, PHOTO, device=CPU, what="b") is first
    assert stores.load(dataset, dataset.cases[:2], PHOTO, device=CPU, what="b") is not first


def test_prepared_points_are_those_of_the_resized_target():
    dataset = numbered_dataset([(8, 8)])
    small = type(PHOTO)(**(vars(PHOTO) | {"size": (4, 4)}))
    prepared = prepare_case(dataset, dataset.cases[0], small)
    assert prepared.labels.shape == (4, 4)
    assert max(points.max() for points in prepared.points) < 4


@pytest.mark.parametrize("where", ["auto", "never"])
def test_classes_that_are_present(cache, where):
    targets = {"a": np.zeros((4, 4), np.uint8), "b": np.zeros((4, 4), np.uint8)}
    targets["a"][1, 2], targets["b"][3], targets["b"][0, 0] = 3, 1, UNLABELLED
    images = {name: np.zeros((1, 4, 4), np.uint8) for name in targets}
    dataset = memory_dataset(images, targets, classes=("background", "x", "y", "z"), ignore_index=UNLABELLED)
    assert classes_present(load(dataset, keep_on_device=where)) == {1, 3}
    channels = {name: np.stack([target == 9, target == 1]).astype(np.uint8) for name, target in targets.items()}
    several = memory_dataset(images, channels, classes=("x", "y"), activation="sigmoid")
    assert classes_present(load(several, keep_on_device=where)) == {2}
