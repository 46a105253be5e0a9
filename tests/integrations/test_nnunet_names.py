"""Trainer names and settings: read, written, refused, and found by nnU-Net's own search."""

import json
import os

import pytest
from nnunet_trainers import build
from torchvision_stub import import_peer

import sizewise as sw
from sizewise.errors import BadInput
from sizewise.integrations.nnunet import Settings, make_trainer, trainer_folder, trainer_names
from sizewise.integrations.nnunet.factory import find_trainer
from sizewise.integrations.nnunet.names import read_name
from sizewise.integrations.nnunet.record import keep_record
from sizewise.integrations.nnunet.settings import SETTINGS, default_settings, environment_settings, variable
from sizewise.losses import ALIASES

find_objects = import_peer("nnunetv2.utilities.find_objects", needs_torchvision=True)
Theirs = import_peer("nnunetv2.training.nnUNetTrainer.nnUNetTrainer", needs_torchvision=True).nnUNetTrainer
search = find_objects.recursive_find_trainer_class_by_name
OTHER = {
    "weight": 0.3,
    "temperature": 2.5,
    "gamma": 0.0,
    "smooth": 1e-5,
    "class_reduction": "sum",
    "scope": "image",
    "epochs": 7,
    "iterations": 3,
    "validation_iterations": 2,
}


