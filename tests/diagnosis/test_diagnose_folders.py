import csv
import json
import re

import nibabel
import numpy as np
import pytest
import torch
from diagnosis.written_cases import write_cases
from PIL import Image
from probability_maps.saved_cases import drawn

from sizewise.diagnosis.diagnose import diagnose
from sizewise.diagnosis.diagnosis_page import class_table, write_diagnosis
from sizewise.diagnosis.size_figures import size_agreement_figure
from sizewise.errors import BadInput
from sizewise.evaluate.folders import evaluate_folders


def test_scores_are_those_of_evaluate(tmp_path):
    pred, true, probs = write_cases(tmp_path)
    found = diagnose(predictions=pred, targets=true, probabilities=probs)
    rows = evaluate_folders(pred, true, jobs=1).rows
    for one in found.classes:
        for metric, value in (("dsc", one.dsc), ("size_error", one.bias)):
            wanted = [row.value for row in rows if row.metric == metric and row.class_id == one.class_id]
            assert value == pytest.approx(np.mean([each for each in wanted if each is not None]))


def test_probabilities_have_the_names_of_the_predictions_whatever_the_targets_are_called(tmp_path):
    pred, true, probs = write_cases(tmp_path)
    wanted = diagnose(predictions=pred, targets=true, probabilities=probs)
    for path in true.iterdir():
        path.rename(path.with_stem(f"{path.stem}_mask"))
    found = diagnose(predictions=pred, targets=true, probabilities=probs)
    assert {kind: one.gain for kind, one in found.gains.items()} == {k: one.gain for k, one in wanted.gains.items()}
    with pytest.raises(BadInput, match=r"`background` is 7, and '.*c0.npy' has the classes 0 to 2"):
        diagnose(predictions=pred, targets=true, probabilities=probs, background=7)
    next(probs.iterdir()).unlink()
    with pytest.raises(BadInput, match=r"has none for 1 case, such as 'c.'. Wanted a file for each prediction"):
        diagnose(predictions=pred, targets=true, probabilities=probs)


@pytest.mark.parametrize("form", ["npy", "nnU-Net"])
def test_overconfidence_is_found_and_a_temperature_repairs_it(tmp_path, form):
    pred, true, probs = write_cases(tmp_path, temperature=0.5, count=8, form=form)
    found = diagnose(predictions=pred, targets=true, probabilities=probs)
    assert 1.4 <= found.temperature <= 2.8
    assert found.fitted.startswith("cross-fitted: ")
    calm = diagnose(predictions=pred, targets=true, probabilities=write_cases(tmp_path / "calm", count=8)[2])
    assert all(sure.ece > 2 * right.ece for sure, right in zip(found.classes, calm.classes, strict=True))
    assert calm.gains["dice"].gain > found.gains["dice"].gain
    assert found.gains["fitted"].gain == pytest.approx(calm.gains["dice"].gain, abs=0.02)


def test_probabilities_beside_the_predictions_are_used_with_the_names_of_nnunet(tmp_path):
    pred, true, probs = write_cases(tmp_path, form="nnU-Net")
    for path in probs.iterdir():
        path.rename(pred / path.name)
    (pred / "dataset.json").write_text(json.dumps({"labels": {"background": 0, "liver": 1, "tumour": 2}}))
    found = diagnose(predictions=pred, targets=true)
    assert [one.name for one in found.classes] == ["liver", "tumour"]
    assert "sizes" in found.gains
    assert found.notes[0] == "Probabilities lie beside the predictions, and are used."


@pytest.mark.parametrize("count", [9, 10])
def test_advice_from_few_cases_says_so(tmp_path, count):
    pred, true, _ = write_cases(tmp_path, count=count)
    said = [note for note in diagnose(predictions=pred, targets=true).notes if "standard error" in note]
    told = "With 9 cases a standard error is itself a guess, and so is the advice: diagnose 10 or more before you rely on it."
    assert said == ([told] if count == 9 else [])


@pytest.mark.parametrize("count", [1, 2])
def test_one_case_has_no_limits(tmp_path, count):
    pred, true, _ = write_cases(tmp_path, count=count)
    table = class_table(diagnose(predictions=pred, targets=true))
    at = table.columns.index("95 % limits (points)")
    assert [row[at].text == "–" for row in table.rows] == [count == 1] * len(table.rows)


