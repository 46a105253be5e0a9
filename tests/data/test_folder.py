import os
import pickle
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from data.layouts.image_folder import write_image_folder, write_multiclass_folder, write_pair
from PIL import Image

from sizewise.data.folder import load, recognise
from sizewise.data.open_options import OpenOptions
from sizewise.data.pairs import read_folder_name
from sizewise.errors import BadInput


def opened(root, **options):
    assert recognise(root)
    return load(root, options=OpenOptions(**options))


def by_subset(dataset):
    found = {}
    for case in dataset.cases:
        found.setdefault(case.subset, []).append(case.name)
    return found


def test_images_and_masks_with_mixed_extensions_and_litter(tmp_path):
    root = write_image_folder(tmp_path / "My Set", cases=6)
    dataset = opened(root)
    assert dataset.name == "My Set"
    assert dataset.classes == ("background", "foreground")
    assert [case.name for case in dataset.cases] == [f"case {n}" for n in range(6)]
    assert all(case.subset == "" and case.group == "" for case in dataset.cases)
    assert not dataset.reader.target(dataset.cases[0]).any()  # an all-black mask is background
    target = dataset.reader.target(dataset.cases[1])
    assert set(np.unique(target)) == {0, 1}
    image = dataset.reader.image(dataset.cases[1])
    assert image.pixels.shape == (3, *target.shape)
    assert image.spacing == (1.0, 1.0)
    assert dataset.notes == ()


@pytest.mark.parametrize(
    ("train_image", "train_mask", "other_image", "other_mask"),
    [
        ("train/images/{}.png", "train/masks/{}.png", "val/images/{}.png", "val/masks/{}.png"),
        ("images/train/{}.png", "masks/train/{}.png", "images/valid/{}.png", "masks/valid/{}.png"),
        ("train/{}.png", "trainannot/{}.png", "val/{}.png", "valannot/{}.png"),  # CamVid of SegNet
        ("train/{}.png", "train_labels/{}_L.png", "val/{}.png", "val_labels/{}_L.png"),  # CamVid of Kaggle
        ("Training/img/{}.tif", "Training/gt/{}.bmp", "Validation/img/{}.tif", "Validation/gt/{}.bmp"),
        ("imgs_train/{}.png", "labels_train/{}.png", "imgs_val/{}.png", "labels_val/{}.png"),
        ("train-images/{}.jpg", "train-annotations/{}.png", "dev-images/{}.jpg", "dev-annotations/{}.png"),
        (
            "ISIC2018_Task1-2_Training_Input/{}.jpg",
            "ISIC2018_Task1_Training_GroundTruth/{}_segmentation.png",
            "ISIC2018_Task1-2_Validation_Input/{}.jpg",
            "ISIC2018_Task1_Validation_GroundTruth/{}_segmentation.png",
        ),
        ("imagesTr/{}.png", "labelsTr/{}.png", "images_valid/{}.png", "labels_valid/{}.png"),
        ("train/{}.jpg", "train/{}_mask.png", "val/{}.jpg", "val/{}_mask.png"),  # side by side
        ("train/{}_sat.jpg", "train/{}_mask.png", "val/{}_sat.jpg", "val/{}_mask.png"),  # DeepGlobe
        ("images/train/city_a/{}.png", "masks/train/city_a/{}.png", "images/val/b/{}.png", "masks/val/b/{}.png"),
    ],
)
def test_the_usual_layouts_with_subsets(tmp_path, train_image, train_mask, other_image, other_mask):
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        write_pair(tmp_path / train_image.format(name), tmp_path / train_mask.format(name), rng=rng)
    write_pair(tmp_path / other_image.format("three"), tmp_path / other_mask.format("three"), rng=rng)
    dataset = opened(tmp_path)
    found = by_subset(dataset)
    assert set(found) == {"train", "validation"}
    assert len(found["train"]) == 2
    for case, name in zip(dataset.cases, ("one", "two", "three"), strict=True):
        assert name in case.name
        assert case.images[0].stem.startswith(name)
        assert case.target[0].stem.startswith(name)


@pytest.mark.parametrize(
    "mask", ["masks/{}.png", "mask/{}_mask.png", "labels/{}_label.png", "Annotations/{}_segmentation.TIF"]
)
@pytest.mark.parametrize("image", ["images/{}.bmp", "image/{}.PNG", "Original/{}.jpeg"])
def test_the_usual_names_without_subsets(tmp_path, image, mask):
    write_pair(tmp_path / image.format("a"), tmp_path / mask.format("a"), rng=np.random.default_rng(0))
    assert [case.name for case in opened(tmp_path).cases] == ["a"]


