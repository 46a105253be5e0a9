"""The names of the outcomes, and the worst distance."""

import pytest

from sizewise.metrics.policy import image_diagonal_mm, outcome


@pytest.mark.parametrize(
    ("predicted", "target", "name"),
    [(3, 4, "present"), (0, 4, "missed"), (3, 0, "false alarm"), (0, 0, "true negative")],
)
def test_outcome(predicted, target, name):
    assert outcome(predicted_px=predicted, target_px=target) == name


def test_diagonal_is_in_mm():
    assert image_diagonal_mm((2, 3, 6), (1, 1, 1)) == 7  # 4 + 9 + 36 = 49
    assert image_diagonal_mm((2, 3, 3), (1, 1, 2)) == 7
