"""Crops by index arithmetic against plain slicing; streamed against resident."""

import numpy as np
import pytest
import torch
from train.tiny_runs import PHOTO, memory_dataset, numbered_dataset

from sizewise.train.augment import AUGMENTATIONS
from sizewise.train.batches import Cropper, ResidentBatches, StreamedBatches, blank_outside
from sizewise.train.epoch_plan import draw_plan
from sizewise.train.preparation import UNLABELLED
from sizewise.train.store import load_store

CPU = torch.device("cpu")


def store_of(dataset):
    return load_store(dataset, dataset.cases, PHOTO, device=CPU, workers=1)


def sliced(array, origin, patch, fill):
    """The crop in plain numpy: pad far around, then slice."""
    margin = 64
    padded = np.pad(array, [(0, 0), *[(margin, margin)] * len(patch)], constant_values=fill)
    places = tuple(slice(start + margin, start + margin + length) for start, length in zip(origin, patch, strict=True))
    return padded[(slice(None), *places)]


@pytest.mark.parametrize(
    ("shapes", "patch"),
    [([(9, 12), (20, 8), (8, 8)], (8, 8)), ([(5, 30), (20, 4)], (8, 8)), ([(6, 7, 8), (9, 3, 20)], (4, 5, 6))],
)
@pytest.mark.parametrize("channels", [1, 3])
def test_crops_equal_plain_slicing(shapes, patch, channels):
    dataset = numbered_dataset(shapes, channels=channels)
    preparation = type(PHOTO)(**(vars(PHOTO) | {"mean": (0.5,) * channels, "std": (0.25,) * channels}))
    store = load_store(dataset, dataset.cases, preparation, device=CPU, workers=1)
    rng = np.random.default_rng(1)
    cases = rng.integers(0, len(shapes), 12)
    free = store.shapes[cases] - np.array(patch)
    origins = np.where(free < 0, free // 2, np.floor(rng.random(free.shape) * (np.maximum(free, 0) + 1)).astype(int))
    images, labels, inside = Cropper(store, patch)(torch.from_numpy(cases), torch.from_numpy(origins))
    images, labels = blank_outside(images.float(), labels, inside)
    assert (inside is None) == all((np.array(shape) >= patch).all() for shape in shapes)
    for number, (case, origin) in enumerate(zip(cases, origins, strict=True)):
        name = dataset.cases[case].name
        np.testing.assert_array_equal(images[number], sliced(dataset.reader.images[name], origin, patch, 0))
        target = dataset.reader.targets[name][None]
        np.testing.assert_array_equal(labels[number], sliced(target, origin, patch, UNLABELLED))


def test_crops_of_multi_label_targets():
    rng = np.random.default_rng(0)
    target = rng.integers(0, 2, (3, 10, 10), dtype=np.uint8)
    images = {"a": rng.integers(0, 255, (1, 10, 10), dtype=np.uint8)}
    store = store_of(memory_dataset(images, {"a": target}, classes=("x", "y", "z"), activation="sigmoid"))
    _, labels, _ = Cropper(store, (4, 6))(torch.tensor([0]), torch.tensor([[2, 3]]))
    np.testing.assert_array_equal(labels[0], target[:, 2:6, 3:9])


@pytest.mark.parametrize("patch", [(8, 8), (16, 16)])
def test_streamed_batches_are_the_resident_ones(patch):
    store = store_of(numbered_dataset([(12, 20), (30, 9), (16, 16)]))

    def drawn(epoch):
        return draw_plan(
            store,
            seed=0,
            epoch=epoch,
            steps=7,
            batch_size=3,
            patch=patch,
            oversample=0.5,
            augmentation=AUGMENTATIONS["picture"],
            spacing=(1.0, 1.0),
        )

    resident, streamed = ResidentBatches(store, patch), StreamedBatches(store, patch, CPU, workers=2)
    for epoch in (1, 2):
        plan = drawn(epoch)
        resident.begin(plan)
        streamed.begin(plan)
        for _ in range(7):
            crops = []
            for batches in (resident, streamed):
                batches.advance()
                crops.append(vars(batches.current()))
            for name, value in crops[0].items():
                other = crops[1][name]
                assert (value is None and other is None) or torch.equal(value, other), name


def test_an_epoch_may_be_left_in_the_middle():
    """As a capture does, which warms up on an epoch's first batches and begins anew."""
    store = store_of(numbered_dataset([(8, 8)] * 4))
    plan = draw_plan(
        store,
        seed=0,
        epoch=1,
        steps=3,
        batch_size=2,
        patch=(8, 8),
        oversample=0,
        augmentation=AUGMENTATIONS["none"],
        spacing=(1.0, 1.0),
    )
    for batches in (ResidentBatches(store, (8, 8)), StreamedBatches(store, (8, 8), CPU, workers=1)):
        batches.begin(plan)
        for _ in range(5):  # more than there are
            batches.advance()
            batches.current()
        batches.begin(plan)
        batches.advance()
        assert torch.equal(batches.current().images[0], store.image(int(plan.cases[0, 0])))
