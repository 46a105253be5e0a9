"""Every official layout, from its folder to scores and label maps, in one epoch of a small network."""

import json

import nibabel
import numpy as np
import pytest
from data.layouts.amos_layout import write_amos
from data.layouts.cityscapes import CAR, ROAD, write_cityscapes
from data.layouts.cvc_clinicdb import write_cvc_clinicdb
from data.layouts.decathlon_layout import write_pancreas
from data.layouts.idrid import write_idrid
from data.layouts.image_folder import write_image_folder, write_multiclass_folder
from data.layouts.kvasir_seg import write_kvasir_seg
from data.layouts.nnunet_layout import write_prostate, write_roads
from data.layouts.retinal_lesions import write_retinal_lesions
from data.layouts.tiny_volumes import AFFINE, SHAPE
from PIL import Image
from train.tiny_runs import history_without_times, train_tiny

from sizewise.evaluate.folders import evaluate_folders
from sizewise.metrics.cases_csv import read_cases
from sizewise.train.checkpoint import load_checkpoint
from sizewise.train.predict import predict_folder, scored_names
from sizewise.train.run_folder import read_config

pytestmark = pytest.mark.usefixtures("no_curves")
VOLUME = {"size": (), "patch": (8, 8, 8), "recipe": "volume", "validate_every": 1}
LAYOUTS = {
    "kvasir": (write_kvasir_seg, {"recipe": "auto"}, 1),
    "cvc": (write_cvc_clinicdb, {"recipe": "auto"}, 1),
    "retinal": (write_retinal_lesions, {"recipe": "auto", "loss": "DiceCE"}, 1),
    "idrid": (write_idrid, {"recipe": "auto"}, 5),
    "idrid merged": (write_idrid, {"merge": True}, 1),
    "cityscapes": (write_cityscapes, {"recipe": "auto"}, 19),
    "folder": (write_image_folder, {}, 1),
    "classes": (write_multiclass_folder, {}, 3),
    "roads": (write_roads, {}, 1),
    "pancreas": (write_pancreas, VOLUME | {"recipe": "auto"}, 2),
    "amos": (write_amos, VOLUME | {"recipe": "auto"}, 15),
    "prostate": (write_prostate, VOLUME, 2),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_epoch(layout, tmp_path):
    write, settings, classes = LAYOUTS[layout]
    run = tmp_path / "run"
    train_tiny(write(tmp_path / "data"), run, **settings)
    rows = read_cases(run / "cases.csv")
    split = json.loads((run / "split.json").read_text())
    assert {row.case for row in rows} == {*split["test"], "all"}
    first = 0 if layout == "cityscapes" else 1  # its label 0 is the road, and the rest is ignored
    assert {row.class_id for row in rows} == set(range(first, first + classes))
    assert {row.of.run for row in rows} == {read_config(run).hash}
    (only,) = history_without_times(run)
    assert {f"val_size_error_{k}" for k in range(first, first + classes)} <= set(only)
    assert np.isfinite(only["train_loss"])
    assert not [path.name for path in run.iterdir() if path.name.startswith(".")]


def test_the_retinal_recipe_is_one_sigmoid_channel_whose_dice_sees_the_lesion_alone(tmp_path):
    lines = train_tiny(write_retinal_lesions(tmp_path / "data"), tmp_path / "run", recipe="auto", loss="DiceCE")
    assert "activation='sigmoid'" in lines[0]
    weights = load_checkpoint(tmp_path / "run" / "best.pt")["model"]
    assert list(weights.values())[-1].shape[0] == 1
    assert read_config(tmp_path / "run").merge


def scores(rows):
    return {(row.case, row.class_id, row.metric): row.value for row in rows}


def size_and_pixels(path):
    with Image.open(path) as picture:
        return picture.size, np.asarray(picture.convert("L"))


def test_pictures_predicted_and_evaluated_score_as_the_run_did(tmp_path):
    """Sizes differ from image to image; the label maps have their image's."""
    data, run, out = write_kvasir_seg(tmp_path / "data", cases=20), tmp_path / "run", tmp_path / "out"
    train_tiny(data, run, recipe="auto", epochs=3, learning_rate=0.01)
    files = predict_folder(run, str(data), out=out, device="cpu", log=lambda line: None)
    assert sorted(file.stem for file in files) == json.loads((run / "split.json").read_text())["test"]
    (tmp_path / "target").mkdir()
    for file in files:
        size, mask = size_and_pixels(data / "masks" / f"{file.stem}.jpg")
        assert size_and_pixels(file)[0] == size
        Image.fromarray((mask > 127).astype(np.uint8)).save(tmp_path / "target" / file.name)
    ours = scores(read_cases(run / "cases.csv"))
    assert ours == scores(evaluate_folders(out, tmp_path / "target", jobs=1).rows)
    assert any(value for (_, _, metric), value in ours.items() if metric == "dsc")


def test_volumes_keep_their_geometry(tmp_path):
    data, run, out = write_pancreas(tmp_path), tmp_path / "run", tmp_path / "out"
    train_tiny(data, run, **VOLUME | {"spacing": (1.0, 1.0, 2.0), "epochs": 2})
    files = predict_folder(run, str(data), out=out, subset="all", device="cpu", log=lambda line: None)
    assert len(files) == 7
    for file in files:
        volume = nibabel.load(file)
        assert volume.shape == SHAPE
        np.testing.assert_allclose(volume.affine, AFFINE)
        assert set(np.unique(volume.dataobj)) <= {0, 1, 2}
    (unlabelled,) = predict_folder(run, str(data), out=out, subset="unlabelled", device="cpu", log=lambda line: None)
    assert unlabelled.name == "pancreas_900.nii.gz"
    test = json.loads((run / "split.json").read_text())["test"]
    for folder in ("pred", "target"):
        (tmp_path / folder).mkdir()
    for name in test:
        (tmp_path / "pred" / f"{name}.nii.gz").write_bytes((out / f"{name}.nii.gz").read_bytes())
        labels = nibabel.load(data / "labelsTr" / f"{name}.nii.gz")
        whole = nibabel.Nifti1Image(np.asarray(labels.dataobj).astype(np.uint8), labels.affine)
        nibabel.save(whole, tmp_path / "target" / f"{name}.nii.gz")
    again = evaluate_folders(tmp_path / "pred", tmp_path / "target", jobs=1).rows
    assert scores(read_cases(run / "cases.csv")) == scores(again)


def test_cityscapes_are_written_in_its_label_ids(tmp_path):
    data = write_cityscapes(tmp_path / "data")
    train_tiny(data, tmp_path / "run", recipe="auto", size=(16, 32), epochs=6, steps_per_epoch=5, learning_rate=0.05)
    files = predict_folder(
        tmp_path / "run", str(data), out=tmp_path / "out", subset="unlabelled", device="cpu", log=lambda line: None
    )
    assert [file.name.startswith("berlin_000000_000019") for file in files] == [True]
    _, labels = size_and_pixels(files[0])
    assert labels.shape == (32, 64)
    assert ROAD in labels  # the training id of road is 0
    assert set(np.unique(labels)) <= {ROAD, CAR, 8, 11, 12, 13, 17, 19, 20, 21, 22, 23, 24, 25, 27, 28, 31, 32, 33}


def test_multi_label_maps_are_written_and_scored_channel_by_channel(tmp_path):
    data, run = write_idrid(tmp_path / "data"), tmp_path / "run"
    train_tiny(data, run, recipe="auto")
    files = predict_folder(run, str(data), out=tmp_path / "out", score=True, device="cpu", log=lambda line: None)
    assert files
    assert (tmp_path / "out" / "cases.csv").read_bytes() == (run / "cases.csv").read_bytes()
    assert {row.class_id for row in read_cases(run / "cases.csv")} == {1, 2, 3, 4, 5}
    assert scored_names(run)[1] == "microaneurysms"
    assert list(load_checkpoint(run / "best.pt")["model"].values())[-1].shape[0] == 5
