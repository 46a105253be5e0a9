import math

import torch
from four_pixels import LOGITS, near, sigmoid_value, value

import sizewise as sw


def test_cross_entropy_by_hand():
    # −log(3/4) at every pixel, and so in every mean of them
    for term in (sw.CrossEntropy(), sw.CrossEntropy(scope="image"), sw.CrossEntropy(class_weight=[0.2, 3.0])):
        assert value(term) == sigmoid_value(term) == near(math.log(4 / 3))


def test_class_weights_by_hand():
    # Constant logits (log 3, 0): −log(3/4) at the three pixels of class 0, −log(1/4) at the one of class 1.
    # (2 · 3 · log(4/3) + 5 · log 4) / (2 · 3 + 5 · 1)
    logits = LOGITS[:, :, :1].expand(-1, -1, 4)
    term = sw.CrossEntropy(class_weight=[2.0, 5.0])
    wanted = (6 * math.log(4 / 3) + 5 * math.log(4)) / 11
    assert term(logits, torch.tensor([[0, 0, 0, 1]])).item() == near(wanted)


def test_images_of_unequal_size_weigh_by_pixels_or_equally():
    # Image 1 has four pixels of −log(3/4); image 2 has one, of −log(1/4), and three without a label.
    logits = LOGITS[:, :, :1].expand(2, -1, 4)
    target = torch.tensor([[0, 0, 0, 0], [1, 9, 9, 9]])
    batch, image = (
        sw.Loss(sw.CrossEntropy(scope=scope), ignore_index=9)(logits, target).item() for scope in ("batch", "image")
    )
    assert batch == near((4 * math.log(4 / 3) + math.log(4)) / 5)
    assert image == near((math.log(4 / 3) + math.log(4)) / 2)


def test_balanced_cross_entropy_by_hand():
    # Constant logits (log 3, 0): log(4/3) for class 0, log 4 for class 1, whatever their sizes
    logits, target = LOGITS[:, :, :1].expand(-1, -1, 4), torch.tensor([[0, 0, 0, 1]])
    assert sw.BalancedCrossEntropy()(logits, target).item() == near(math.log(4 / 3) + math.log(4))
    mean = sw.BalancedCrossEntropy(class_reduction="mean", class_weight=[1.0, 3.0])
    assert mean(logits, target).item() == near((math.log(4 / 3) + 3 * math.log(4)) / 4)
    # and class 1 enters no sum where it is absent
    assert sw.BalancedCrossEntropy()(logits, target * 0).item() == near(math.log(4 / 3))


def test_balanced_cross_entropy_takes_no_absent_option():
    assert "absent" not in sw.BalancedCrossEntropy.option_names()
    assert repr(sw.BalancedCrossEntropy()) == "BalancedCrossEntropy()"
