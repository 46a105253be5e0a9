"""Decisions inside nnU-Net: its plans hand out a label manager that decides, and the validation is made once more."""

import pickle

import numpy as np
import pytest
import torch
from nnunet_trainers import LABELS, REGIONS, build

import sizewise as sw
from sizewise.errors import BadInput
from sizewise.integrations.nnunet import make_trainer
from sizewise.integrations.nnunet.deciding import DecidingPlans, deciding

DATA = {"channel_names": {"0": "CT"}, "file_ending": ".nii.gz"}


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("nnUNet_results", str(tmp_path))
    monkeypatch.setenv("nnUNet_compile", "f")
    monkeypatch.delenv("SIZEWISE_VALIDATION_DECISION", raising=False)


def logits(channels, seed=0):
    return torch.randn(channels, 6, 7, 8, generator=torch.Generator().manual_seed(seed)) - 0.3


def label_manager(trainer, metric, labels):
    """As a worker makes it: from plans that travelled there."""
    plans = pickle.loads(pickle.dumps(DecidingPlans(trainer.plans_manager.plans, metric)))
    regions = {"regions_class_order": [1, 2]} if labels is REGIONS else {}
    return plans.get_label_manager(DATA | {"labels": labels} | regions)


@pytest.mark.parametrize("metric", ["dice", "iou", "size", "argmax"])
def test_labels_are_decided(metric):
    trainer, given = build("nnUNetTrainerCE"), logits(3)
    manager = label_manager(trainer, metric, LABELS)
    assert isinstance(manager, type(trainer.label_manager))
    assert manager.foreground_labels == trainer.label_manager.foreground_labels
    wanted = sw.decide(given[None], metric=metric)[0]
    for values, convert in (
        (given, manager.convert_logits_to_segmentation),
        (given.numpy(), manager.convert_logits_to_segmentation),
        (given.softmax(0), manager.convert_probabilities_to_segmentation),
    ):
        found = convert(values)
        assert type(found) is type(values)
        assert np.mean(np.asarray(found) == wanted.numpy()) > 0.995  # rounding of the softmax aside
    own = trainer.label_manager.convert_logits_to_segmentation(given)
    assert torch.equal(own, wanted) == (metric == "argmax")


def test_regions_are_decided_one_by_one_and_lie_on_top_of_each_other():
    trainer, given = build("nnUNetTrainerCE", REGIONS), logits(2)
    found = label_manager(trainer, "dice", REGIONS).convert_logits_to_segmentation(given)
    whole, core = sw.decide(given[None], metric="dice", activation="sigmoid")[0]
    assert torch.equal(found, torch.where(core, 2, whole.to(torch.int16)).to(found.dtype))
    as_nnunet = label_manager(trainer, "argmax", REGIONS).convert_logits_to_segmentation(given)
    assert torch.equal(as_nnunet, trainer.label_manager.convert_logits_to_segmentation(given).to(as_nnunet.dtype))


def test_the_trainer_is_as_before_afterwards(monkeypatch):
    trainer = build("nnUNetTrainerCE")
    trainer.configuration_manager.configuration["next_stage"] = "3d_cascade_fullres"
    before = {name: getattr(trainer, name) for name in ("plans_manager", "configuration_manager", "logger")}
    logged = {}
    monkeypatch.setattr(trainer.logger, "log_summary", logged.__setitem__)
    with deciding(trainer, "dice") as folder:
        assert trainer.output_folder == str(folder)
        assert folder.parts[-2:] == ("fold_0", "decided_dice")
        assert trainer.configuration_manager.next_stage_names is None  # a cascade learns from argmax's maps
        trainer.logger.log_summary("final_val/foreground_dice", 0.5)
    with pytest.raises(KeyError), deciding(trainer, "dice"):
        raise KeyError
    assert logged == {"final_val_decided_dice/foreground_dice": 0.5}
    assert all(getattr(trainer, name) is value for name, value in before.items())
    assert trainer.configuration_manager.next_stage_names == ["3d_cascade_fullres"]


def test_where_the_decision_comes_from(monkeypatch):
    """The environment before the class; a wrong word before anything is trained."""
    assert build("nnUNetTrainerCE").decision is None
    mine = make_trainer("nnUNetTrainerMine", lambda scope: sw.CrossEntropy(), decision="iou")
    assert build("", trainer=mine).decision == "iou"
    monkeypatch.setenv("SIZEWISE_VALIDATION_DECISION", "dice")
    assert build("", trainer=mine).decision == "dice"
    assert build("nnUNetTrainerCE").decision == "dice"
    assert type(build("nnUNetTrainerCE")).__name__ == "nnUNetTrainerCE"  # it names no folder
    monkeypatch.setenv("SIZEWISE_VALIDATION_DECISION", "argmax")
    assert build("", trainer=mine).decision is None
    monkeypatch.setenv("SIZEWISE_VALIDATION_DECISION", "dcie")
    with pytest.raises(BadInput, match=r"SIZEWISE_VALIDATION_DECISION: .* Did you mean 'dice'\?"):
        build("nnUNetTrainerCE")
    with pytest.raises(BadInput, match="must be one of 'dice', 'iou', 'size', 'argmax'"):
        make_trainer("nnUNetTrainerMine", lambda scope: sw.CrossEntropy(), decision="best")
