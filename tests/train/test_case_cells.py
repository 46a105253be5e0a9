"""Cells of prepared cases: cropped, moved and scored as their labels are."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from data.layouts.image_folder import write_image_folder
from train.tiny_runs import CPU as CPU_RUNTIME
from train.tiny_runs import PHOTO, history_without_times, memory_dataset, train_tiny

import sizewise as sw
from sizewise.train.augment import AUGMENTATIONS, augment
from sizewise.train.batches import Cropper, ResidentBatches, StreamedBatches
from sizewise.train.case_cells import find_case_cells
from sizewise.train.epoch_plan import draw_plan
from sizewise.train.preparation import UNLABELLED
from sizewise.train.store import load_store
from sizewise.train.validation import case_sums, summarise

CPU = torch.device("cpu")
SHAPES = [(12, 20), (30, 9), (16, 16), (16, 16)]


def store_of(shapes=SHAPES):
    random = np.random.default_rng(0)
    images = {f"{i}": random.integers(0, 255, (1, *shape), dtype=np.uint8) for i, shape in enumerate(shapes)}
    targets = {f"{i}": random.choice([0, 0, 0, 0, 1, 2, 200], shape).astype(np.uint8) for i, shape in enumerate(shapes)}
    dataset = memory_dataset(images, targets, classes=("background", "one", "two"), ignore_index=200)
    return load_store(dataset, dataset.cases, PHOTO, device=CPU, workers=1)


def criterion():
    return sw.loss("CC-DiceCE", ignore_index=UNLABELLED)


def test_losses_without_components_need_no_cells():
    assert find_case_cells(store_of(), sw.loss("DiceCE"), channels=3) is None


def test_crops_are_crops_of_the_whole_maps():
    store = store_of()
    cells = find_case_cells(store, criterion(), channels=3)
    assert cells.classes == (1, 2)
    crop = Cropper(store, (8, 6), cells).crop_cells(torch.tensor([1, 2]), torch.tensor([[3, 2], [8, 10]]))
    for row, (case, (y, x)) in enumerate([(1, (3, 2)), (2, (8, 10))]):
        whole = sw.components(store.target(case)[None], classes=[1, 2], ignore_index=UNLABELLED).maps[0]
        assert torch.equal(crop[row].int(), whole[:, y : y + 8, x : x + 6])
        assert int(whole.max()) <= cells.most


def test_streamed_batches_have_the_same_cells_and_they_move_with_the_labels():
    store = store_of()
    cells = find_case_cells(store, criterion(), channels=3)
    plan = draw_plan(
        store,
        seed=0,
        epoch=1,
        steps=3,
        batch_size=2,
        patch=(8, 8),
        oversample=0,
        spacing=(1.0, 1.0),
        augmentation=AUGMENTATIONS["any-way-up"],
    )
    both = [ResidentBatches(store, (8, 8), cells), StreamedBatches(store, (8, 8), CPU, cells, workers=1)]
    for batches in both:
        batches.begin(plan)
    for _ in range(3):
        crops = []
        for batches in both:
            batches.advance()
            crops.append(batches.current())
        assert torch.equal(crops[0].cells, crops[1].cells)
        # a map that has the labels' numbers moves as the labels do, and neither changes the other
        given = crops[0].images.float(), crops[0].labels, crops[0].motions.float(), crops[0].colours.float()
        images, labels, motions, colours = given
        *wanted, _ = augment(images, labels, None, motions, colours)
        as_cells = (UNLABELLED - labels.int()).expand(-1, 2, -1, -1)
        *found, cells_found = augment(images, labels, as_cells, motions, colours)
        assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))
        assert torch.equal((UNLABELLED - cells_found[:, 1:]).to(labels.dtype), wanted[1])
        *_, moved = augment(images, labels, crops[0].cells, motions, colours)
        assert moved.dtype == torch.int32
        assert set(moved.unique().tolist()) <= {0, *crops[0].cells.unique().tolist()}


@pytest.mark.parametrize("batch_size", [1, 3])
def test_validation_is_the_criterion_over_all_cases(batch_size):
    store = store_of([(16, 16)] * 3)
    loss = criterion()
    cells = find_case_cells(store, loss, channels=3)

    def network(images):
        return torch.cat([torch.zeros_like(images), images, 1 - 2 * images], 1)

    found = case_sums(
        network,
        store,
        loss,
        indices=range(3),
        input_scale=PHOTO.input_scale(CPU),
        patch=(),
        multiple=4,
        batch_size=batch_size,
        device=CPU,
        cells=cells,
    )
    got = summarise(loss, found.sums, found.counts, found.cells)
    factor, offset = PHOTO.input_scale(CPU)
    images = torch.stack([store.image(i) for i in range(3)]) * factor.view(1, -1, 1, 1) + offset.view(1, -1, 1, 1)
    labels = torch.stack([store.target(i) for i in range(3)])
    assert got.loss == pytest.approx(float(loss(network(images), labels)), rel=1e-5)
    assert set(got.terms) == {"CrossEntropy", "Dice", "CC-Dice"}


@pytest.mark.usefixtures("no_curves")
@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_a_run_with_components_is_the_same_from_memory_and_from_disk(activation, tmp_path, monkeypatch):
    monkeypatch.setenv("SIZEWISE_CACHE", str(tmp_path / "cache"))
    data = write_image_folder(tmp_path / "data", cases=12)
    for name, keep in (("memory", "auto"), ("disk", "never")):
        runtime = replace(CPU_RUNTIME, keep_on_device=keep)
        train_tiny(
            data,
            tmp_path / name,
            runtime=runtime,
            loss="CC-DiceCE",
            activation=activation,
            augment="any-way-up",
            epochs=2,
        )
    rows = history_without_times(tmp_path / "memory")
    assert rows == history_without_times(tmp_path / "disk")
    assert all(row["train_CC-Dice"] > 0 and row["val_CC-Dice"] > 0 for row in rows)
    kept = [path.name for path in (tmp_path / "cache").iterdir()]
    assert all(not one.startswith("tmp") for one in kept)  # the cells' file is gone with whoever opened it


def test_cells_of_data_on_disk_lie_in_a_file_too(tmp_path, monkeypatch):
    monkeypatch.setenv("SIZEWISE_CACHE", str(tmp_path))
    store = store_of()
    on_disk = find_case_cells(replace(store, on_disk=True), criterion(), channels=3)
    in_memory = find_case_cells(store, criterion(), channels=3)
    assert (on_disk.maps.dtype, in_memory.maps.dtype) == (torch.int32, torch.int16)
    assert torch.equal(on_disk.maps, in_memory.maps.int())
    assert on_disk.most == in_memory.most
    assert list(tmp_path.iterdir()) == []  # a file without a name