def test_how_probabilities_are_saved_is_said_in_the_words_of_each_program(tmp_path):
    pred, true, _ = write_cases(tmp_path)
    (note,) = [one for one in diagnose(predictions=pred, targets=true).notes if "no probabilities" in one]
    assert "`sizewise predict` has the option save-probabilities" in note
    assert "`nnUNetv2_predict` the option save_probabilities" in note


def test_volumes_of_nnunet_lie_as_their_label_maps(tmp_path):
    """Its arrays are (K, z, y, x), its NIfTI (x, y, z): read the wrong way round nothing would fit."""
    for name in ("pred", "true"):
        (tmp_path / name).mkdir()
    for number in range(2):
        p, target = drawn((9, 7, 5), seed=number, sharpness=6.0)
        np.savez_compressed(tmp_path / "pred" / f"c{number}.npz", probabilities=p.transpose(0, 3, 2, 1))
        for name, labels in (("pred", p.argmax(0).astype(np.uint8)), ("true", target)):
            nibabel.save(nibabel.Nifti1Image(labels, np.eye(4)), tmp_path / name / f"c{number}.nii.gz")
    pred, true = tmp_path / "pred", tmp_path / "true"
    found = diagnose(predictions=pred, targets=true)
    alone = diagnose(targets=true, probabilities=pred)
    assert found.gains == alone.gains  # the argmax of the arrays is the label map
    assert all(one.ece < 0.1 for one in found.classes)
    rows = evaluate_folders(pred, true, jobs=1).rows
    first = [row.value for row in rows if row.metric == "dsc" and row.class_id == 1 and row.value is not None]
    assert found.classes[0].dsc == pytest.approx(np.mean(first))


def test_probabilities_alone_are_decided_by_argmax(tmp_path):
    pred, true, probs = write_cases(tmp_path)
    alone, both = (
        diagnose(targets=true, probabilities=probs),
        diagnose(predictions=pred, targets=true, probabilities=probs),
    )
    assert alone.gains == both.gains


def test_processes_give_the_same(tmp_path):
    pred, true, probs = write_cases(tmp_path, count=12, shape=(10, 9))
    one, two = (diagnose(predictions=pred, targets=true, probabilities=probs, jobs=jobs) for jobs in (1, 2))
    assert one.gains == two.gains
    assert one.collected.cases == two.collected.cases


def test_one_channel_of_sigmoid_is_as_two_of_softmax(tmp_path):
    pred, true, probs = write_cases(tmp_path, classes=2)
    two = diagnose(predictions=pred, targets=true, probabilities=probs)
    for path in probs.iterdir():
        np.save(path, np.load(path)[1:])
    one = diagnose(predictions=pred, targets=true, probabilities=probs, activation="sigmoid")
    for name, gain in two.gains.items():
        assert one.gains[name].dsc == pytest.approx(gain.dsc, abs=1e-3)
    assert one.classes[0].ece == pytest.approx(two.classes[0].ece, abs=1e-6)


