import pytest
import torch
from four_pixels import LOGITS, TARGET, near, sigmoid_value, value

import sizewise as sw


def test_size_bounds_by_hand():
    # p̂ = (0.7, 0.3): (0.7 − 0.6)² above, (0.4 − 0.3)² below
    assert value(sw.SizeBounds([0.0, 0.4], [0.6, 1.0], temperature=2)) == near(0.02)
    assert value(sw.SizeBounds(0.3, 0.7, temperature=2)) == pytest.approx(0, abs=1e-15)
    # A sigmoid channel's foreground is bounded by (0.5, 1), so its background by (0, 0.5): 0.2² + 0.2²
    assert sigmoid_value(sw.SizeBounds([0.5], [1.0], temperature=2)) == near(0.08)
    # One bound per image, the other per class
    assert value(sw.SizeBounds([[0.0, 0.4]], [0.6, 1.0], temperature=2)) == near(0.02)
    assert sigmoid_value(sw.SizeBounds([[0.5]], 1.0, temperature=2)) == near(0.08)


@pytest.mark.parametrize("term", [sw.SizeBounds, sw.SizeBarrier])
def test_wrong_bounds_are_named(term):
    name = term.__name__
    with pytest.raises(ValueError, match=rf"{name}: lower must be <= upper for every class, got lower=\[0.5, 0.1\]"):
        term([0.5, 0.1], [0.4, 0.2])
    with pytest.raises(ValueError, match=rf"{name}: every entry of upper must be between 0 and 1, got \[1.5\]"):
        term(0.0, [1.5])
    with pytest.raises(TypeError, match=rf"{name}: lower must be numbers, a list or a tensor, got str 'low'"):
        term("low")
    with pytest.raises(ValueError, match=rf"{name}: lower must be a number, \(K,\) or \(N, K\), got \(1, 1, 1\)"):
        term([[[0.5]]])
    with pytest.raises(ValueError, match=rf"{name}: upper must have one entry per class, shape \(2,\), or one row per"):
        term(0.0, torch.ones(3))(LOGITS, TARGET)
