"""RegionMetric as a torchmetrics class: its values by hand, against torchmetrics, over batches and processes."""

import math
import re

import pytest
import torch
from torchvision_stub import import_peer

torchmetrics = import_peer("torchmetrics", needs_torchvision=True)

from sizewise.integrations.torchmetrics import RegionMetric  # noqa: E402

NAN = float("nan")
# classes 1 and 2; image 1: 3 pixels of class 1 for 2; image 2 misses it; image 3 invents one pixel of class 2
PREDICTED = torch.tensor([[0, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 2]])
TRUE = torch.tensor([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0]])


def value(metric: str, batches: int = 1, **options) -> list[float]:
    made = RegionMetric(metric, num_classes=3, **options)
    for predicted, true in zip(PREDICTED.chunk(batches), TRUE.chunk(batches), strict=True):
        made.update(predicted, true)
    return made.compute().tolist()


@pytest.mark.parametrize("batches", [1, 3])
@pytest.mark.parametrize(
    ("metric", "over", "expected"),
    [
        ("dsc", "images", [(0.8 + 0) / 2, 0.0]),
        ("dsc", "dataset", [2 * 2 / (3 + 4), 0.0]),
        ("iou", "images", [(2 / 3 + 0) / 2, 0.0]),
        ("size_error", "images", [(1 / 4 - 2 / 4 + 0) / 3, 1 / 4 / 3]),
        ("size_error", "dataset", [(3 - 4) / 12, 1 / 12]),
        ("relative_size_error", "images", [(1 / 2 - 1) / 2, NAN]),
        ("relative_size_error", "dataset", [(3 - 4) / 4, NAN]),
    ],
)
def test_values_by_hand_whatever_the_batch_size(metric, over, expected, batches):
    assert value(metric, batches, over=over) == pytest.approx(expected, nan_ok=True)


def test_pooled_iou_is_torchmetrics_own_with_ignored_pixels():
    generator = torch.Generator().manual_seed(0)
    logits, target = torch.randn(4, 5, 9, 8, generator=generator), torch.randint(0, 5, (4, 9, 8), generator=generator)
    target[:, 2:4] = 255
    ours = RegionMetric("iou", num_classes=5, over="dataset", include_background=True, ignore_index=255)
    theirs = torchmetrics.JaccardIndex("multiclass", num_classes=5, average=None, ignore_index=255)
    ours.update(logits, target.unsqueeze(1))
    theirs.update(logits, target)
    torch.testing.assert_close(ours.compute(), theirs.compute())


def test_processes_are_joined_by_sums():
    """What torchmetrics does after gathering: every state is reduced by a sum."""
    for over in ("images", "dataset"):
        ranks = [RegionMetric("dsc", num_classes=3, over=over) for _ in range(2)]
        ranks[0].update(PREDICTED[:1], TRUE[:1])
        ranks[1].update(PREDICTED[1:], TRUE[1:])
        ranks[0].merge_state(ranks[1])
        assert ranks[0].compute().tolist() == value("dsc", over=over)


def test_sigmoid_channels_overlap():
    metric = RegionMetric("dsc", num_classes=2, activation="sigmoid", ignore_index=255)
    logits = torch.tensor([[[3.0, 2.0, -1.0, 5.0], [1.0, -1.0, -1.0, -1.0]]])
    metric.update(logits, torch.tensor([[[1, 1, 1, 255], [1, 1, 0, 0]]]))
    # channel 1: 2 of 3 found; channel 2: 1 of 2 found
    assert metric.compute().tolist() == pytest.approx([2 * 2 / 5, 2 * 1 / 3])
    one = RegionMetric("size_error", num_classes=1, activation="sigmoid")
    one.update(torch.tensor([[[3.0, 2.0, -1.0, 5.0]]]), torch.tensor([[0, 1, 0, 0]]))
    assert float(one.compute()) == pytest.approx(2 / 4)


def test_in_a_collection_with_reset_and_forward():
    collection = torchmetrics.MetricCollection(
        {name: RegionMetric(name, num_classes=3) for name in ("dsc", "size_error")}
    )
    step = collection(PREDICTED, TRUE)
    assert set(step) == {"dsc", "size_error"}
    collection.reset()
    collection.update(PREDICTED[:1], TRUE[:1])
    assert collection.compute()["dsc"].tolist()[0] == pytest.approx(0.8)


def test_no_value_is_nan_and_an_image_without_valid_pixels_enters_nothing():
    metric = RegionMetric("size_error", num_classes=3, ignore_index=9)
    metric.update(PREDICTED, TRUE.index_fill(0, torch.tensor([0]), 9))
    assert metric.compute().tolist() == pytest.approx([(-2 / 4 + 0) / 2, 1 / 4 / 2])
    alone = RegionMetric("dsc", num_classes=2)
    alone.update(torch.zeros(1, 4, dtype=torch.long), torch.zeros(1, 4, dtype=torch.long))
    assert math.isnan(float(alone.compute()))


def test_bad_use_is_told_what_to_do():
    metric = RegionMetric("dsc", num_classes=3)
    with pytest.raises(
        ValueError, match=re.escape("labels must lie in [0, 3), got a prediction of 0 for the target 9")
    ):
        metric.update(PREDICTED, TRUE.masked_fill(PREDICTED == 0, 9))
    with pytest.raises(
        ValueError, match=re.escape("preds must be logits (N, 3, *S) or integer labels (N, *S), got (3, 4, 4)")
    ):
        metric.update(torch.zeros(3, 4, 4), TRUE)
    with pytest.raises(ValueError, match=re.escape("must have one shape, got (3, 3) and (3, 4)")):
        metric.update(PREDICTED[:, :3], TRUE)
    with pytest.raises(ValueError, match="over must be one of 'images', 'dataset', got 'image'"):
        RegionMetric("dsc", num_classes=3, over="image")


def test_components_of_batches_are_those_of_cases():
    """Recall, precision, and by size: means over images, and of all components."""
    target = torch.tensor([[[1, 0, 1, 1, 1, 0]], [[1, 1, 0, 0, 0, 0]]])
    predicted = torch.tensor([[[0, 0, 1, 0, 0, 0]], [[1, 1, 0, 1, 1, 1]]])

    def value(name, **options):
        metric = RegionMetric(name, num_classes=2, **options)
        for one, other in zip(predicted, target, strict=True):
            metric.update(one[None], other[None])
        return metric.compute().item()

    assert value("component_recall") == pytest.approx((1 / 2 + 1) / 2)
    assert value("component_recall", over="dataset") == pytest.approx(2 / 3)
    assert value("component_precision") == pytest.approx((1 + 1 / 2) / 2)
    assert value("component_recall_small", component_thirds_px=(1, 2)) == 0
    assert value("component_recall_large", component_thirds_px=(1, 2)) == 1
    with pytest.raises(ValueError, match=r"component_recall_small needs component_thirds_px=\(small, medium\)"):
        RegionMetric("component_recall_small", num_classes=2)
    ignored = RegionMetric("component_recall", num_classes=1, activation="sigmoid", ignore_index=9)
    ignored.update(torch.tensor([[[-1.0, 1.0, 1.0]]]), torch.tensor([[[1, 9, 1]]]))
    assert ignored.compute() == 0.5
