import json

import numpy as np
import pytest
import torch
from train.tiny_runs import memory_dataset

from sizewise.data.dataset import Image
from sizewise.errors import BadInput
from sizewise.train.config import RunConfig
from sizewise.train.preparation import UNLABELLED, Preparation, as_target, fit_preparation, resize

CONFIG = RunConfig(data="d")


def preparation(**settings):
    return Preparation(
        **({"size": (), "spacing": (), "scaling": "case", "clip": (), "mean": (0.0,), "std": (1.0,)} | settings)
    )


def test_photographs_stay_uint8_and_are_scaled_when_a_batch_is_taken():
    pixels = np.array([[[0, 255]], [[51, 102]], [[255, 255]]], np.uint8)
    fitted = fit_preparation(
        memory_dataset({"a": pixels}, {"a": np.zeros((1, 2), np.uint8)}),
        (memory_dataset({"a": pixels}, {}).cases),
        CONFIG,
    )
    stored = fitted.image(Image(pixels, (1.0, 1.0)))
    assert stored.dtype == torch.uint8
    factor, offset = fitted.input_scale(torch.device("cpu"))
    scaled = stored * factor[:, None, None] + offset[:, None, None]
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    for channel in range(3):
        expected = (pixels[channel] / 255 - mean[channel]) / std[channel]
        torch.testing.assert_close(scaled[channel], torch.tensor(expected, dtype=torch.float32))


def test_ct_is_clipped_to_the_foregrounds_percentiles(tmp_path):
    values = np.arange(-1000, 1000, dtype=np.float32).reshape(1, 40, 50)
    target = (values[0] >= 0).astype(np.uint8)  # 0 … 999 is foreground
    dataset = memory_dataset({"a": values}, {"a": target}, modality=("CT",))
    fitted = fit_preparation(dataset, dataset.cases, CONFIG)
    assert fitted.scaling == "ct"
    low, high = np.percentile(np.arange(1000), [0.5, 99.5])
    assert fitted.clip == ((pytest.approx(low), pytest.approx(high)),)
    clipped = np.clip(np.arange(1000.0), low, high)
    assert fitted.mean[0] == pytest.approx(clipped.mean())
    image = fitted.image(Image(values, (1.0, 1.0)))
    assert image.dtype == torch.float16
    assert float(image.min()) == pytest.approx((low - clipped.mean()) / clipped.std(), abs=2e-3)
    (tmp_path / "preparation.json").write_text(fitted.to_json())
    assert Preparation.read(tmp_path / "preparation.json") == fitted


def test_ignored_pixels_and_empty_masks_do_not_enter_the_percentiles():
    values = np.array([[[1, 2, 3, 500]]], np.float32)
    dataset = memory_dataset({"a": values}, {"a": np.array([[1, 1, 1, 9]])}, modality=("CT",), ignore_index=9)
    assert fit_preparation(dataset, dataset.cases, CONFIG).clip[0][1] < 4
    empty = memory_dataset({"a": values}, {"a": np.zeros((1, 4), int)}, modality=("CT",))
    assert fit_preparation(empty, empty.cases, CONFIG).clip[0][1] > 400  # the whole image then


def test_mri_is_scaled_case_by_case_and_a_flat_image_is_zero():
    values = np.array([[[1.0, 3.0]]], np.float32)
    image = preparation().image(Image(values, (1.0, 1.0)))
    assert image.flatten().tolist() == [-1.0, 1.0]
    assert not preparation().image(Image(np.full((1, 2, 2), 7.0, np.float32), (1.0, 1.0))).any()


def test_volumes_are_resampled_to_the_spacing():
    image = Image(np.zeros((1, 10, 20, 30), np.float32), (3.0, 1.0, 0.5))
    one = preparation(spacing=(1.5, 2.0, 0.5))
    assert one.shape(image) == (20, 10, 30)
    assert one.image(image).shape == (1, 20, 10, 30)
    assert one.spacing_of(image) == (1.5, 2.0, 0.5)
    assert preparation().spacing_of(image) == (3.0, 1.0, 0.5)


def test_targets_are_resized_without_new_labels_and_ignored_pixels_marked():
    labels = np.array([[0, 1], [7, 2]], np.uint8)
    target = as_target(labels, (4, 4), 7)
    assert target.tolist() == [
        [0, 0, 1, 1],
        [0, 0, 1, 1],
        [UNLABELLED, UNLABELLED, 2, 2],
        [UNLABELLED, UNLABELLED, 2, 2],
    ]
    channels = as_target(np.stack([labels == 1, labels == 2]).astype(np.uint8), (4, 4), None)
    assert channels.shape == (2, 4, 4)
    assert channels[1].sum() == 4


def test_resizing_to_the_same_shape_changes_nothing():
    pixels = torch.randint(0, 255, (3, 5, 7), dtype=torch.uint8)
    assert resize(pixels, (5, 7)) is pixels
    assert resize(torch.full((1, 4, 4, 4), 9, dtype=torch.uint8), (2, 3, 5)).unique().tolist() == [9]


@pytest.mark.parametrize(
    ("pixels", "message"),
    [
        (np.zeros((3, 4, 4), np.uint8), "x: the image has 3 channels, and those that were trained on 1"),
        (np.zeros((1, 4, 4), np.float32), "x: the image has float32 pixels, and the others 8 bits"),
    ],
)
def test_an_image_unlike_the_others(pixels, message):
    with pytest.raises(BadInput, match=message):
        preparation(scaling="photo").check(Image(pixels, (1.0, 1.0)), "x")


@pytest.mark.parametrize(
    "change", [{"std": [0.0]}, {"std": [float("nan")]}, {"mean": [float("inf")]}, {"size": [0, 4]}]
)
def test_a_file_that_would_prepare_nothing_but_nan_is_refused(tmp_path, change):
    path = tmp_path / "preparation.json"
    path.write_text(preparation().to_json())
    assert Preparation.read(path) == preparation()
    path.write_text(json.dumps(json.loads(preparation().to_json()) | change))
    with pytest.raises(BadInput, match="holds no way to prepare images"):
        Preparation.read(path)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_image_that_would_make_every_weight_nan(value):
    pixels = np.zeros((1, 4, 4), np.float32)
    preparation(scaling="case").check(Image(pixels, (1.0, 1.0)), "x")
    pixels[0, 2, 3] = value
    with pytest.raises(BadInput, match="x: the image has pixels that are not finite numbers"):
        preparation(scaling="case").check(Image(pixels, (1.0, 1.0)), "x")
