"""Where a loss upsamples small logits by itself: one rule."""

import pytest
import torch

import sizewise as sw
from sizewise.criterion.small_logits import FEWEST_CLASSES, MOST_CLASSES, is_faster_in_loss


@pytest.mark.parametrize(
    ("device", "classes", "wanted"),
    [
        ("cuda", FEWEST_CLASSES, True),
        ("cuda", MOST_CLASSES, True),
        ("cuda", FEWEST_CLASSES - 1, False),
        ("cuda", MOST_CLASSES + 1, False),
        ("cpu", FEWEST_CLASSES, False),
    ],
)
def test_on_a_gpu_for_as_many_classes_as_were_measured(device, classes, wanted):
    assert is_faster_in_loss(sw.loss("DiceCE"), torch.device(device), classes) == wanted


@pytest.mark.parametrize(
    "criterion", [sw.loss("RCE", upsample="linear"), sw.loss("CC-DiceCE"), sw.loss("CE + CC-Dice")]
)
def test_never_for_one_that_upsamples_already_or_looks_at_components(criterion):
    assert not is_faster_in_loss(criterion, torch.device("cuda"), FEWEST_CLASSES)
