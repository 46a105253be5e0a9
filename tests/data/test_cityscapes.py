import shutil

import numpy as np
import pytest
from data.layouts.cityscapes import CAR, EGO_VEHICLE, ROAD, write_cityscapes
from PIL import Image

from sizewise.data.cityscapes import LABEL_IDS, load, recognise
from sizewise.data.open_options import OpenOptions
from sizewise.errors import BadInput


def test_the_published_layout(tmp_path):
    root = write_cityscapes(tmp_path)
    assert recognise(root)
    dataset = load(root, options=OpenOptions())
    assert len(dataset.classes) == 19
    assert dataset.classes[:2] == ("road", "sidewalk")
    assert dataset.classes[13] == "car"
    assert dataset.ignore_index == 255
    assert [(case.name, case.subset, case.group) for case in dataset.cases[3:5]] == [
        ("zurich_000001_000019", "train", "zurich"),
        ("frankfurt_000000_000019", "validation", "frankfurt"),
    ]


def test_label_ids_become_train_ids_and_the_rest_is_ignored(tmp_path):
    dataset = load(write_cityscapes(tmp_path), options=OpenOptions())
    case = dataset.cases[0]
    labels = np.asarray(Image.open(case.target[0]))
    target = dataset.reader.target(case)
    assert set(np.unique(labels)) == {EGO_VEHICLE, ROAD, CAR}
    assert (target[labels == ROAD] == 0).all()
    assert (target[labels == CAR] == 13).all()
    assert (target[labels == EGO_VEHICLE] == 255).all()


def test_the_test_set_has_no_target(tmp_path):
    dataset = load(write_cityscapes(tmp_path), options=OpenOptions())
    assert [case.name for case in dataset.cases if not case.target] == ["berlin_000000_000019"]
    assert "not public" in dataset.notes[0]
    with pytest.raises(BadInput, match="no public labels"):
        dataset.reader.target(dataset.cases[-1])


def test_label_maps_are_written_with_label_ids_in_grey(tmp_path):
    dataset = load(write_cityscapes(tmp_path / "set"), options=OpenOptions())
    path = dataset.reader.write(np.arange(19).reshape(1, 19), dataset.cases[-1], tmp_path / "out")
    assert path.name == "berlin_000000_000019.png"
    picture = Image.open(path)
    assert picture.mode == "L"
    assert np.asarray(picture)[0].tolist() == list(LABEL_IDS.values())
    assert LABEL_IDS["bicycle"] == 33


def test_missing_labels_and_wrong_labels_are_named(tmp_path):
    root = write_cityscapes(tmp_path / "set")
    mask = root / "gtFine" / "train" / "aachen" / "aachen_000000_000019_gtFine_labelIds.png"
    shutil.copy(mask.with_name(mask.name.replace("labelIds", "color")), mask)
    dataset = load(root, options=OpenOptions())
    with pytest.raises(BadInput, match=r"aachen_000000_000019_gtFine_labelIds\.png' must hold the label ids"):
        dataset.reader.target(dataset.cases[0])
    mask.unlink()
    assert load(root, options=OpenOptions()).cases[0].target == ()
    shutil.rmtree(root / "gtFine")
    with pytest.raises(BadInput, match=r"7 images in .*none has its labels"):
        load(root, options=OpenOptions())
