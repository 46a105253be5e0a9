"""docs/nnunet.md: its names exist, its code runs."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

from nnunet_trainers import build

from sizewise.integrations.nnunet.names import read_name
from sizewise.integrations.nnunet.settings import SETTINGS, Settings, variable

PAGE = (Path(__file__).parents[2] / "docs" / "nnunet.md").read_text()
AMOS, CUSTOM = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def test_every_trainer_on_the_page_is_one():
    names = set(re.findall(r"nnUNetTrainer[A-Z][A-Za-z0-9.]*(?:_[a-z][a-z0-9.-]*)*", PAGE)) - {"nnUNetTrainerTversky"}
    assert len(names) >= 8
    for name in names:
        assert read_name(name.rstrip(".")) is not None, name


def test_the_table_of_settings_is_complete():
    rows = re.findall(r"^\| `(SIZEWISE_NNUNET_\w+)` .* `_([^`]*)` \|$", PAGE, flags=re.MULTILINE)
    assert [name for name, _ in rows] == [variable(name) for name in SETTINGS]
    for (_, example), (word, _) in zip(rows, SETTINGS.values(), strict=True):
        assert example.startswith(word)
    assert set(re.findall(r"SIZEWISE_NNUNET_[A-Z_]+", PAGE)) == {name for name, _ in rows}


def test_the_trainer_of_another_loss(tmp_path, monkeypatch):
    monkeypatch.setenv("nnUNet_results", str(tmp_path))
    space = {}
    exec(CUSTOM, space)
    trainer = build("", trainer=space["nnUNetTrainerTversky"])
    assert trainer.settings == Settings(epochs=250)
    assert trainer.num_epochs == 250
    assert "Tversky(alpha=0.3, beta=0.7, classes='foreground')" in repr(trainer._build_loss())


def test_the_split_of_amos(tmp_path, monkeypatch):
    """MRI cases, numbered above 500, are not converted for task 1."""
    cases = {"training": ["amos_0001", "amos_0507"], "validation": ["amos_0008", "amos_0600"]}
    folder = "Dataset218_AMOS2022_postChallenge_task1"
    (tmp_path / "amos22").mkdir()
    listed = {part: [{"image": f"./imagesTr/{case}.nii.gz"} for case in names] for part, names in cases.items()}
    (tmp_path / "amos22" / "dataset.json").write_text(json.dumps(listed))
    (tmp_path / "raw" / folder / "labelsTr").mkdir(parents=True)
    for case in ("amos_0001", "amos_0008"):
        (tmp_path / "raw" / folder / "labelsTr" / f"{case}.nii.gz").touch()
    (tmp_path / "preprocessed" / folder).mkdir(parents=True)
    for name in ("raw", "preprocessed"):
        monkeypatch.setenv(f"nnUNet_{name}", str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    exec(AMOS, {})
    written = json.loads((tmp_path / "preprocessed" / folder / "splits_final.json").read_text())
    assert written == [{"train": ["amos_0001"], "val": ["amos_0008"]}]


def test_the_converters_exist():
    for module in re.findall(r"python -m (\S+)", PAGE):
        spec = find_spec(module)
        assert spec is not None, module