@pytest.fixture(autouse=True)
def only_our_folder(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("SIZEWISE_NNUNET")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("nnUNet_extTrainer", str(trainer_folder()))
    monkeypatch.setenv("nnUNet_results", str(tmp_path))


def test_one_trainer_for_every_loss_and_alias():
    assert list(trainer_names().values()) == [*sw.loss_names(), *ALIASES]
    for name in ("RCE", "RFL", "DBCE", "LogDiceCE", "RCEKL"):
        assert f"nnUNetTrainer{name}" in trainer_names()


def test_nnunet_finds_each():
    for trainer, loss in trainer_names().items():
        found = search(trainer)
        assert issubclass(found, Theirs)
        assert found.__name__ == trainer
        assert repr(found.make_criterion("image")) == repr(sw.loss(loss))


def test_nnunet_has_no_trainer_of_that_name(monkeypatch):
    monkeypatch.setenv("nnUNet_extTrainer", "")
    for trainer in trainer_names():
        with pytest.raises(RuntimeError, match="Could not find"):
            search(trainer)


@pytest.mark.parametrize("loss", [*sw.loss_names(), *ALIASES])
def test_a_name_with_every_setting_is_read_as_it_was_written(loss):
    opening = f"nnUNetTrainer{loss.replace('-', '')}"
    takes = {*default_settings(loss), "scope"}
    given = {
        name: value for name, value in OTHER.items() if name in takes and value != default_settings(loss).get(name)
    }
    name = opening + Settings(**given).suffix
    assert read_name(name) == (loss, Settings(**given))
    found = search(name)
    assert found.__name__ == name
    criterion = found.make_criterion("image")
    assert repr(criterion) == repr(sw.loss(loss, **Settings(**given).loss_options()))


def test_the_environment_sets_and_the_name_tells(monkeypatch, capsys):
    for name, value in OTHER.items():
        if name not in ("gamma", "smooth"):
            monkeypatch.setenv(variable(name), str(value))
    found = search("nnUNetTrainerRCE")
    assert found.__name__ == (
        "nnUNetTrainerRCE_weight0.3_temperature2.5_reductionsum_scopeimage_epochs7_iterations3_validations2"
    )
    assert f"nnUNetTrainerRCE is {found.__name__}" in capsys.readouterr().out
    trainer = build("nnUNetTrainerRCE")
    assert (trainer.num_epochs, trainer.num_iterations_per_epoch, trainer.num_val_iterations_per_epoch) == (7, 3, 2)
    assert f"{found.__name__}__nnUNetPlans__2d" in trainer.output_folder
    criterion = trainer._build_loss().criterion.criterion
    assert float(criterion.weights["SizeL1"]) == 0.3
    assert (criterion.parts["SizeL1"].temperature, criterion.parts["SizeL1"].class_reduction) == (2.5, "sum")


def test_defaults_leave_the_name_alone(monkeypatch):
    for name, value in {"weight": "1", "temperature": "10.0", "class_reduction": "mean", "epochs": "1000"}.items():
        monkeypatch.setenv(variable(name), value)
    assert search("nnUNetTrainerRCE").__name__ == "nnUNetTrainerRCE"


def test_nothing_set_is_nnunet_as_it_is():
    trainer = build("nnUNetTrainerRCE")
    theirs = build("", trainer=Theirs)
    for name in ("num_epochs", "num_iterations_per_epoch", "num_val_iterations_per_epoch"):
        assert getattr(trainer, name) == getattr(theirs, name) == {**default_settings("RCE")}[FIELD[name]]


FIELD = {
    "num_epochs": "epochs",
    "num_iterations_per_epoch": "iterations",
    "num_val_iterations_per_epoch": "validation_iterations",
}


def test_a_full_name_means_the_same_in_every_environment(monkeypatch, capsys):
    name = "nnUNetTrainerRCE_weight0.25"
    before = search(name)
    monkeypatch.setenv("SIZEWISE_NNUNET_WEIGHT", "0.75")
    after = search(name)
    assert before.__name__ == after.__name__ == name
    assert after.settings == Settings(weight=0.25)
    assert "variables are not used" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("WEIGHT", "-1", r"SIZEWISE_NNUNET_WEIGHT: weight must be a number >= 0, got -1\.0"),
        ("WEIGHT", "much", r"SIZEWISE_NNUNET_WEIGHT: weight must be a number >= 0, got 'much'"),
        ("WEIGHT", "nan", r"weight must be a number >= 0, got nan"),
        ("TEMPERATURE", "0", r"nnUNetTrainerRCE: .*temperature must be a number > 0"),
        ("EPOCHS", "1.5", r"SIZEWISE_NNUNET_EPOCHS: epochs must be a whole number >= 1, got '1\.5'"),
        ("ITERATIONS", "0", r"iterations must be a whole number >= 1, got '0'"),
        ("SCOPE", "bach", r"SIZEWISE_NNUNET_SCOPE: scope must be one of .* Did you mean 'batch'\?"),
        ("CLASS_REDUCTION", "max", r"class_reduction must be one of 'sum', 'mean'|class_reduction must be one of"),
        ("GAMMA", "2.5", r"nnUNetTrainerRCE: loss 'RCE': no term of it has the option 'gamma'"),
        ("LAMBDA", "1", r"SIZEWISE_NNUNET_LAMBDA is not a setting .*SIZEWISE_NNUNET_WEIGHT"),
    ],
)
def test_bad_settings_are_an_error_in_nnunets_search(monkeypatch, name, text, sentence):
    monkeypatch.setenv(f"SIZEWISE_NNUNET_{name}", text)
    with pytest.raises(ValueError, match=sentence):
        search("nnUNetTrainerRCE")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nnUNetTrainerRCE_weight-1", "weight must be a number >= 0"),
        ("nnUNetTrainerRCE_weight", "weight must be a number >= 0, got ''"),
        ("nnUNetTrainerRCE_weight0.50", "this trainer is called nnUNetTrainerRCE_weight0.5"),
        ("nnUNetTrainerRCE_weight1", r"is called nnUNetTrainerRCE\."),
        ("nnUNetTrainerRCE_epochs5_weight2", "is called nnUNetTrainerRCE_weight2_epochs5"),
        ("nnUNetTrainerCE_weight2", "weight is λ, which weighs a second term"),
    ],
)
def test_bad_names_are_an_error_in_nnunets_search(name, sentence):
    with pytest.raises(ValueError, match=sentence):
        search(name)


