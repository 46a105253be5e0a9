"""Early stopping, accumulation, averaged weights, loss scaling, deep supervision: what they compute, and after a kill."""

import json
import shutil
from dataclasses import replace

import pytest
import torch
from data.layouts.image_folder import write_multiclass_folder
from torch import nn
from train.test_train_resume import assert_same_result
from train.tiny_runs import CPU, TINY, history_without_times, train_tiny

import sizewise as sw
from sizewise.cli.derived_options import setting_options
from sizewise.data.split import Split
from sizewise.errors import BadInput
from sizewise.models.build import build_model
from sizewise.train import loop
from sizewise.train.checkpoint import load_checkpoint
from sizewise.train.config import RunConfig
from sizewise.train.datasets import OpenDatasets
from sizewise.train.resolve import resolve
from sizewise.train.run import run_training
from sizewise.train.run_folder import read_config
from sizewise.train.saved_settings import changed_settings
from sizewise.train.task import make_model
from sizewise.train.training_step import Step, padded_labels

pytestmark = pytest.mark.usefixtures("no_curves")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_multiclass_folder(tmp_path_factory.mktemp("data"))


class Killed(Exception):
    pass


OPTIONS = {
    "accumulate": {"accumulate": 2, "steps_per_epoch": 3},
    "average": {"ema": 0.9},
    "scaled": {"precision": "float16", "clip_norm": 1.0},
    "stopping": {"early_stop": 2, "epochs": 6, "learning_rate": 1e-7},
    "deep": {"deep_supervision": True, "model": "monai-dynunet", "size": (32, 32), "steps_per_epoch": 1},
    "together": {"ema": 0.9, "precision": "float16", "accumulate": 3, "steps_per_epoch": 4, "optimizer": "sgd"},
}


@pytest.mark.parametrize("which", OPTIONS)
def test_killed_after_each_epoch_it_ends_with_the_same_bits(data, tmp_path, monkeypatch, which):
    settings = {"epochs": 3, "augment": "picture"} | OPTIONS[which]
    train_tiny(data, tmp_path / "whole", **settings)
    original = loop.Record.keep

    def killed(self, state, *, last):
        original(self, state, last=last)
        if not last:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(loop.Record, "keep", killed)
        for _ in range(10):
            try:
                train_tiny(data, tmp_path / "run", resume=True, **settings)
                break
            except Killed:
                continue
    assert_same_result(tmp_path / "run", tmp_path / "whole")
    mine, theirs = (load_checkpoint(tmp_path / one / "last.pt") for one in ("run", "whole"))
    assert str({k: v for k, v in mine.items() if k != "rows"}) == str({k: v for k, v in theirs.items() if k != "rows"})
    if "precision" in settings:
        assert mine["scale"]["_growth_tracker"] > 0  # what a resumed run goes on with


def test_early_stop_counts_validations(data, tmp_path):
    """With steps of almost nothing the first validation stays the best, and two more end it."""
    lines = train_tiny(data, tmp_path / "run", **OPTIONS["stopping"], optimizer="sgd")
    rows = history_without_times(tmp_path / "run")
    best = max(range(len(rows)), key=lambda n: (rows[n]["val_dsc"], -rows[n]["val_loss"]))
    assert len(rows) == best + 1 + 2 < 6
    assert f"stopped after epoch {len(rows)}: no better score in 2 validations" in lines
    assert (tmp_path / "run" / "cases.csv").exists()


def test_early_stop_without_validation_cases(data, monkeypatch):
    def undivided(self, dataset, config):
        names = tuple(case.name for case in dataset.cases)
        return Split(names[:-1], (), names[-1:])

    monkeypatch.setattr(OpenDatasets, "split", undivided)
    with pytest.raises(BadInput, match="there are no validation cases"):
        resolve(TINY | {"data": str(data), "early_stop": 1})


def weights_after(data, folder, **settings):
    train_tiny(data, folder, optimizer="sgd", momentum=0.0, augment="none", loss="CE", **settings)
    return load_checkpoint(folder / "last.pt")


def test_two_batches_make_one_update_with_their_mean_gradient(data, tmp_path, monkeypatch):
    """Batch norm sees one batch at a time, so it is frozen: then 2 × 2 images are the mean of 4, cross-entropy being one."""
    monkeypatch.setattr(nn.BatchNorm2d, "forward", lambda self, images: images)
    large = weights_after(data, tmp_path / "large", batch_size=4, steps_per_epoch=2)["model"]
    small = weights_after(data, tmp_path / "small", batch_size=2, steps_per_epoch=4, accumulate=2)["model"]
    each = weights_after(data, tmp_path / "each", batch_size=2, steps_per_epoch=4)["model"]
    for name, value in large.items():
        torch.testing.assert_close(small[name], value, atol=1e-6, rtol=1e-5)
    assert any(not torch.allclose(each[name], value, atol=1e-6) for name, value in large.items())


