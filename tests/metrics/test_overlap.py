"""DSC and IoU per case and pooled, by hand."""

import pytest

from sizewise.metrics.overlap import Counts, dsc, iou, pool


def test_by_hand():
    counts = Counts(intersection=6, predicted=8, target=12, valid=100)
    assert dsc(counts) == 2 * 6 / (8 + 12)
    assert iou(counts) == 6 / (8 + 12 - 6)


@pytest.mark.parametrize("formula", [dsc, iou])
def test_empty_regions(formula):
    assert formula(Counts(0, 0, 0, 50)) is None
    assert formula(Counts(0, 0, 7, 50)) == 0
    assert formula(Counts(0, 7, 0, 50)) == 0


def test_pooling_sums_before_dividing():
    large, small = Counts(90, 100, 100, 1000), Counts(0, 0, 10, 1000)
    assert pool([large, small]) == Counts(90, 100, 110, 2000)
    assert dsc(pool([large, small])) == 180 / 210  # while the mean over cases is (0.9 + 0) / 2
    assert pool([]) == Counts(0, 0, 0, 0)
