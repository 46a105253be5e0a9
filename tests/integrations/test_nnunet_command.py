"""``sizewise nnunet`` as users run it."""

import os
import subprocess
import sys

import pytest

from sizewise.integrations.nnunet import trainer_folder, trainer_names
from sizewise.integrations.nnunet.settings import SETTINGS

pytest.importorskip("nnunetv2", reason="nnunetv2 is not installed: pip install '.[nnunet]'")


def sizewise(*words, **variables):
    kept = {key: text for key, text in os.environ.items() if not key.startswith(("SIZEWISE_", "nnUNet_"))}
    return subprocess.run(
        [sys.executable, "-m", "sizewise.cli.main", "nnunet", *words],
        env=kept | variables,
        capture_output=True,
        text=True,
    )


def test_prints_the_line_and_lists_trainers_and_settings():
    done = sizewise(SIZEWISE_NNUNET_WEIGHT="0.125", nnUNet_extTrainer="/mine")
    assert done.returncode == 0, done.stderr
    assert f"export nnUNet_extTrainer=/mine{os.pathsep}{trainer_folder()}" in done.stdout.splitlines()
    for trainer in trainer_names():
        assert trainer in done.stdout
    for name in ("WEIGHT", "TEMPERATURE", "EPOCHS"):
        assert name in done.stdout
        assert name.lower() in SETTINGS
    assert "CrossEntropy() + 0.1 * SizeKL()" in done.stdout
    assert "0.125" in done.stdout


def test_prints_the_folder_alone_for_scripts():
    assert sizewise("--path").stdout == f"{trainer_folder()}\n"
    assert [path.name for path in trainer_folder().glob("*.py")] == ["sizewise_trainers.py"]


def test_a_bad_setting_is_a_sentence():
    done = sizewise(SIZEWISE_NNUNET_EPOCHS="many")
    assert done.returncode == 2
    assert done.stderr == "sizewise: SIZEWISE_NNUNET_EPOCHS: epochs must be a whole number >= 1, got 'many'.\n"


def test_without_nnunet_it_says_what_to_install():
    code = "import sys; sys.modules['nnunetv2'] = None; sys.argv[1:] = ['nnunet']; from sizewise.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install 'sizewise[nnunet]'" in done.stderr
    assert "Traceback" not in done.stderr