def test_the_last_group_of_an_epoch_may_be_smaller(data, tmp_path, monkeypatch):
    updates = []
    monkeypatch.setattr(Step, "_update", lambda self, inner=Step._update: updates.append(self.group) or inner(self))
    train_tiny(data, tmp_path / "run", accumulate=2, steps_per_epoch=5)
    assert updates == [2, 2, 1]


def test_the_average_is_what_is_validated_and_kept(data, tmp_path):
    saved = weights_after(data, tmp_path / "run", ema=0.5, epochs=1, steps_per_epoch=1, learning_rate=0.5)
    best = load_checkpoint(tmp_path / "run" / "best.pt")["model"]
    run = resolve(changed_settings(tmp_path / "run", {}))
    channels = len(json.loads((tmp_path / "run" / "preparation.json").read_text())["mean"])
    start = make_model(run.config, run.task, in_channels=channels).state_dict()
    decay = 2 / 11  # (1 + n) / (10 + n) after one update, below 0.5
    name = next(name for name in start if name.endswith("weight"))
    torch.testing.assert_close(best[name], decay * start[name] + (1 - decay) * saved["model"][name])
    assert not torch.equal(best[name], saved["model"][name])
    assert saved["average"]["updates"] == 1


def test_deep_supervision_is_the_loss_of_all_resolutions():
    torch.manual_seed(0)
    net = build_model("monai-dynunet", spatial_dims=2, in_channels=1, out_channels=2, deep_supervision=True)
    outputs = net(torch.randn(2, 1, 32, 48))
    assert [tuple(one.shape[2:]) for one in outputs] == [(32, 48), (16, 24), (8, 12)]
    assert net.eval()(torch.randn(2, 1, 32, 48)).shape == (2, 2, 32, 48)
    labels = torch.randint(0, 2, (2, 1, 30, 48), dtype=torch.uint8)
    padded = padded_labels(labels, torch.Size((32, 48)))
    assert padded.shape == (2, 1, 32, 48)
    assert (padded[:, :, 30:] == 255).all()
    loss = sw.DeepSupervision(sw.loss("CE", ignore_index=255))(outputs, padded)
    by_hand = sum(
        weight
        * nn.functional.cross_entropy(
            one, sw.deep_supervision.nearest(padded, one.shape[2:])[:, 0].long(), ignore_index=255
        )
        for weight, one in zip((4 / 7, 2 / 7, 1 / 7), outputs, strict=True)
    )
    torch.testing.assert_close(loss, by_hand)


class Single:
    """A network of one's own, which gives one resolution."""

    size_multiple = 4

    def __call__(self, *, spatial_dims, in_channels, out_channels):
        return nn.Conv2d(in_channels, out_channels, 1)


single = Single()


class Lists(nn.Module):
    """A network of one's own; ``whole`` says which of its outputs come out, and how."""

    def __init__(self, whole):
        super().__init__()
        self.whole, self.head = whole, nn.Conv2d(3, 5, 1)

    def forward(self, images):
        return self.whole(self.head(images), self.training)


def halved(logits):
    return logits[..., ::2, ::2]


def lists(whole):
    def build(*, spatial_dims, in_channels, out_channels):
        assert (in_channels, out_channels) == (3, 4)
        return Lists(whole)

    return build


dictionary = lists(lambda z, training: {"out": z})
half = lists(lambda z, training: halved(z[:, :4]))
five = lists(lambda z, training: z)
listed = lists(lambda z, training: [z[:, :4], halved(z[:, :4])] if training else z[:, :4])
upside_down = lists(lambda z, training: [halved(z[:, :4]), z[:, :4]] if training else z[:, :4])
other_classes = lists(lambda z, training: [z[:, :4], halved(z)] if training else z[:, :4])
nested = lists(lambda z, training: (z[:, :4], [halved(z[:, :4])]) if training else z[:, :4])