def test_an_unknown_loss_is_nnunets_own_error_with_a_hint(capsys):
    with pytest.raises(RuntimeError, match="Could not find requested nnunet trainer nnUNetTrainerRCEkl"):
        search("nnUNetTrainerRCEkl")
    assert "Did you mean 'nnUNetTrainerRCEKL'?" in capsys.readouterr().out


def test_empty_variables_are_not_set():
    assert environment_settings({variable(name): " " for name in SETTINGS}) == Settings()


def test_trainers_of_others_are_found_beside_ours(tmp_path, monkeypatch):
    """A name that begins like ours, in another folder; and one made by the factory, of terms and on a base at choice."""
    (tmp_path / "mine.py").write_text(
        "import sizewise as sw\n"
        "from nnunetv2.training.nnUNetTrainer.nnUNetTrainer import nnUNetTrainer\n"
        "from sizewise.integrations.nnunet import Settings, make_trainer\n"
        "class nnUNetTrainerCE_mine(nnUNetTrainer): pass\n"
        "class Short(nnUNetTrainer):\n"
        "    def __init__(self, plans, configuration, fold, dataset_json, device=None):\n"
        "        super().__init__(plans, configuration, fold, dataset_json, device)\n"
        "        self.num_epochs, self.num_iterations_per_epoch = 9, 4\n"
        "nnUNetTrainerMine = make_trainer('nnUNetTrainerMine', lambda scope: sw.CrossEntropy() + 2 * \n"
        "    sw.Dice(scope=scope, classes='foreground'), settings=Settings(iterations=5), base=Short)\n"
    )
    monkeypatch.setenv("nnUNet_extTrainer", os.pathsep.join([str(trainer_folder()), str(tmp_path)]))
    assert search("nnUNetTrainerCE_mine").__mro__[1] is Theirs
    trainer = build("", trainer=search("nnUNetTrainerMine"), batch_dice=True)
    assert (trainer.num_epochs, trainer.num_iterations_per_epoch) == (9, 5)
    formula = trainer._build_loss().criterion.criterion.formula
    assert formula == "CrossEntropy() + 2 * Dice(scope='batch', classes='foreground')"


def test_settings_of_the_loss_do_not_go_to_the_factory():
    with pytest.raises(BadInput, match="weight must be set in the criterion"):
        make_trainer("nnUNetTrainerMine", lambda scope: sw.Dice(scope=scope), settings=Settings(weight=1.0))


def test_a_folder_with_other_settings_is_refused(tmp_path, monkeypatch):
    """The names are equal when a default changes between two versions; the record still differs."""
    record = build("nnUNetTrainerDiceCE").record()
    assert record["settings"]["weight"] == 0.1
    keep_record(tmp_path, record)
    keep_record(tmp_path, record | {"versions": {"sizewise": "9"}})  # another fold, a newer version
    changed = record | {"settings": record["settings"] | {"weight": 1.0}}
    with pytest.raises(RuntimeError, match=r"other settings: settings was .*0\.1.* is now .*1\.0.*wrote it \(9\)"):
        keep_record(tmp_path, changed)
    assert json.loads((tmp_path / "sizewise.json").read_text())["settings"]["weight"] == 0.1
    (tmp_path / "sizewise.json").write_text("{")
    with pytest.raises(RuntimeError, match="cannot be read"):
        keep_record(tmp_path, record)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["sizewise.json"]


def test_training_stops_before_it_writes_into_a_folder_of_other_settings(monkeypatch):
    trainer = build("nnUNetTrainerRCE")
    keep_record(trainer_path(trainer), trainer.record() | {"loss": "another"})
    monkeypatch.setattr(Theirs, "on_train_start", lambda self: pytest.fail("training began"))
    with pytest.raises(RuntimeError, match="other settings"):
        trainer.on_train_start()


def trainer_path(trainer):
    from pathlib import Path

    return Path(trainer.output_folder_base)


def test_other_attributes_of_the_module_are_missing_as_usual():
    assert find_trainer("pytest_plugins") is None
    assert find_trainer("nnUNetTrainerDA5") is None
