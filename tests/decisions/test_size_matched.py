"""metric="size": regions as large as the probabilities expect them."""

import pytest
import torch
from test_decide import fields

import sizewise as sw
from sizewise.decisions.size_matching import between


def sizes(labels, classes):
    return torch.stack([torch.bincount(one.flatten(), minlength=classes) for one in labels]).double()


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
def test_one_scored_class_matches_to_the_pixel(scale):
    for dtype in (torch.float32, torch.float64):
        logits = fields(3, 2, (40, 44), seed=1, scale=scale).to(dtype)
        expected = logits.double().softmax(1).sum((2, 3))
        assert (sizes(sw.decide(logits, metric="size"), 2) - expected).abs().max() <= 1
        channels = sw.decide(logits, metric="size", activation="sigmoid").sum((2, 3))
        assert (channels - logits.double().sigmoid().sum((2, 3))).abs().max() <= 1


@pytest.mark.parametrize("classes", [3, 6, 19])
@pytest.mark.parametrize("scale", [0.5, 1.5, 5.0])
def test_several_classes_match_within_half_a_percent(classes, scale):
    logits = fields(2, classes, (64, 72), seed=classes, scale=scale)
    expected = logits.softmax(1).sum((2, 3))
    for background in (0, None):
        found = sizes(sw.decide(logits, metric="size", background=background), classes)
        assert ((found - expected).abs().sum(1) <= 0.005 * 64 * 72 + classes).all()
    pooled = sizes(sw.decide(logits, metric="size", scope="batch"), classes).sum(0)
    assert (pooled - expected.sum(0)).abs().sum() <= 0.005 * 2 * 64 * 72 + classes


def test_it_is_the_likeliest_map_of_its_sizes():
    """For two classes: the pixels of the largest p, as many as are expected."""
    logits = fields(1, 2, (30, 30), seed=4)
    p = logits.softmax(1)[0, 1].flatten()
    wanted = torch.zeros_like(p, dtype=torch.bool)
    wanted[p.topk(round(float(p.sum()))).indices] = True
    labels = sw.decide(logits, metric="size")[0].flatten().bool()
    assert (labels != wanted).sum() <= 1


def test_probabilities_that_are_all_alike_cannot_be_matched_and_do_no_harm():
    flat = torch.zeros(1, 3, 6, 6)
    assert set(sw.decide(flat, metric="size").unique().tolist()) <= {0, 1, 2}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_middle_of_two_floats_is_between_them_in_number(dtype):
    pairs = torch.tensor([[-1.0, 1.0], [0.0, 1e-40], [-3e38, 3e38], [1.0, 2.0], [-2.0, -1.0]], dtype=torch.float64)
    low, high = (one.to(dtype).double() for one in pairs.unbind(1))
    for _ in range(70):
        middle = between(low, high, dtype)
        assert ((low <= middle) & (middle <= high)).all()
        low = middle
    assert (between(low, high, dtype) == low).all()  # nothing is left in between
