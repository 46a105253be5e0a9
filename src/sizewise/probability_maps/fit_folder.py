"""The temperature for decisions on saved probabilities, from true label maps of other cases."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from sizewise.data.file_names import is_jpeg, is_picture, is_volume, stem
from sizewise.data.label_rule import LabelRule
from sizewise.data.pictures import read_label_picture
from sizewise.data.target_names import pair_targets
from sizewise.data.volumes import read_volume, whole_numbers
from sizewise.decisions.fit import fit_decision
from sizewise.decisions.pixel_sample import pixel_step, thinned
from sizewise.decisions.rule import RATIOS
from sizewise.errors import BadInput
from sizewise.probability_maps.probability_files import ProbabilityFile, find_probabilities
from sizewise.probability_maps.read_probabilities import check_background, read_probabilities
from sizewise.progress import track
from sizewise.wording import counted

TINY = 1e-7  # a probability that was rounded to 0 or 1 is taken as this far from it
WHITE = 255
IGNORED = -1


def fit_folder(
    probabilities: Path,
    targets: Path,
    *,
    metric: str,
    activation: str = "softmax",
    background: int | None = 0,
    ignore_index: int | None = None,
) -> tuple[float, int, int]:
    """The temperature, how many cases it was fitted on, and how many classes these have.

    Args:
        probabilities: a folder; see ``probability_files``.
        targets: true label maps with the same names: pictures or NIfTI with class ids, or 0 and 255 for two classes.
        metric: what is decided for. Dice and IoU take the temperature whose decisions score best on these cases, others
            that which makes the probabilities fit.
        background: the class that is not scored; None: all are.
        activation: of the probabilities. With "sigmoid" one channel can be fitted, on maps of 0 and 1.
        ignore_index: target pixels that count for nothing.
    """
    pairs = matched_targets(find_probabilities(probabilities, "fit"), targets, "fit_target")
    batches: list[tuple[Tensor, Tensor]] = []
    step = channels = 0
    for file, path in track(pairs, what="Fitting"):
        values = read_probabilities(file, activation=activation).values
        channels = channels or len(values)
        if len(values) != channels:
            raise BadInput(
                f"`fit`: '{file.path}' has {len(values)} classes, and '{pairs[0][0].path.name}' {channels}. Wanted one "
                "model's probabilities in a folder."
            )
        if activation == "sigmoid" and len(values) > 1:
            raise BadInput(
                f"`fit`: '{file.path}' has {len(values)} channels that may overlap, which one label map cannot hold. "
                "Fit each channel by itself, or give a `temperature`."
            )
        classes = 2 if activation == "sigmoid" else len(values)
        if activation == "softmax":
            check_background(background, classes, file.path)
        target = read_target(path, values.shape[1:], classes=classes, ignore_index=ignore_index)
        step = step or pixel_step(values.size * len(pairs))  # cases of a data set are of about one size
        batches.append(fitting_batch(values, target, activation=activation, step=step))
    if not any((labels != IGNORED).any() for _, labels in batches):
        raise BadInput(f"`fit_target` '{targets}': every pixel is ignored, so there is nothing to fit on.")
    by = "score" if metric in RATIOS else "likelihood"
    fitted = fit_decision(batches, metric, activation=activation, background=background, ignore_index=IGNORED, by=by)
    return float(fitted.temperature), len(pairs), channels


def fitting_batch(values: np.ndarray, target: np.ndarray, *, activation: str, step: int) -> tuple[Tensor, Tensor]:
    """Logits and labels of every ``step``-th pixel of a case, from its probabilities (K, *S), for ``fit_decision``.

    >>> half = np.full((2, 4), 0.5, dtype=np.float32)
    >>> logits, labels = fitting_batch(half, np.zeros(4, dtype=np.int64), activation="softmax", step=3)
    >>> logits.shape, labels.shape
    (torch.Size([1, 2, 2]), torch.Size([1, 2]))
    """
    thin, labels = thinned(torch.from_numpy(values), torch.from_numpy(target), step=step)
    if activation == "sigmoid":
        return torch.logit(thin.float(), TINY), labels[:, None]
    return thin.float().clamp_min(TINY).log(), labels  # a softmax of log p at temperature 1 is p


def matched_targets(files: list[ProbabilityFile], targets: Path, argument: str) -> list[tuple[ProbabilityFile, Path]]:
    """Each case with its true label map; ``argument`` is what the caller calls the folder of these."""
    if not targets.is_dir():
        raise BadInput(f"`{argument}` '{targets}' is no folder. Wanted one with a true label map for each case.")
    by_name = {stem(path): path for path in sorted(targets.iterdir()) if is_picture(path) or is_volume(path)}
    partners = pair_targets([file.case for file in files], by_name, targets)
    missing = [file.case for file in files if file.case not in partners]
    if missing:
        raise BadInput(
            f"`{argument}` '{targets}' has no label map for {counted(len(missing), 'case')}, such as "
            f"'{missing[0]}'. Wanted pictures or NIfTI with the names of the probabilities."
        )
    return [(file, by_name[partners[file.case]]) for file in files]


def read_target(path: Path, shape: tuple[int, ...], *, classes: int, ignore_index: int | None) -> np.ndarray:
    """A true label map as (*S) int64, with ``IGNORED`` where a pixel does not count."""
    if is_volume(path):
        labels = whole_numbers(read_volume(path)[0], path)
    else:  # JPEG is only near the black and white that was saved
        labels = LabelRule("binary", 2).read(path) if is_jpeg(path) else read_label_picture(path)
    if labels.size != np.prod(shape) or labels.shape[: len(shape)] != shape[: labels.ndim]:
        raise BadInput(f"'{path}' has size {labels.shape}, and its probabilities {shape}. Wanted the same.")
    labels = labels.reshape(shape).astype(np.int64)
    ignored = np.zeros(shape, dtype=bool) if ignore_index is None else labels == ignore_index
    values = _distinct(labels[~ignored])
    if classes == 2 and WHITE in values and values <= {0, WHITE}:
        labels, values = (labels == WHITE).astype(np.int64), {0, 1}
    if strange := sorted(values - set(range(classes))):
        raise BadInput(
            f"'{path}' holds the label {strange[0]}, and the probabilities are of classes 0 to {classes - 1}. If it "
            f"marks pixels to leave out, say `ignore_index={strange[0]}`."
        )
    return np.where(ignored, IGNORED, labels)


def _distinct(values: Iterable[int] | np.ndarray) -> set[int]:
    return set(np.unique(np.asarray(values)).tolist())
