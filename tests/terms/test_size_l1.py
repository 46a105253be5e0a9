import torch
from four_pixels import LOGITS, near, sigmoid_value, value

import sizewise as sw


def test_size_l1_by_hand():
    # τ = 2: the mean of |0.7 − 0.75| and |0.3 − 0.25|; τ = 1: of |0.625 − 0.75| and |0.375 − 0.25|
    assert value(sw.SizeL1(temperature=2)) == sigmoid_value(sw.SizeL1(temperature=2)) == near(0.05)
    assert value(sw.SizeL1(temperature=1)) == near(0.125)
    assert value(sw.SizeL1(temperature=2, class_reduction="sum")) == near(0.1)
    weighted = sw.SizeL1(temperature=2, class_weight=[1.0, 3.0], class_reduction="sum")
    assert value(weighted) == near(0.05 + 3 * 0.05)


def test_priors_by_hand():
    # |0.7 − 0.9| and |0.3 − 0.1|; a sigmoid channel is given its foreground's share
    assert value(sw.SizeL1(temperature=2, target=[0.9, 0.1])) == near(0.2)
    assert sigmoid_value(sw.SizeL1(temperature=2, target=[0.1])) == near(0.2)


def test_a_prior_per_image_is_pooled_by_pixels():
    # Image 1 has four valid pixels with p̂ = (0.9, 0.1), image 2 one with the same: pooled (0.9, 0.1).
    # The priors (0.5, 0.5) and (1, 0) pool to (4 · 0.5 + 1) / 5 = 0.6: |0.9 − 0.6| and |0.1 − 0.4|
    logits = LOGITS[:, :, :1].expand(2, -1, 4)
    target = torch.tensor([[0, 0, 0, 0], [0, 9, 9, 9]])
    prior = [[0.5, 0.5], [1.0, 0.0]]
    pooled = sw.Loss(sw.SizeL1(temperature=2, target=prior, scope="batch"), ignore_index=9)
    assert pooled(logits, target).item() == near(0.3)
    # per image: 0.4 and 0.1, of either class
    each = sw.Loss(sw.SizeL1(temperature=2, target=prior), ignore_index=9)
    assert each(logits, target).item() == near((0.4 + 0.1) / 2)


def test_all_pixels_count_where_only_some_have_a_label():
    # Labelled: the last pixel, p̂ = (0.1, 0.9). All: (0.7, 0.3). An image without any label counts as well.
    prior = [0.5, 0.5]
    all_pixels, valid = (
        sw.Loss(sw.SizeL1(temperature=2, target=prior, pixels=pixels), ignore_index=9) for pixels in ("all", "valid")
    )
    target = torch.tensor([[9, 9, 9, 1]])
    assert valid(LOGITS, target).item() == near(0.4)
    assert all_pixels(LOGITS, target).item() == near(0.2)
    assert all_pixels(LOGITS, target * 0 + 9).item() == near(0.2)
    # but not what the mask drops: the first three pixels are (0.9, 0.1)
    mask = torch.tensor([[True, True, True, False]])
    assert all_pixels(LOGITS, target, mask).item() == near(0.4)
