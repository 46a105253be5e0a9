"""Signed size errors, by hand."""

from sizewise.metrics.overlap import Counts
from sizewise.metrics.size import relative_size_error, size_error


def test_sign_is_predicted_minus_true():
    too_large = Counts(intersection=4, predicted=10, target=4, valid=200)
    assert size_error(too_large) == (10 - 4) / 200
    assert relative_size_error(too_large) == (10 - 4) / 4
    too_small = Counts(intersection=1, predicted=1, target=4, valid=200)
    assert size_error(too_small) == -3 / 200
    assert relative_size_error(too_small) == -3 / 4


def test_empty_regions():
    assert size_error(Counts(0, 0, 0, 10)) == 0
    assert size_error(Counts(0, 5, 0, 10)) == 0.5
    assert relative_size_error(Counts(0, 5, 0, 10)) is None
    assert relative_size_error(Counts(0, 0, 3, 10)) == -1
    assert size_error(Counts(0, 0, 0, 0)) is None
