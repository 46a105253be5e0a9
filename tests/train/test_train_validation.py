"""Scores of validation cases against plain counting; the same for every batch size."""

import numpy as np
import pytest
import torch
from train.tiny_runs import PHOTO, memory_dataset

from sizewise.losses import loss
from sizewise.train.preparation import UNLABELLED
from sizewise.train.store import load_store
from sizewise.train.validation import case_sums, region_counts, summarise

CPU = torch.device("cpu")


def network(images):
    """Two classes beside the background, from intensities alone."""
    return torch.cat([torch.zeros_like(images), images, 1 - 2 * images], 1)


def random_store(shapes):
    rng = np.random.default_rng(0)
    images = {f"{i}": rng.integers(0, 255, (1, *shape), dtype=np.uint8) for i, shape in enumerate(shapes)}
    targets = {f"{i}": rng.choice([0, 1, 2, 200], shape).astype(np.uint8) for i, shape in enumerate(shapes)}
    dataset = memory_dataset(images, targets, classes=("background", "one", "two"), ignore_index=200)
    return load_store(dataset, dataset.cases, PHOTO, device=CPU, workers=1)


def validated(store, criterion, batch_size, patch=()):
    sums, counts, _ = case_sums(
        network,
        store,
        criterion,
        indices=range(len(store)),
        input_scale=PHOTO.input_scale(CPU),
        patch=patch,
        multiple=4,
        batch_size=batch_size,
        device=CPU,
    )
    return summarise(criterion, sums, counts)


@pytest.mark.parametrize("name", ["CE", "RCE", "Dice"])
def test_the_batch_size_changes_nothing(name):
    store = random_store([(8, 12), (8, 12), (8, 12), (5, 7), (8, 12), (5, 7)])
    criterion = loss(name, ignore_index=UNLABELLED)
    one, four = validated(store, criterion, 1), validated(store, criterion, 4)
    assert (one.dsc, one.dsc_pooled, one.size_error) == (four.dsc, four.dsc_pooled, four.size_error)
    for name in one.terms:  # float32 sums of one image and of several are added in another order
        assert one.terms[name] == pytest.approx(four.terms[name], rel=1e-6)
    windows = validated(store, criterion, 4, patch=(8, 8))
    assert windows.loss == pytest.approx(one.loss, rel=1e-5)
    assert windows.dsc == one.dsc


def test_the_loss_is_the_criterion_over_all_cases():
    store = random_store([(8, 12)] * 3)
    criterion = loss("RCE", ignore_index=UNLABELLED)
    images = torch.stack([store.image(i) for i in range(3)])
    factor, offset = PHOTO.input_scale(CPU)
    logits = network(images * factor + offset)
    target = torch.stack([store.target(i) for i in range(3)]).long()
    found = validated(store, criterion, 2)
    assert found.loss == pytest.approx(float(criterion(logits, target)), rel=1e-6)
    assert set(found.terms) == {"CrossEntropy", "SizeL1"}


def test_scores_by_plain_counting():
    store = random_store([(8, 12), (5, 7)])
    found = validated(store, loss("CE", ignore_index=UNLABELLED), 2)
    factor, offset = PHOTO.input_scale(CPU)
    dsc, size, totals = [], [], np.zeros(2)
    for index in range(2):
        predicted = network(store.image(index)[None] * factor + offset).argmax(1)[0].numpy()
        target = store.target(index).numpy()
        valid = target != UNLABELLED
        here, there = (predicted == 2) & valid, target == 2
        dsc.append(2 * (here & there).sum() / (here.sum() + there.sum()))
        size.append((here.sum() - there.sum()) / valid.sum())
        totals += (2 * (here & there).sum(), here.sum() + there.sum())
    assert found.dsc[1] == pytest.approx(np.mean(dsc))
    assert found.dsc_pooled[1] == pytest.approx(totals[0] / totals[1])
    assert found.size_error[1] == pytest.approx(np.mean(size))
    assert found.score == pytest.approx(np.mean(found.dsc))


def counts(*cases):
    """(cases, 1, 4): common, predicted, true, valid."""
    return torch.tensor(cases)[:, None]


def test_empty_regions_both_have_no_score_and_one_scores_zero():
    criterion = loss("CE", ignore_index=UNLABELLED)
    sums = criterion.stats(torch.randn(3, 2, 4, 4), torch.ones(3, 4, 4, dtype=torch.long)).sums
    found = summarise(criterion, sums, counts((0, 0, 0, 16), (0, 4, 0, 16), (4, 4, 4, 16)))
    assert found.dsc == (0.5,)  # the mean of 0 and 1: the first has none
    assert found.dsc_pooled == (pytest.approx(8 / 12),)
    assert found.size_error == (pytest.approx((0 + 0.25 + 0) / 3),)
    nothing = summarise(criterion, sums, counts((0, 0, 0, 16), (0, 0, 0, 16), (0, 0, 0, 0)))
    assert np.isnan(nothing.dsc[0])
    assert nothing.score == 0.0


def test_sigmoid_counts_each_channel_without_its_ignored_pixels():
    logits = torch.tensor([[[[1.0, -1.0, 1.0, -1.0]], [[1.0, 1.0, 1.0, -1.0]]]])
    labels = torch.tensor([[[[1, 1, UNLABELLED, 0]], [[0, 1, 1, 1]]]], dtype=torch.uint8)
    assert region_counts(logits, labels, sigmoid=True, first_class=1)[0].tolist() == [[1, 1, 2, 3], [2, 3, 3, 4]]


def test_label_0_is_counted_where_it_is_a_class_like_the_others():
    logits = torch.tensor([[[[1.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]]]])  # predicted 0, 0, 1
    labels = torch.tensor([[[[0, 1, UNLABELLED]]]], dtype=torch.uint8)
    both = region_counts(logits, labels, sigmoid=False, first_class=0)
    assert both[0].tolist() == [[1, 2, 1, 2], [0, 0, 1, 2]]
    assert region_counts(logits, labels, sigmoid=False, first_class=1)[0].tolist() == [[0, 0, 1, 2]]
