"""The largest component: which pixels stay, and that only validation cases say for which classes."""

import json

import numpy as np
import pytest
from data.layouts.image_folder import write_multiclass_folder
from train.tiny_runs import train_tiny

from sizewise.errors import BadInput
from sizewise.train.keep_largest import Kept, Truth, largest_only, remembered, tune
from sizewise.train.predict import predict_folder


def test_corners_touch_and_of_equal_ones_the_first_stays():
    labels = np.array([[1, 0, 0, 2], [0, 1, 0, 0], [0, 0, 0, 2], [1, 0, 0, 0]])
    assert largest_only(labels, [1]).tolist() == [[1, 0, 0, 2], [0, 1, 0, 0], [0, 0, 0, 2], [0, 0, 0, 0]]
    assert largest_only(labels, [2])[:, 3].tolist() == [2, 0, 0, 0]
    assert labels[3, 0] == 1  # the given map is left as it was
    channels = np.stack([labels == 1, labels == 2]).astype(np.uint8)
    assert largest_only(channels, [2], multilabel=True).sum((1, 2)).tolist() == [3, 1]


def case(labels, target):
    return Truth(np.array(labels), np.array(target), (1.0, 1.0))


@pytest.mark.parametrize("multilabel", [False, True])
def test_each_class_is_tried_on_its_own(multilabel):
    """Class 1 has a false second region, class 2 a true one: 1 gains, 2 would lose."""
    labels = [[1, 1, 0, 1, 0], [0, 0, 0, 0, 0], [2, 2, 0, 0, 2]]
    target = [[1, 1, 0, 0, 0], [0, 0, 0, 0, 0], [2, 2, 0, 0, 2]]
    one = case(labels, target)
    if multilabel:
        one = Truth(*(np.stack([m == 1, m == 2]).astype(np.uint8) for m in (one.labels, one.target)), (1.0, 1.0))
    found = tune([one], (1, 2), multilabel=multilabel, ignore_index=None, how={})
    # DSC of class 1: 2·2/(3 + 2) = 0.8 → 1; of class 2: 1 → 2·2/(2 + 3) = 0.8
    assert found.classes == (1,)
    assert found.gain == {1: pytest.approx(0.2), 2: pytest.approx(-0.2)}
    assert found.cases == 1


def test_no_gain_no_change():
    found = tune([case([[1, 1, 0]], [[1, 1, 0]])], (1, 2), multilabel=False, ignore_index=None, how={})
    assert (found.classes, found.gain) == ((), {1: 0.0, 2: None})


def test_what_was_found_is_kept_for_these_weights_alone(tmp_path):
    found = Kept({"epoch": 3, "decision": "dice"}, (2,), {1: None, 2: 0.5}, 4)
    assert remembered(tmp_path, found.how, lambda: found) == found
    assert remembered(tmp_path, found.how, lambda: 1 / 0) == found
    newer = Kept({"epoch": 5, "decision": "dice"}, (), {1: None, 2: 0.0}, 4)
    assert remembered(tmp_path, newer.how, lambda: newer) == newer
    assert len(json.loads((tmp_path / "components.json").read_text())) == 1
    (tmp_path / "components.json").write_text('[{"how": 1}]')
    with pytest.raises(BadInput, match=r"components.json cannot be read.*Remove it"):
        remembered(tmp_path, found.how, lambda: found)


def test_predict_tries_once_and_never_without_being_asked(tmp_path, no_curves):
    write_multiclass_folder(tmp_path / "data")
    train_tiny(tmp_path / "data", tmp_path / "run")
    lines: list[str] = []
    given = {"out": tmp_path / "out", "device": "cpu", "log": lines.append}
    predict_folder(tmp_path / "run", str(tmp_path / "data"), **given)
    assert not (tmp_path / "run" / "components.json").exists()
    predict_folder(tmp_path / "run", str(tmp_path / "data"), keep_largest=True, **given)
    assert any("validation case" in line and "which components stay" in line for line in lines)
    assert any(line.startswith("keeping the largest component of") for line in lines)
    (entry,) = json.loads((tmp_path / "run" / "components.json").read_text())
    assert entry["how"]["decision"] == "argmax"
    lines.clear()
    predict_folder(tmp_path / "run", str(tmp_path / "data"), keep_largest=True, **given)
    assert not any("trying" in line for line in lines)


def test_no_background_or_no_validation(tmp_path, no_curves):
    write_multiclass_folder(tmp_path / "data")
    train_tiny(tmp_path / "data", tmp_path / "run", background="none")
    with pytest.raises(BadInput, match="turns what it drops into background, and this run has none"):
        predict_folder(tmp_path / "run", str(tmp_path / "data"), out=tmp_path / "o", keep_largest=True, device="cpu")
