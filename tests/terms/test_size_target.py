import pytest
import torch
from four_pixels import LOGITS, TARGET

import sizewise as sw


@pytest.mark.parametrize("term", [sw.SizeL1, sw.SizeKL])
def test_wrong_targets_are_named(term):
    name = term.__name__
    with pytest.raises(ValueError, match=rf"{name}: target must be one of 'ground_truth', got 'ground truth'. Did you"):
        term(target="ground truth")
    with pytest.raises(
        ValueError, match=rf'{name}: pixels="all" counts pixels that have no label, so it needs target='
    ):
        term(pixels="all")
    with pytest.raises(ValueError, match=rf"{name}: pixels must be one of 'valid', 'all', got 'kept'"):
        term(pixels="kept")
    with pytest.raises(ValueError, match=rf"{name}: target must have shape \(K,\) or \(N, K\)"):
        term(target=0.5)
    with pytest.raises(ValueError, match=rf"{name}: every entry of target must be between 0 and 1"):
        term(target=[-0.5, 1.5])
    with pytest.raises(ValueError, match=rf"{name}: target proportions must sum to 1 over the classes, got sums from"):
        term(target=[0.5, 0.4])(LOGITS, TARGET)
    with pytest.raises(
        ValueError, match=rf"{name}: target must have one entry per class, shape \(2,\), or one row per"
    ):
        term(target=[0.2, 0.3, 0.5])(LOGITS, TARGET)
    with pytest.raises(ValueError, match=rf"{name}: target must have one entry per channel, shape \(1,\)"):
        sw.Loss(term(target=[0.5, 0.5]), activation="sigmoid")(LOGITS[:, :1], TARGET)
    with pytest.raises(ValueError, match=rf"{name}: temperature must be a number > 0, got 0"):
        term(temperature=0)


def test_shares_of_sigmoid_channels_need_not_sum_to_one():
    criterion = sw.Loss(sw.SizeL1(target=[0.9, 0.8]), activation="sigmoid")
    assert torch.isfinite(criterion(LOGITS, torch.zeros(1, 2, 4, dtype=torch.long)))
