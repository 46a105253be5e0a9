"""nnU-Net's own commands with our trainers on this machine's GPU, from raw volumes to scores; compiled and not.

    PYTHONPATH=src python tests/integrations/gpu_nnunet_check.py [DEVICE [FOLDER [PART …]]]

A program rather than a test: `make test` has no GPU. Six volumes of 32³ voxels are planned once; then three trainings
run side by side, so their seconds are those of a shared machine: labels with and without `torch.compile`, and regions
with an ignore label. Each has deep supervision, mixed precision and loss scaling, as nnU-Net has them on a GPU, is
validated twice (argmax, and decided for Dice) and predicts a test image. Last, alone, the loss itself: its value and
gradient in half precision against float64, and its time beside nnU-Net's. Prints what was seen, and ends with 1 where
something failed. DEVICE may be `cpu` for a rehearsal, which shrinks the network and times nothing. What nnU-Net wrote
stays in FOLDER where one is given, which must be empty or new. PARTs are `compiled`, `plain`, `regions` and `loss`; all
of them where none is named.
"""

import json
import re
import sys
import tempfile
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

import nibabel
import numpy as np
import torch
from tiny_nnunet import run, write_dataset

import sizewise as sw
from sizewise.integrations.nnunet.reading import TrainerLoss

SOFTMAX, REGIONS = 901, 902
SUFFIX = "_epochs4_iterations50_validations4"
FEW = ["-npfp", 1, "-np", 1]  # processes
WEIGHTS = [8 / 15, 4 / 15, 2 / 15, 1 / 15, 0]  # of the levels, as nnU-Net has them


@dataclass(frozen=True)
class Training:
    """One training: its part and title here, its data set, its trainer, and nnU-Net's word for compiling."""

    part: str
    title: str
    number: int
    trainer: str
    compiles: str


TRAININGS = (
    Training("compiled", "labels, compiled", SOFTMAX, f"nnUNetTrainerRCE{SUFFIX}", "t"),
    Training("plain", "labels, not compiled", SOFTMAX, f"nnUNetTrainerRCE{SUFFIX}", "f"),
    Training("regions", "regions with an ignore label, not compiled", REGIONS, f"nnUNetTrainerDiceCE{SUFFIX}", "f"),
)


def plan(root: Path, device: str, numbers: set[int]) -> None:
    """These data sets, read with nibabel, which is the reader that every installation has."""
    lines: list[list] = []
    for number in sorted(numbers):
        folder = write_dataset(root / "raw", number, regions=number == REGIONS)
        description = json.loads((folder / "dataset.json").read_text())
        description["overwrite_image_reader_writer"] = "NibabelIO"
        (folder / "dataset.json").write_text(json.dumps(description))
        lines.append(["nnUNetv2_plan_and_preprocess", "-d", number, "-c", "3d_fullres", *FEW])
        if device == "cpu":
            lines.append(["make_network_small", root / "preprocessed" / folder.name / "nnUNetPlans.json"])
    run(root, *lines)


def train(root: Path, training: Training, device: str) -> str:
    """Train, validate and predict; what was seen, in words. Failures are AssertionErrors."""
    start = perf_counter()
    results = root / re.sub(r"\W+", "-", training.title)
    predicted = results / "predicted"
    name = f"Dataset{training.number}_Balls"
    chosen = [training.number, "3d_fullres", 0, "-tr", training.trainer, "-device", device]
    images = ["-i", root / "raw" / name / "imagesTs", "-o", predicted, "-d", training.number, "-c", "3d_fullres"]
    workers = ["-f", 0, "-tr", training.trainer, "-device", device, "-npp", 1, "-nps", 1]
    said = run(
        root,
        ["nnUNetv2_train", *chosen],
        ["nnUNetv2_predict", *images, *workers],
        nnUNet_results=str(results),
        nnUNet_compile=training.compiles,
        nnUNet_n_proc_DA="4",
        SIZEWISE_VALIDATION_DECISION="dice",
    )
    fold = results / name / f"{training.trainer}__nnUNetPlans__3d_fullres" / "fold_0"
    log = next(fold.glob("training_log_*.txt")).read_text()
    losses = [float(word) for word in re.findall(r"train_loss (\S+)", log)]
    assert np.isfinite(losses).all(), losses
    assert losses[-1] < losses[0], losses
    compiled = "Using torch.compile" in log
    assert compiled == (training.compiles == "t" and device != "cpu"), "torch.compile: not as asked"
    labels = np.asarray(nibabel.load(predicted / "ball_99.nii.gz").dataobj)
    truth = np.asarray(nibabel.load(root / "raw" / name / "labelsTs" / "ball_99.nii.gz").dataobj)
    dice = {label: dice_of(labels == label, truth == label, truth != 3) for label in (1, 2)}
    scores = {title: foreground_dice(fold / place) for title, place in VALIDATIONS.items()}
    lines = [
        f"{training.title}: {perf_counter() - start:.0f} s in all, "
        f"{', '.join(re.findall(r'nnUNetv2_.* took .* s', said))}",
        f"  train_loss {losses}",
        *(
            f"  {found}"
            for found in re.findall(r"(?:train [A-Z]\w+ .*|val_loss .*|Pseudo dice .*|Epoch time: .*)", log)
        ),
        f"  final validation, foreground Dice: {scores}",
        f"  test image predicted, Dice by label: {dice}",
    ]
    return "\n".join(lines)


