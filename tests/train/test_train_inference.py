"""Whole images through a network: padded, in windows, and upsampled to where they came from."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from train.tiny_runs import PHOTO, memory_dataset

from sizewise.data.dataset import Image
from sizewise.data.split import Split
from sizewise.train import inference
from sizewise.train.config import RunConfig
from sizewise.train.decided_labels import LabelMaker
from sizewise.train.inference import image_logits, labels_at, network_input
from sizewise.train.task import make_task


def pointwise(images):
    """A network that looks at single pixels: windows and padding must not change what it says."""
    assert images.shape[-1] % 4 == 0
    return torch.cat([-images[:, :1], images[:, :1], 0.5 * images[:, :1] + 0.2], 1)


@pytest.mark.parametrize("shape", [(8, 8), (9, 13), (3, 5)])
def test_padding_is_cut_off_again(shape):
    images = torch.randn(2, 1, *shape)
    logits = image_logits(pointwise, images, patch=(), multiple=4)
    torch.testing.assert_close(logits, torch.cat([-images, images, 0.5 * images + 0.2], 1))


@pytest.mark.parametrize(("shape", "patch"), [((20, 31), (8, 8)), ((5, 6), (8, 8)), ((9, 17, 12), (8, 8, 8))])
def test_windows_meet_without_a_seam(shape, patch):
    images = torch.randn(1, 1, *shape)
    logits = image_logits(pointwise, images, patch=patch, multiple=4)
    torch.testing.assert_close(logits, torch.cat([-images, images, 0.5 * images + 0.2], 1), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("small", "large"), [((4, 5), (9, 17)), ((3, 4, 5), (6, 9, 7)), ((9, 9), (4, 4))])
def test_class_by_class_is_the_argmax_of_all(small, large, monkeypatch):
    logits = torch.randn(2, 5, *small)
    mode = "bilinear" if len(small) == 2 else "trilinear"
    expected = F.interpolate(logits, large, mode=mode, align_corners=False).argmax(1)
    assert torch.equal(labels_at(logits, large, sigmoid=False), expected.to(torch.uint8))
    monkeypatch.setattr(inference, "CLASS_BYTES", 0)
    assert torch.equal(labels_at(logits, large, sigmoid=False), expected.to(torch.uint8))


def test_sigmoid_channels_are_thresholded_after_upsampling():
    logits = torch.tensor([[[[-1.0, 3.0]], [[2.0, -2.0]]]])
    labels = labels_at(logits, (1, 4), sigmoid=True)
    # bilinear: −1, 0, 2, 3 and 2, 1, −1, −2
    assert labels.tolist() == [[[[0, 0, 1, 1]], [[1, 1, 0, 0]]]]


@pytest.mark.parametrize("decision", ["argmax", "dice", "size"])
@pytest.mark.parametrize(
    ("sigmoid", "multilabel", "shape"), [(False, False, (6, 10)), (True, False, (6, 10)), (True, True, (1, 6, 10))]
)
def test_a_label_map_has_the_size_of_its_image(sigmoid, multilabel, shape, decision):
    pixels = np.zeros((1, 6, 10), np.uint8)
    pixels[0, :, 5:] = 255

    def network(images):
        return images if sigmoid else torch.cat([-images, images], 1)

    small = type(PHOTO)(**(vars(PHOTO) | {"size": (8, 8)}))
    image = Image(pixels, (1.0, 1.0))
    logits = image_logits(network, network_input(image, small, device=torch.device("cpu")), patch=(), multiple=4)
    classes = ("region",) if multilabel else ("background", "region")
    dataset = memory_dataset({"a": pixels}, {}, classes=classes, activation="sigmoid" if multilabel else "softmax")
    config = RunConfig(data="memory", activation="sigmoid" if sigmoid else "softmax")
    task = make_task(config, dataset, Split((), (), ()))
    labels = LabelMaker(task).label_map(logits, (6, 10), decision)
    assert labels.dtype == np.uint8
    assert labels.shape == shape
    np.testing.assert_array_equal(labels.reshape(6, 10), pixels[0] > 0)
