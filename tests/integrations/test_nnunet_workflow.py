"""nnU-Net's own commands with our trainers, from raw data to predictions, on six volumes of 32³ voxels."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import nibabel
import numpy as np
import pytest
import torch
from sampling import EXHAUSTIVE
from tiny_nnunet import SIDE, commands_of, run, write_dataset

import sizewise as sw
from sizewise.integrations.nnunet import trainer_names

pytest.importorskip("nnunetv2", reason="nnunetv2 is not installed: pip install '.[nnunet]'")

SCRIPT = Path(__file__).parents[2] / "examples" / "nnunet.sh"
SHORT = {
    "SIZEWISE_NNUNET_EPOCHS": "1",
    "SIZEWISE_NNUNET_ITERATIONS": "2",
    "SIZEWISE_NNUNET_VALIDATION_ITERATIONS": "1",
}
SUFFIX = "_epochs1_iterations2_validations1"
SOFTMAX, REGIONS = 901, 902
TRAINED = f"nnUNetTrainerRCE_weight0.5{SUFFIX}"
TRAINED_ON_REGIONS = f"nnUNetTrainerRCEKL{SUFFIX}"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """The example's commands on labels, and the same on regions with a name that says all; in one process."""
    root = tmp_path_factory.mktemp("nnunet")
    raw = [write_dataset(root / "raw", number, regions=number == REGIONS) for number in (SOFTMAX, REGIONS)]
    noted = commands_of(SCRIPT, root, SOFTMAX, "cpu", **SHORT)
    *commands, evaluate = [entry["words"] for entry in noted]
    assert [words[0] for words in commands] == ["nnUNetv2_plan_and_preprocess", "nnUNetv2_train", "nnUNetv2_predict"]
    assert evaluate[:2] == ["sizewise", "evaluate"]
    lines = []
    for folder, number in zip(raw, (SOFTMAX, REGIONS), strict=True):
        plan, train, predict = ([for_dataset(word, number) for word in words] for words in commands)
        if number == REGIONS:
            train[train.index("-tr") + 1] = predict[predict.index("-tr") + 1] = TRAINED_ON_REGIONS
        train += ["--npz"]  # the probabilities of the validation, to decide from
        small = ["make_network_small", root / "preprocessed" / folder.name / "nnUNetPlans.json"]
        lines += [[*plan, *FEW], small, train, [*predict, "--disable_tta", "-npp", 1, "-nps", 1]]
    assert noted[1]["variables"]["SIZEWISE_VALIDATION_DECISION"] == "dice"
    (root / "said.txt").write_text(run(root, *lines, **noted[1]["variables"]))
    (root / "evaluate.json").write_text(json.dumps(evaluate))
    return root


FEW = ["-npfp", 1, "-np", 1]  # processes


def for_dataset(word: str, number: int) -> str:
    return str(number) if word == str(SOFTMAX) else word.replace(f"Dataset{SOFTMAX}_", f"Dataset{number}_")


def model(root: Path, number: int, trainer: str) -> Path:
    return root / "results" / f"Dataset{number}_Balls" / f"{trainer}__nnUNetPlans__3d_fullres"


def test_from_raw_data_to_scores(root, tmp_path):
    """One test, so that two workers never both train."""
    check_folder_and_record(root)
    check_log(root)
    check_validated_and_predicted(root, SOFTMAX, TRAINED)
    check_validated_and_predicted(root, REGIONS, TRAINED_ON_REGIONS)
    check_regions(root)
    check_decided(root, SOFTMAX, TRAINED)
    check_decided(root, REGIONS, TRAINED_ON_REGIONS)
    check_scores_of_validation(root, tmp_path)
    check_scores_of_test_images(root)


def check_folder_and_record(root):
    """Both tell the settings."""
    record = json.loads((model(root, SOFTMAX, TRAINED) / "sizewise.json").read_text())
    assert record["trainer"] == TRAINED
    assert record["loss"] == "Loss(CrossEntropy() + 0.5 * SizeL1())"
    assert record["settings"] == {
        "weight": 0.5,
        "temperature": 10.0,
        "class_reduction": "mean",
        "scope": "from the plans",
        "epochs": 1,
        "iterations": 2,
        "validation_iterations": 1,
    }
    assert set(record["versions"]) == {"sizewise", "nnunetv2", "torch"}
    folders = model(root, SOFTMAX, TRAINED).parent.glob("*__*")
    assert f"{TRAINED}__nnUNetPlans__3d_fullres" in [folder.name for folder in folders]
    assert not model(root, SOFTMAX, "nnUNetTrainerRCE").exists()


def check_log(root):
    """It says what was trained."""
    log = next((model(root, SOFTMAX, TRAINED) / "fold_0").glob("training_log_*.txt")).read_text()
    assert f"sizewise: {TRAINED} trains with" in log
    assert "Loss(CrossEntropy() + 0.5 * SizeL1())" in log
    assert f"nnUNetTrainerRCE is {TRAINED}" in (root / "said.txt").read_text()
    means = {line.split()[-2]: float(line.split()[-1]) for line in log.splitlines() if ": train " in line}
    assert set(means) == {"CrossEntropy", "SizeL1"}
    loss = next(float(line.split()[-1]) for line in log.splitlines() if "train_loss" in line)
    # the loss is a mean over levels, the terms are of the full resolution: near each other, not equal
    assert means["CrossEntropy"] + 0.5 * means["SizeL1"] == pytest.approx(loss, rel=0.5)