VALIDATIONS = {"argmax": "validation", "decided for Dice": "decided_dice/validation"}


def foreground_dice(folder: Path) -> float:
    return round(json.loads((folder / "summary.json").read_text())["foreground_mean"]["Dice"], 4)


def dice_of(found: np.ndarray, wanted: np.ndarray, counted: np.ndarray) -> float:
    found, wanted = found & counted, wanted & counted
    return round(float(2 * (found & wanted).sum() / max(1, found.sum() + wanted.sum())), 4)


def levels(device: str, side: int, dtype: torch.dtype) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Logits and label maps as nnU-Net's training step has them: three classes, int16 targets of one channel."""
    draw = torch.Generator().manual_seed(0)
    sides = [side >> level for level in range(len(WEIGHTS))]
    logits = [2 * torch.randn(2, 3, s, s, s, generator=draw) for s in sides]
    labels = [torch.randint(0, 3, (2, 1, s, s, s), generator=draw).short() for s in sides]
    return [one.to(device, dtype).requires_grad_() for one in logits], [one.to(device) for one in labels]


def ours(name: str) -> TrainerLoss:
    return TrainerLoss(sw.Loss(sw.loss(name)), level_weights=WEIGHTS)


def step(criterion, logits, labels) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The loss, and the gradient of every level that counts, scaled as nnU-Net's GradScaler begins."""
    loss = criterion(logits, labels)
    return loss.detach(), list(torch.autograd.grad(loss * 2.0**16, logits[:-1]))


def check_loss(device: str) -> str:
    """In half precision under autocast as in training, against float64 on the CPU from the same logits."""
    criterion = ours("RCE")
    half, labels = levels(device, 32, torch.float16)
    exact = [one.detach().cpu().double().requires_grad_() for one in half]
    wanted, wanted_gradients = step(criterion, exact, [one.cpu() for one in labels])
    with torch.autocast(device, torch.float16, enabled=device == "cuda"):
        loss, gradients = step(criterion.to(device), half, labels)
    error = abs(float(loss) - float(wanted)) / float(wanted)
    pairs = list(zip(gradients, wanted_gradients, strict=True))
    errors = [float((got.cpu().double() - want).norm() / want.norm()) for got, want in pairs]
    assert error < 1e-3, f"loss {float(loss)} instead of {float(wanted)}"
    assert max(errors) < 2e-3, f"gradients by level are off by {errors}"
    return f"loss in float16 against float64: off by {error:.1e}, gradients of the levels by {max(errors):.1e}"


def time_loss() -> str:
    """Forward and backward of the loss alone on two patches of 128³, beside that of nnU-Net's own."""
    sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
    from device_time import median_us
    from nnunetv2.training.loss.compound_losses import DC_and_CE_loss
    from nnunetv2.training.loss.deep_supervision import DeepSupervisionWrapper
    from nnunetv2.training.loss.dice import MemoryEfficientSoftDiceLoss

    dice = {"batch_dice": False, "smooth": 1e-5, "do_bg": False, "ddp": False}
    theirs = DC_and_CE_loss(dice, {}, dice_class=MemoryEfficientSoftDiceLoss)
    candidates = {
        "nnU-Net's Dice + CE": DeepSupervisionWrapper(theirs, WEIGHTS),
        "RCE": ours("RCE"),
        "DiceCE": ours("DiceCE"),
    }
    logits, labels = levels("cuda", 128, torch.float16)
    parts = []
    for name, criterion in candidates.items():
        with torch.autocast("cuda", torch.float16):
            call = partial(step, criterion.cuda(), logits, labels)
            parts.append(f"{name} {median_us(call) / 1e3:.2f} ms, {peak_mib(call)} MiB")
    return "loss and gradient, 2×3×128³ in float16, five levels: " + "; ".join(parts)


def peak_mib(call) -> int:
    """What one call needs at its peak beyond what there was."""
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    return (torch.cuda.max_memory_allocated() - before) >> 20


def attempt(title: str, call, *arguments) -> bool:
    """Whether it went well; prints either what was seen or what went wrong."""
    try:
        print(call(*arguments), flush=True)
    except Exception:
        print(f"FAILED: {title}\n{traceback.format_exc()}", flush=True)
        return False
    return True


def main() -> None:
    if find_spec("nnunetv2") is None:
        print("nnunetv2 is not installed, so nothing was checked: pip install '.[nnunet]'")
        return
    given = dict(enumerate(sys.argv[1:]))
    device, folder, parts = given.get(0, "cuda"), given.get(1, ""), sys.argv[3:]
    trainings = [one for one in TRAININGS if one.part in parts or not parts]
    start, went = perf_counter(), []
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name() if device == 'cuda' else 'CPU'}", flush=True)
    with nullcontext(folder) if folder else tempfile.TemporaryDirectory() as root:
        if trainings:
            plan(Path(root), device, {one.number for one in trainings})
        print(f"planned after {perf_counter() - start:.0f} s", flush=True)
        with ThreadPoolExecutor(len(TRAININGS) if device == "cuda" else 1) as pool:
            went += pool.map(lambda one: attempt(one.title, train, Path(root), one, device), trainings)
    if "loss" in parts or not parts:
        went.append(attempt("loss", check_loss, device))
        if device == "cuda":
            went.append(attempt("time", time_loss))
    print(f"{'all went well' if all(went) else 'something FAILED'}, {perf_counter() - start:.0f} s")
    sys.exit(not all(went))


if __name__ == "__main__":
    main()
