"""The upsampling of a head left to the loss: when, the same training, and a resumed run goes on as it began."""

import numpy as np
import pytest
import torch
from data.layouts.image_folder import write_multiclass_folder
from train.test_train_compiling import train_killed
from train.test_train_resume import assert_same_result
from train.tiny_runs import history_without_times, train_tiny

import sizewise as sw
from sizewise.models.build import build_model
from sizewise.train import shared_upsampling, training_step
from sizewise.train.checkpoint import load_checkpoint, save_checkpoint
from sizewise.train.shared_upsampling import FEWEST_CLASSES, MOST_CLASSES, is_faster_in_loss, share_upsampling

pytestmark = pytest.mark.usefixtures("no_curves")
RULE = "sizewise.train.setup.is_faster_in_loss"
SETTINGS = {
    "model": "fpn-resnet18",
    "encoder_weights": "none",
    "size": (32, 32),
    "epochs": 2,
    "steps_per_epoch": 1,
    "loss": "RCE",
}


def always(criterion, classes, *, captured):
    return True


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_multiclass_folder(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """A run whose loss upsamples, with an average of the weights."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RULE, always)
        patch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)
        train_tiny(data, folder, ema=0.5, **SETTINGS)
    return folder


@pytest.mark.parametrize(
    ("captured", "classes", "wanted"),
    [
        (True, FEWEST_CLASSES, True),
        (True, MOST_CLASSES, True),
        (True, FEWEST_CLASSES - 1, False),
        (True, MOST_CLASSES + 1, False),
        (False, FEWEST_CLASSES, False),
    ],
)
def test_the_rule_is_what_was_measured(captured, classes, wanted):
    assert is_faster_in_loss(sw.loss("DiceCE"), classes, captured=captured) == wanted


@pytest.mark.parametrize(
    "criterion", [sw.loss("RCE", upsample="linear"), sw.loss("CC-DiceCE"), sw.loss("CE + CC-Dice")]
)
def test_never_for_a_loss_that_upsamples_already_or_looks_at_components(criterion):
    assert not is_faster_in_loss(criterion, FEWEST_CLASSES, captured=True)


def test_it_is_left_to_the_loss_where_nothing_is_padded():
    model = build_model("fpn-resnet18", spatial_dims=2, in_channels=3, out_channels=4)
    criterion = sw.loss("RCE")
    assert share_upsampling("fpn-resnet18", model, criterion, (64, 80)) is None
    assert criterion.upsample is None
    assert share_upsampling("fpn-resnet18", model, criterion, (64, 96)) == criterion.upsample == "linear-corners"


def test_a_network_of_the_users_own_keeps_its_head(monkeypatch):
    monkeypatch.setattr(shared_upsampling, "size_multiple", lambda name: 32)
    model, criterion = build_model("fpn-resnet18", spatial_dims=2, in_channels=3, out_channels=4), sw.loss("RCE")
    assert share_upsampling("my_nets:build", model, criterion, (64, 64)) is None
    assert model.train()(torch.zeros(2, 3, 64, 64)).shape[2:] == (64, 64)


def test_a_cpu_trains_on_full_size_logits(data, tmp_path):
    train_tiny(data, tmp_path / "run", **SETTINGS | {"epochs": 1})
    assert load_checkpoint(tmp_path / "run" / "last.pt")["upsample"] is None


def test_the_same_is_trained_and_predicts_at_full_size(data, tmp_path, whole):
    assert load_checkpoint(whole / "last.pt")["upsample"] == "linear-corners"
    train_tiny(data, tmp_path / "plain", ema=0.5, **SETTINGS)
    ours, plain = (history_without_times(one)[0] for one in (whole, tmp_path / "plain"))
    # of the first step alone: with two images in a batch, rounding soon makes other networks
    assert ours["train_loss"] == pytest.approx(plain["train_loss"], rel=1e-4)
    assert ours.keys() == plain.keys()
    assert sw.load_run(whole)(np.zeros((3, 40, 50), np.uint8)).shape == (40, 50)


def test_a_run_goes_on_as_it_began_whatever_the_rule_says_later(data, tmp_path, whole, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(RULE, always)
        train_killed(data, tmp_path / "run", monkeypatch, ema=0.5, **SETTINGS)
    train_tiny(data, tmp_path / "run", resume=True, ema=0.5, **SETTINGS)
    assert_same_result(tmp_path / "run", whole)


def test_a_run_of_an_earlier_version_goes_on_without(data, tmp_path, monkeypatch):
    train_tiny(data, tmp_path / "whole", **SETTINGS)
    train_killed(data, tmp_path / "run", monkeypatch, **SETTINGS)
    saved = load_checkpoint(tmp_path / "run" / "last.pt")
    save_checkpoint(tmp_path / "run" / "last.pt", {k: v for k, v in saved.items() if k not in ("upsample", "checksum")})
    monkeypatch.setattr(RULE, always)
    train_tiny(data, tmp_path / "run", resume=True, **SETTINGS)
    assert_same_result(tmp_path / "run", tmp_path / "whole")


def test_the_loss_of_a_step_reads_the_heads_own_logits(data, tmp_path, monkeypatch):
    shapes = []
    forward = training_step.Step.forward

    def seen(self):
        outputs, labels, cells = forward(self)
        shapes.append((tuple(outputs.shape[2:]), tuple(labels.shape[-2:])))
        return outputs, labels, cells

    monkeypatch.setattr(RULE, always)
    monkeypatch.setattr(training_step.Step, "forward", seen)
    train_tiny(data, tmp_path / "run", **SETTINGS | {"epochs": 1})
    assert shapes == [((8, 8), (32, 32))]
