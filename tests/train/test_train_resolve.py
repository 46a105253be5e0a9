"""The recipe that fits, the user's own words on top, and what does not fit said before any data is read."""

import numpy as np
import pytest
from data.layouts.cityscapes import write_cityscapes
from data.layouts.decathlon_layout import write_pancreas
from data.layouts.idrid import write_idrid
from data.layouts.image_folder import write_image_folder, write_multiclass_folder
from data.layouts.kvasir_seg import write_kvasir_seg
from data.layouts.retinal_lesions import write_retinal_lesions

from sizewise.errors import BadInput
from sizewise.train.datasets import OpenDatasets
from sizewise.train.resolve import patch_for, resolve


def test_the_users_words_are_on_top_of_the_recipe(tmp_path):
    data = write_kvasir_seg(tmp_path / "data")
    opened = OpenDatasets()
    given = {"data": str(data), "epochs": 3, "model": "R50-UNet", "encoder_weights": "none"}
    config = resolve(given, datasets=opened).config
    assert (config.recipe, config.epochs, config.learning_rate, config.size) == ("polyp", 3, 1e-4, (352, 352))
    assert config.model == "unet-resnet50"
    config = resolve(
        {"data": str(data), "loss": "RCE", "loss_options": (("temperature", 5.0),)}, datasets=opened
    ).config
    assert dict(config.loss_options) == {"temperature": 5.0}


def test_pictures_keep_their_proportions_unless_a_size_is_given(tmp_path):
    data = write_image_folder(tmp_path / "data")  # 24 × 32
    opened = OpenDatasets()
    for given, size in (
        ({}, (352, 480)),  # 352 · 32 / 24 = 469, in steps of 32
        ({"recipe": "any-way-up"}, (352, 480)),
        ({"recipe": "polyp"}, (352, 352)),  # the paper's protocol
        ({"size": (64, 96)}, (64, 96)),
    ):
        assert resolve({"data": str(data), **given}, datasets=opened).config.size == size


def test_flat_patches_are_turned_within_their_slices_unless_the_user_says_how():
    given = {"data": "synthetic-3d", "recipe": "volume", "model": "monai-unet-small"}
    for patch, word, augment in (
        ((32, 32, 8), {}, "slices"),
        ((32, 32, 16), {}, "volume"),
        ((32, 32, 8), {"augment": "flip"}, "flip"),
    ):
        assert resolve(given | {"patch": patch} | word).config.augment == augment


def test_every_class_is_scored_without_a_background(tmp_path):
    data, opened = str(write_multiclass_folder(tmp_path / "data", classes=3)), OpenDatasets()
    for word, scored in (("auto", [1, 2]), ("0", [1, 2]), ("none", [0, 1, 2])):
        run = resolve({"data": data, "background": word}, datasets=opened)
        assert list(run.task.names) == scored
        assert run.task.out_channels == 3
    with pytest.raises(BadInput, match="`background` must be one of auto, 0, none"):
        resolve({"data": data, "background": "sky"})


def test_a_ramp_is_checked_before_any_training():
    for given, sentence in (
        ({"ramp": "0.3"}, r"`ramp` must be two shares of the training, as 0.1:0.3, got '0.3'"),
        ({"ramp": "0.3:0.1"}, r"`ramp=0.3:0.1`: .* 0 <= start < end <= 1"),
        ({"ramp": "0:1", "loss": "CE"}, r"`ramp=0:1`: .* must have a second term"),
    ):
        with pytest.raises(BadInput, match=sentence):
            resolve({"data": "synthetic", **given})


def test_a_network_without_an_encoder_has_no_encoder_weights(tmp_path):
    config = resolve({"data": str(write_kvasir_seg(tmp_path / "data")), "model": "monai-unet"}).config
    assert config.encoder_weights == "none"


