"""A tiny 3D data set in nnU-Net's raw layout, and its commands in a process of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import nibabel
import numpy as np

import sizewise

COMMANDS = Path(__file__).parent / "nnunet_commands.py"
SIDE = 32
LABELS = {"background": 0, "body": 1, "core": 2}
REGIONS = {"background": 0, "whole": [1, 2], "core": 2, "ignore": 3}  # overlapping, and pixels without a label


def write_dataset(raw: Path, number: int, *, regions: bool = False, cases: int = 6) -> Path:
    """Balls with a core, in noise; with ``regions``, a slab of label 3 (ignore)."""
    folder = raw / f"Dataset{number:03d}_Balls"
    draw = np.random.default_rng(number)
    grid = np.indices((SIDE,) * 3)
    for name in ("imagesTr", "labelsTr", "imagesTs", "labelsTs"):
        (folder / name).mkdir(parents=True)
    for case in range(cases):
        centre = draw.uniform(12, 20, size=(3, 1, 1, 1))
        distance = np.sqrt(((grid - centre) ** 2).sum(0))
        labels = (distance < 9).astype(np.uint8) + (distance < 4)
        image = labels + draw.normal(0, 0.3, labels.shape)
        if regions:
            labels[:, :, :4] = 3
        save(folder / "imagesTr" / f"ball_{case:02d}_0000.nii.gz", image.astype(np.float32))
        save(folder / "labelsTr" / f"ball_{case:02d}.nii.gz", labels)
    save(folder / "imagesTs" / "ball_99_0000.nii.gz", image.astype(np.float32))
    save(folder / "labelsTs" / "ball_99.nii.gz", labels)
    description = {
        "channel_names": {"0": "CT"},
        "labels": REGIONS if regions else LABELS,
        "numTraining": cases,
        "file_ending": ".nii.gz",
    }
    if regions:
        description["regions_class_order"] = [1, 2]
    (folder / "dataset.json").write_text(json.dumps(description))
    return folder


def save(path: Path, values: np.ndarray) -> None:
    nibabel.save(nibabel.Nifti1Image(values, np.diag([1.0, 1.0, 1.0, 1.0])), path)


def environment(root: Path, **more: str) -> dict[str, str]:
    """The process's environment without settings of ours, with nnU-Net's folders under ``root``."""
    from sizewise.integrations.nnunet import trainer_folder

    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SIZEWISE_", "nnUNet_"))}
    folders = {f"nnUNet_{name}": str(root / name) for name in ("raw", "preprocessed", "results")}
    few = {"nnUNet_n_proc_DA": "1", "nnUNet_def_n_proc": "1", "nnUNet_compile": "f", "OMP_NUM_THREADS": "1"}
    paths = (COMMANDS.parent, Path(sizewise.__file__).parents[1], *filter(None, [os.environ.get("PYTHONPATH")]))
    few["PYTHONPATH"] = os.pathsep.join(map(str, paths))  # the sources tested here come first
    return kept | folders | few | {"nnUNet_extTrainer": str(trainer_folder())} | more


def commands_of(script: Path, root: Path, *words: object, **more: str) -> list[dict]:
    """The nnU-Net and ``sizewise`` commands that a shell script would run, each with its words and our variables.

    The script runs with stand-ins that note down what they were called with; ``sizewise nnunet`` answers for real.
    """
    stand_ins, notes = root / "bin", root / "notes.jsonl"
    stand_ins.mkdir()
    code = STAND_IN.format(python=sys.executable, notes=str(notes))
    for name in ("nnUNetv2_plan_and_preprocess", "nnUNetv2_train", "nnUNetv2_predict", "sizewise"):
        (stand_ins / name).write_text(code)
        (stand_ins / name).chmod(0o755)
    variables = environment(root, **more)
    variables |= {"PATH": f"{stand_ins}{os.pathsep}{variables['PATH']}", "nnUNet_extTrainer": ""}
    subprocess.run(["bash", script, *map(str, words)], env=variables, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in notes.read_text().splitlines()]


STAND_IN = """#!{python}
import json, os, sys
name = os.path.basename(sys.argv[0])
if name == "sizewise" and sys.argv[1] == "nnunet":
    from sizewise.cli.main import main
    main()
words = [name, *sys.argv[1:]]
ours = {{key: text for key, text in os.environ.items() if key.startswith(("SIZEWISE_", "nnUNet_ext"))}}
with open({notes!r}, "a") as file:
    print(json.dumps({{"words": words, "variables": ours}}), file=file)
"""


def run(root: Path, *lines: list, fails: bool = False, **more: str) -> str:
    """Run nnU-Net's commands; what they print."""
    done = subprocess.run(
        [sys.executable, COMMANDS, json.dumps([[str(word) for word in line] for line in lines])],
        env=environment(root, **more),
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert (done.returncode != 0) == fails, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout + done.stderr