def test_masks_side_by_side_with_their_images(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("ISIC_0001", "ISIC_0002"):
        write_pair(tmp_path / f"{name}.jpg", tmp_path / f"{name}_segmentation.png", rng=rng)
    dataset = opened(tmp_path)
    assert [case.name for case in dataset.cases] == ["ISIC_0001", "ISIC_0002"]
    assert [case.target[0].name for case in dataset.cases] == [
        "ISIC_0001_segmentation.png",
        "ISIC_0002_segmentation.png",
    ]


def test_an_image_whose_own_name_ends_like_a_mask(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("12_L", "12"):  # the left eye is no label map
        write_pair(tmp_path / "images" / f"{name}.png", tmp_path / "masks" / f"{name}.png", rng=rng)
    assert {case.name: case.target[0].stem for case in opened(tmp_path).cases} == {"12_L": "12_L", "12": "12"}


def test_equal_names_in_two_subsets_stay_two_cases(tmp_path):
    rng = np.random.default_rng(0)
    for subset in ("train", "test"):
        write_pair(tmp_path / subset / "images" / "0.png", tmp_path / subset / "masks" / "0.png", rng=rng)
    assert by_subset(opened(tmp_path)) == {"train": ["train_0"], "test": ["test_0"]}


def test_pictures_beside_the_folders_are_left_out_and_told(tmp_path):
    """A preview beside images/ and masks/, or beside train/images/: it is no case."""
    preview = Image.fromarray(np.zeros((4, 4, 3), dtype=np.uint8))
    for name, root in (
        ("flat", write_image_folder(tmp_path / "flat")),
        ("deep", write_multiclass_folder(tmp_path / "deep")),
    ):
        preview.save(root / "figure.png")
        preview.save(root / "preview.png")
        dataset = opened(root)
        assert len(dataset.cases) == 8, name
        assert "2 pictures lie beside the folders, and are left out: figure.png, preview.png." in dataset.notes, name


def test_missing_partners_are_kept_and_told(tmp_path):
    root = write_image_folder(tmp_path, cases=4)
    os.remove(root / "masks" / "case 2_mask.png")
    Image.fromarray(np.zeros((4, 4), dtype=np.uint8)).save(root / "masks" / "orphan.png")
    dataset = opened(root)
    assert [case.target == () for case in dataset.cases] == [False, False, True, False]
    assert dataset.notes[0] == "1 mask has no image, and is left out: orphan.png."
    with pytest.raises(BadInput, match=r"case 2.*has no mask"):
        dataset.reader.target(dataset.cases[2])


def test_a_test_set_without_masks(tmp_path):
    root = write_multiclass_folder(tmp_path)
    for mask in (root / "test" / "labels").iterdir():
        os.remove(mask)
    dataset = opened(root)
    assert {case.subset for case in dataset.cases if not case.target} == {"test"}
    assert dataset.classes == ("background", "class_1", "class_2", "class_3")


def test_names_that_do_not_match_are_shown(tmp_path):
    rng = np.random.default_rng(0)
    write_pair(tmp_path / "images" / "photo.png", tmp_path / "masks" / "drawing.png", rng=rng)
    with pytest.raises(BadInput, match=r"Images are called like 'photo\.png', masks like 'drawing\.png'"):
        load(tmp_path, options=OpenOptions())


def test_two_images_of_one_name_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    write_pair(tmp_path / "images" / "a.png", tmp_path / "masks" / "a.png", rng=rng)
    write_pair(tmp_path / "images" / "a.jpg", tmp_path / "masks" / "a.png", rng=rng)
    assert recognise(tmp_path)
    with pytest.raises(BadInput, match="have one name"):
        load(tmp_path, options=OpenOptions())


def test_folders_that_mean_nothing_are_left_alone(tmp_path):
    root = write_image_folder(tmp_path, cases=2)
    write_pair(
        root / "overlays" / "images" / "x.png", root / "overlays" / "masks" / "x.png", rng=np.random.default_rng(0)
    )
    (root / "preview.png").write_bytes(b"broken")
    assert len(opened(root).cases) == 2
    assert not recognise(tmp_path / "images")
    assert not recognise(tmp_path / "nowhere")


def test_grey_among_colour_images_gets_three_channels(tmp_path):
    root = write_image_folder(tmp_path, cases=2)
    Image.fromarray(np.zeros((24, 32), dtype=np.uint8)).save(root / "images" / "case 0.bmp")
    dataset = opened(root)
    assert [dataset.reader.image(case).pixels.shape[0] for case in dataset.cases] == [3, 3]
    assert dataset.modality == ("RGB",)


def test_grey_images_keep_one_channel(tmp_path):
    root = write_image_folder(tmp_path, cases=2)
    for image in (root / "images").glob("case*"):
        Image.fromarray(np.zeros((24, 32), dtype=np.uint8)).save(image)
    dataset = opened(root)
    assert dataset.reader.image(dataset.cases[0]).pixels.shape == (1, 24, 32)
    assert dataset.modality == ("grey",)


def test_a_damaged_image_does_not_keep_the_set_from_opening(tmp_path):
    root = write_image_folder(tmp_path, cases=3)
    (root / "images" / "case 0.bmp").write_bytes(b"BM")
    dataset = opened(root)
    with pytest.raises(BadInput, match=r"case 0\.bmp"):
        dataset.reader.image(dataset.cases[0])


def test_camvid_of_kaggle_with_its_class_dict(tmp_path):
    # train/…png, train_labels/…_L.png and class_dict.csv: github.com/GeorgeSeif/Semantic-Segmentation-Suite
    for subset in ("train", "val"):
        for folder, name in ((subset, "f1.png"), (f"{subset}_labels", "f1_L.png")):
            (tmp_path / folder).mkdir()
            colours = np.zeros((4, 6, 3), dtype=np.uint8)
            colours[:2], colours[2:, :2] = (128, 128, 128), (64, 0, 128)
            Image.fromarray(colours).save(tmp_path / folder / name)
    (tmp_path / "class_dict.csv").write_text("name,r,g,b\nCar,64,0,128\nSky,128,128,128\nVoid,0,0,0\n")
    dataset = opened(tmp_path)
    assert dataset.classes == ("Car", "Sky")
    assert dataset.ignore_index == 255
    target = dataset.reader.target(dataset.cases[0])
    assert target[0, 0] == 1
    assert target[3, 0] == 0
    assert target[3, 5] == 255


def test_merging_classes(tmp_path):
    dataset = opened(write_multiclass_folder(tmp_path), merge=True)
    assert dataset.classes == ("background", "foreground")
    assert set(np.unique(dataset.reader.target(dataset.cases[0]))) == {0, 1}


def test_readers_can_be_pickled_and_write_what_they_read(tmp_path):
    dataset = opened(write_multiclass_folder(tmp_path / "set"))
    reader = pickle.loads(pickle.dumps(dataset.reader))
    case = dataset.cases[0]
    labels = reader.target(case)
    path = reader.write(labels, case, tmp_path / "predictions")
    assert path == tmp_path / "predictions" / f"{case.name}.png"
    np.testing.assert_array_equal(np.asarray(Image.open(path)), labels)
    with pytest.raises(ValueError, match="as its image is"):
        reader.write(labels[:-1], case, tmp_path / "predictions")


def test_volumes_without_a_description(tmp_path):
    rng = np.random.default_rng(0)
    for number in range(3):
        volume = rng.normal(size=(5, 6, 7)).astype(np.float32)
        for folder, array in (("images", volume), ("labels", (volume > 1) + (volume > 2).astype(np.uint8))):
            path = tmp_path / folder / f"scan_{number}.nii.gz"
            path.parent.mkdir(exist_ok=True)
            nib.save(nib.Nifti1Image(array, np.diag([1.0, 2.0, 3.0, 1.0])), path)
    dataset = opened(tmp_path)
    assert dataset.spatial_dims == 3
    assert dataset.classes == ("background", "class_1", "class_2")
    assert [case.name for case in dataset.cases] == ["scan_0", "scan_1", "scan_2"]
    target = dataset.reader.target(dataset.cases[0])
    assert target.shape == (5, 6, 7)
    assert dataset.reader.image(dataset.cases[0]).spacing == (1.0, 2.0, 3.0)
    write_pair(tmp_path / "images" / "a.png", tmp_path / "labels" / "a.png", rng=rng)
    with pytest.raises(BadInput, match="mixes NIfTI and pictures"):
        load(tmp_path, options=OpenOptions())


@pytest.mark.parametrize(
    ("name", "kind", "subset"),
    [
        ("images", "image", ""), ("IMG", "image", ""), ("ground_truth", "mask", ""), ("SegmentationClass", "mask", ""),
        ("train", "", "train"), ("Val", "", "validation"), ("test_masks", "mask", "test"), ("labelsTs", "mask", "test"),
        ("TrainDataset", "", "train"), ("validation-images", "image", "validation"),
    ],
)  # fmt: skip
def test_folder_names(name, kind, subset):
    understood = read_folder_name(name)
    assert (understood.kind, understood.subset) == (kind, subset)


@pytest.mark.parametrize("name", ["overlay", "masks_EX", "tr", "data", "", "train_test", "imagery", str(Path("x"))])
def test_names_that_say_nothing(name):
    assert read_folder_name(name) is None