def test_the_data_has_one_name_from_wherever_it_is_called(tmp_path, monkeypatch):
    write_multiclass_folder(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    names = {
        resolve({"data": name, "recipe": "demo"}).config.data for name in ("data", "./data/", str(tmp_path / "data"))
    }
    assert names == {str((tmp_path / "data").resolve())}


def test_a_spacing_that_is_to_stay_stays(tmp_path):
    """Volumes of several spacings are resampled to their median, unless the user says ``stored``."""
    import nibabel as nib

    data = write_pancreas(tmp_path)
    file = sorted((data / "imagesTr").glob("[!.]*.nii.gz"))[0]
    for path in (file, data / "labelsTr" / file.name):
        image = nib.load(path)
        affine = image.affine @ np.diag([2.0, 1.0, 1.0, 1.0])
        nib.save(nib.Nifti1Image(np.asarray(image.dataobj), affine), path)
    given = {"data": str(data), "model": "monai-unet-small"}
    assert len(resolve(given).config.spacing) == 3
    assert resolve(given | {"spacing": ()}).config.spacing == ()


def test_volumes_get_a_patch_that_the_model_can_halve(tmp_path):
    config = resolve({"data": str(write_pancreas(tmp_path)), "model": "monai-unet-small"}).config
    assert config.patch == (8, 8, 8)  # the volumes are 8 x 7 x 5, and the model wants multiples of 4
    assert config.spacing == ()  # all have the same


@pytest.mark.parametrize("shape", [(512, 512, 100), (36, 50, 35), (8, 8, 8), (600, 20, 20), (20, 1000, 1000)])
@pytest.mark.parametrize("multiple", [4, 16, 32])
def test_patches_are_multiples_no_larger_than_asked(shape, multiple):
    patch = patch_for(np.array(shape), multiple)
    assert all(length % multiple == 0 and length >= multiple for length in patch)
    assert np.prod(patch) <= 1.2 * 128**3
    if np.prod(np.array(shape) + multiple) <= 128**3:
        assert all(length >= wanted for length, wanted in zip(patch, shape, strict=True))


def task_of(data, **given):
    return resolve({"data": str(data), "model": "monai-unet-small"} | given).task


def test_what_the_network_has_to_give(tmp_path):
    run = resolve(
        {"data": str(write_retinal_lesions(tmp_path / "retinal")), "model": "monai-unet-small", "loss": "DiceCE"}
    )
    retinal = run.task
    assert (retinal.sigmoid, retinal.multilabel, retinal.out_channels) == (True, False, 1)
    assert run.criterion.activation == "sigmoid"
    idrid = task_of(write_idrid(tmp_path / "idrid"))
    assert (idrid.sigmoid, idrid.multilabel, idrid.out_channels) == (True, True, 5)
    several = task_of(write_multiclass_folder(tmp_path / "several"))
    assert (several.sigmoid, several.out_channels, list(several.names)) == (False, 4, [1, 2, 3])
    street = task_of(write_cityscapes(tmp_path / "street"))
    assert (street.out_channels, street.names[0], street.names[18]) == (19, "road", "bicycle")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"activation": "sigmoid"}, "`activation=sigmoid` makes one channel of a binary problem; .* has 4 classes"),
        ({"size": (8, 8, 8)}, "`size` must have 2 numbers for 2D data, got 3"),
        ({"spacing": (1.0,)}, "`spacing` must have 2 numbers"),
        ({"loss": "DICE-CE"}, "`loss=DICE-CE`: "),
        ({"loss": "CE", "weight": 0.5}, "`loss=CE`: .*weight"),
        ({"loss": "RCE", "loss_options": (("scope", "world"),)}, "scope must be one of .* got 'world'"),
    ],
)
def test_what_does_not_fit(tmp_path, given, message):
    with pytest.raises(BadInput, match=message):
        task_of(write_multiclass_folder(tmp_path / "data"), recipe="demo", **given)


def test_multi_label_data_cannot_be_softmax(tmp_path):
    with pytest.raises(BadInput, match=r"is multi-label.*With `merge=True` they become one class"):
        task_of(write_idrid(tmp_path / "data"), activation="softmax")