def test_the_files(tmp_path):
    pred, true, probs = write_cases(tmp_path)
    found = diagnose(predictions=pred, targets=true, probabilities=probs)
    page = write_diagnosis(found, tmp_path / "out", command="sizewise <next>").read_text()
    assert "sizewise &lt;next&gt;" in page
    assert "Left out" not in page
    for figure in ("thresholds", "reliability", "sizes", "size-errors", "components"):
        assert f'id="data-{figure}"' in page
        assert (tmp_path / "out" / "figures" / f"{figure}.csv").exists()
    numbers = json.loads((tmp_path / "out" / "diagnosis.json").read_text())
    assert numbers["gains"]["dice"]["gain"] == pytest.approx(found.gains["dice"].gain)
    assert numbers["classes"][0]["ece"] == pytest.approx(found.classes[0].ece)
    with open(tmp_path / "out" / "diagnosis.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6 * 2
    assert np.mean([float(row["dsc_now"]) for row in rows]) == pytest.approx(found.gains["now"].dsc, abs=1e-5)


def test_each_dot_of_the_sizes_names_its_case(tmp_path):
    pred, true, _ = write_cases(tmp_path)
    found = diagnose(predictions=pred, targets=true)
    panel = size_agreement_figure(found.collected, found.classes).views[0].panels[0]
    (dots,) = (mark for mark in panel.marks if mark.kind == "points")
    assert [tip.split("\n")[0] for tip in dots.text] == list(found.collected.cases)


def test_without_probabilities_the_rest_is_there(tmp_path):
    pred, true, _ = write_cases(tmp_path)
    found = diagnose(predictions=pred, targets=true)
    assert set(found.gains) == {"now", "matched"}
    assert found.advice.step == "probabilities"
    page = write_diagnosis(found, tmp_path / "out").read_text()
    assert "<li>DSC over the threshold: there are no probabilities." in page
    assert "<li>Reliability: there are no probabilities." in page
    assert 'id="data-sizes"' in page
    assert 'id="data-components"' in page


def test_one_case_fits_no_temperature(tmp_path):
    pred, true, probs = write_cases(tmp_path, count=1)
    found = diagnose(predictions=pred, targets=true, probabilities=probs)
    assert found.temperature is None
    assert "that takes two cases" in found.fitted
    assert "fitted" not in found.gains
    assert found.advice.step == "nothing"
    write_diagnosis(found, tmp_path / "out")  # nan is written nowhere


def test_ignored_pixels(tmp_path):
    pred, true, probs = write_cases(tmp_path, count=4)
    for path in sorted(true.iterdir()):
        labels = np.array(Image.open(path))
        labels[:5] = 255
        Image.fromarray(labels).save(path)
    with pytest.raises(BadInput, match="ignore_index=255"):
        diagnose(predictions=pred, targets=true, probabilities=probs)
    found = diagnose(predictions=pred, targets=true, probabilities=probs, ignore_index=255)
    assert found.collected.valid_px == (19 * 20,) * 4
    assert found.classes[0].thresholds is not None
    assert diagnose(predictions=pred, targets=true, ignore_index=255).gains["now"] == found.gains["now"]


def empty_maps(pred, true, probs):
    for folder in (pred, true):
        for path in folder.iterdir():
            Image.fromarray(np.zeros((24, 20), dtype=np.uint8)).save(path)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "wanted a run folder, or `targets` with `predictions`"),
        ({"targets": "true"}, "`targets` alone say nothing: give `predictions`, a folder of label maps"),
        ({"run": "pred", "targets": "true"}, "a run folder brings its own cases"),
        ({"run": "pred"}, "is no run folder: it has no config.json"),
        ({"targets": "true", "predictions": "probs"}, "has no label map. Wanted"),
        ({"targets": "true", "predictions": "pred", "probabilities": "true"}, "has no probabilities. Wanted CASE.npz"),
        ({"targets": "true", "predictions": "pred", "activation": "soft"}, "`activation` must be"),
        ({"targets": "true", "probabilities": "probs", "activation": "sigmoid"}, "has 3 channels that may overlap"),
        ({"targets": "true", "predictions": "pred", "cases": "some"}, "`cases` must be all or predicted"),
    ],
)
def test_what_is_wrong_is_a_sentence(tmp_path, given, said):
    write_cases(tmp_path, count=2)
    paths = {"run", "targets", "predictions", "probabilities"}
    with pytest.raises(BadInput, match=re.escape(said)):
        diagnose(**{name: tmp_path / value if name in paths else value for name, value in given.items()})


def test_one_class_and_missing_cases(tmp_path):
    pred, true, probs = write_cases(tmp_path, count=3)
    (probs / "c1.npy").unlink()
    with pytest.raises(BadInput, match="has none for 1 case, such as 'c1'"):
        diagnose(predictions=pred, targets=true, probabilities=probs)
    (pred / "c1.png").unlink()
    with pytest.raises(BadInput, match="1 of 3 targets have no prediction: 'c1'"):
        diagnose(predictions=pred, targets=true)
    found = diagnose(predictions=pred, targets=true, probabilities=probs, cases="predicted")
    assert found.notes[0] == "1 target has no prediction and is left out."
    assert found.collected.cases == ("c0", "c2")
    empty_maps(pred, true, probs)
    with pytest.raises(BadInput, match="every valid pixel is background"):
        diagnose(predictions=pred, targets=true, cases="predicted")


def test_memory_does_not_hold_the_cases(tmp_path):
    """What is collected of a case is a row for each class; nothing of the size of an image stays."""
    pred, true, probs = write_cases(tmp_path, count=4)
    found = diagnose(predictions=pred, targets=true, probabilities=probs).collected
    for one in found.classes.values():
        held = [one.histogram.pixels, one.curve, one.components.true, *map(np.array, one.rows.values())]
        assert max(each.size for each in held) <= 256
        assert not any(isinstance(value, torch.Tensor) for value in vars(one).values())