@pytest.mark.parametrize(
    ("name", "deep", "said"),
    [
        ("dictionary", False, "outside of training it must return one tensor of logits .*, got dict"),
        ("half", False, r"must return logits of shape \(1, 4, 32, 32\).* got \(1, 4, 16, 16\)"),
        ("five", False, r"a channel for each class at each pixel, got \(1, 5, 32, 32\)"),
        ("listed", False, r"returned list in training, .* Add `deep_supervision`"),
        (
            "upside_down",
            True,
            r"the full resolution \(32, 32\) first; this network returned the shapes \(2, 4, 16, 16\)",
        ),
        ("other_classes", True, r"logits of the same classes"),
        ("nested", True, "this one returned tuple of Tensor, list. Leave it out"),
    ],
)
def test_networks_of_ones_own_that_give_something_else(data, tmp_path, name, deep, said):
    with pytest.raises(BadInput, match=said):
        train_tiny(data, tmp_path / "run", model=f"{__name__}:{name}", deep_supervision=deep)
    assert not (tmp_path / "run").exists()


def test_networks_without_several_resolutions_are_refused(data, tmp_path):
    with pytest.raises(BadInput, match=r"monai-unet-small has no outputs of several resolutions .* Take monai-dynunet"):
        train_tiny(data, tmp_path / "a", deep_supervision=True)
    with pytest.raises(BadInput, match=r"returned Tensor. Leave it out"):
        train_tiny(data, tmp_path / "b", deep_supervision=True, model=f"{__name__}:single")


def test_a_config_is_the_beginning_of_another_run(data, tmp_path):
    train_tiny(data, tmp_path / "run", loss="RCE", loss_options=(("temperature", 5.0),), weight=0.5, ema=0.9)
    saved = tmp_path / "run" / "config.json"
    again = resolve(changed_settings(saved, {}))
    assert again.config.hash == read_config(tmp_path / "run").hash
    assert resolve(changed_settings(tmp_path / "run", {})).config == again.config
    other = resolve(changed_settings(saved, {"seed": 3})).config
    assert replace(other, seed=0) == again.config
    another = resolve(changed_settings(saved, {"loss": "CE"})).config
    assert (another.weight, another.loss_options) == (None, ())
    joined = resolve(changed_settings(saved, {"loss_options": (("class_reduction", "sum"),)})).config
    assert dict(joined.loss_options) == {"temperature": 5.0, "class_reduction": "sum"}
    assert resolve(changed_settings(saved, {"recipe": "demo"})).config == again.config
    with pytest.raises(BadInput, match=r"the recipe would change nothing. Leave one of the two out"):
        changed_settings(saved, {"recipe": "polyp"})
    run_training(again, folder=tmp_path / "again", runtime=CPU, log=lambda line: None)
    assert_same_result(tmp_path / "again", tmp_path / "run")


def test_configs_of_volumes_resolve_to_themselves(tmp_path):
    config = resolve({"data": "synthetic-3d", "recipe": "volume"}).config
    (tmp_path / "config.json").write_text(config.to_json())
    assert resolve(changed_settings(tmp_path / "config.json", {})).config == config


def test_configs_that_are_none(tmp_path):
    with pytest.raises(BadInput, match=r"is no config.json of a run"):
        changed_settings(tmp_path / "other.json", {})
    old = json.loads(RunConfig(data="synthetic").to_json())
    del old["definitions"]
    (tmp_path / "config.json").write_text(json.dumps(old))
    with pytest.raises(BadInput, match="whose words meant another computation"):
        changed_settings(tmp_path / "config.json", {})


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"ema": 1.0}, "`ema` is a decay, at least 0 and below 1, got 1"),
        ({"accumulate": 0}, "`accumulate` must be at least 1, got 0"),
        ({"early_stop": -1}, "`early_stop` must be at least 0, got -1"),
    ],
)
def test_settings_that_make_no_sense(setting, said):
    with pytest.raises(BadInput, match=said):
        RunConfig(data="synthetic", **setting)


def test_old_hashes_hold_and_each_option_is_a_flag():
    plain = RunConfig(data="synthetic", loss="RCE")
    assert plain.hash == "8890260c"  # as before there were these
    assert not {"ema", "accumulate", "early_stop", "deep_supervision"} & set(json.loads(plain.to_json()))
    assert {"ema", "accumulate", "early_stop", "deep_supervision"} <= {one.name for one in setting_options()}


def test_a_state_of_an_earlier_version_is_read(data, tmp_path):
    """It does not say how many validations passed since the best."""
    settings = {"epochs": 2}
    train_tiny(data, tmp_path / "whole", **settings)
    folder = shutil.copytree(tmp_path / "whole", tmp_path / "run")
    saved = load_checkpoint(folder / "last.pt")
    del saved["since_best"]
    torch.save(saved, folder / "last.pt")
    (folder / "cases.csv").unlink()
    train_tiny(data, folder, resume=True, **settings)
    assert_same_result(folder, tmp_path / "whole")