def check_validated_and_predicted(root, number, trainer):
    """Two iterations teach nothing; what counts is that every command finds the trainer and writes its files."""
    fold = model(root, number, trainer) / "fold_0"
    summary = json.loads((fold / "validation" / "summary.json").read_text())
    assert len(summary["metric_per_case"]) == 2  # of 6 cases, 4 were trained on
    assert 0 <= summary["foreground_mean"]["Dice"] <= 1
    assert (fold / "checkpoint_final.pth").exists()
    predicted = nibabel.load(model(root, number, trainer).parent / f"{TRAINED}-predicted" / "ball_99.nii.gz")
    assert predicted.shape == (SIDE,) * 3
    assert set(np.unique(np.asarray(predicted.dataobj))) <= {0, 1, 2}


def check_regions(root):
    """Trained as sigmoid, without the ignored pixels."""
    log = next((model(root, REGIONS, TRAINED_ON_REGIONS) / "fold_0").glob("training_log_*.txt")).read_text()
    assert "Loss(CrossEntropy() + 0.1 * SizeKL(), activation='sigmoid')" in log
    assert "nan" not in [line.split()[-1] for line in log.splitlines() if "train_loss" in line or "val_loss" in line]


def check_decided(root, number, trainer):
    """The second validation: the same probabilities, decided for Dice, with scores of their own."""
    fold = model(root, number, trainer) / "fold_0"
    decided = fold / "decided_dice" / "validation"
    assert len(json.loads((decided / "summary.json").read_text())["metric_per_case"]) == 2
    for path in (fold / "validation").glob("*.npz"):
        p = torch.from_numpy(np.load(path)["probabilities"])[None]
        if number == REGIONS:
            whole, core = sw.decide(p, given="probabilities", activation="sigmoid")[0]
            wanted = torch.where(core, 2, whole.long())
        else:
            wanted = sw.decide(p, given="probabilities")[0]
        # nnU-Net's arrays are (z, y, x)
        found = np.asarray(nibabel.load(decided / f"{path.stem}.nii.gz").dataobj).transpose()
        assert np.mean(found == wanted.numpy()) > 0.999
    assert len(list((fold / "validation").glob("*.npz"))) == 2
    log = next(fold.glob("training_log_*.txt")).read_text()
    assert f"sizewise: the same model, decided for dice, in {fold / 'decided_dice'}" in log
    assert log.count("Validation complete") == 2


def check_scores_of_validation(root, tmp_path):
    """``sizewise evaluate`` on nnU-Net's folders finds the Dice scores that nnU-Net found."""
    validation = model(root, SOFTMAX, TRAINED) / "fold_0" / "validation"
    truth = root / "preprocessed" / f"Dataset{SOFTMAX}_Balls" / "gt_segmentations"
    # of all cases, a fold validates its own
    command = [
        "evaluate",
        "--pred",
        validation,
        "--target",
        truth,
        "--cases",
        "predicted",
        "--out",
        tmp_path,
        "--jobs",
        "1",
    ]
    done = subprocess.run([sys.executable, "-m", "sizewise.cli.main", *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "cases.csv").open() as file:
        ours = {
            (row["case"], row["class"]): float(row["value"]) for row in csv.DictReader(file) if row["metric"] == "dsc"
        }
    summary = json.loads((validation / "summary.json").read_text())
    theirs = {
        (Path(case["prediction_file"]).name.removesuffix(".nii.gz"), label): scores["Dice"]
        for case in summary["metric_per_case"]
        for label, scores in case["metrics"].items()
    }
    assert len(theirs) == 4  # two cases, two classes
    assert ours == pytest.approx(theirs)
    check_report(root, tmp_path)


def check_report(root, tmp_path):
    """``sizewise report`` on the folder that nnU-Net predicted into."""
    predicted = model(root, SOFTMAX, TRAINED).parent / f"{TRAINED}-predicted"
    truth = root / "raw" / f"Dataset{SOFTMAX}_Balls" / "labelsTs"
    command = [
        "report",
        "--pred",
        f"nnunet={predicted}",
        "--target",
        truth,
        "--out",
        tmp_path / "report",
        "--jobs",
        "1",
    ]
    done = subprocess.run([sys.executable, "-m", "sizewise.cli.main", *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "nnunet" in (tmp_path / "report" / "report.md").read_text()


def check_scores_of_test_images(root):
    """The example's last command."""
    _, *words = json.loads((root / "evaluate.json").read_text())
    done = subprocess.run(
        [sys.executable, "-m", "sizewise.cli.main", *words, "--jobs", "1"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    cases = Path(words[words.index("--out") + 1]) / "cases.csv"
    with cases.open() as file:
        rows = [row for row in csv.DictReader(file) if row["case"] == "ball_99"]
    assert {row["metric"] for row in rows} >= {"dsc", "nsd", "size_error"}


@pytest.mark.exhaustive
@pytest.mark.skipif(not EXHAUSTIVE, reason="SIZEWISE_EXHAUSTIVE=1 trains with every loss")
def test_every_trainer_trains(root):
    """Each loss in 3D, and the regions in 2D, where the plans say batch_dice."""
    trainers = [f"{trainer}{SUFFIX}" for trainer in trainer_names() if trainer != "nnUNetTrainerRCE"]
    train = ["nnUNetv2_train", SOFTMAX, "3d_fullres", 0, "-device", "cpu", "-tr"]
    said = run(
        root,
        *([*train, trainer] for trainer in trainers),
        ["nnUNetv2_preprocess", "-d", REGIONS, "-c", "2d", "-np", 1],
        ["nnUNetv2_train", REGIONS, "2d", 0, "-device", "cpu", "-tr", f"nnUNetTrainerDBCE{SUFFIX}"],
    )
    assert said.count("Validation complete") == len(trainers) + 1
    assert said.count("train_loss") == len(trainers) + 1
    assert "nan" not in [line.split()[-1] for line in said.splitlines() if "_loss" in line]
    assert "DiceBias(scope='batch'), activation='sigmoid'" in said
