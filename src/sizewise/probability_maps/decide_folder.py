"""From a folder of probabilities to a folder of label maps."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from sizewise.checks import check_word
from sizewise.data.label_volume import write_label_volume
from sizewise.data.pictures import write_label_picture
from sizewise.decisions.decide import decide
from sizewise.decisions.rule import METRICS
from sizewise.errors import BadInput, RunFailed
from sizewise.outside_names import case_file
from sizewise.probability_maps.fit_folder import fit_folder
from sizewise.probability_maps.probability_files import find_probabilities
from sizewise.probability_maps.read_probabilities import ProbabilityMap, check_background, read_probabilities
from sizewise.probability_maps.region_order import merged, region_values
from sizewise.progress import track
from sizewise.stats.inputs import ACTIVATIONS
from sizewise.wording import counted


def decide_folder(
    probabilities: Path,
    *,
    out: Path,
    metric: str = "dice",
    activation: str = "softmax",
    background: int | None = 0,
    temperature: float | None = None,
    fit: Path | None = None,
    fit_target: Path | None = None,
    ignore_index: int | None = None,
    device: str = "auto",
    log: Callable[[str], None] = print,
) -> list[Path]:
    """Decide every case of a folder, and write a label map of each; returns the files.

    Two axes of space come out as ``CASE.png``, three as ``CASE.nii.gz``; values are the numbers of the channels. With
    "sigmoid" and several channels there is a folder ``channel_N`` for each, with maps of 0 and 1; those of nnU-Net,
    whose ``dataset.json`` says which region lies on top, become one label map as nnU-Net's own.

    Args:
        probabilities: a folder; see ``probability_files`` for what it may hold.
        out: another folder; label maps of the same cases there are replaced.
        metric: "dice", "iou", "size" or "argmax"; see :func:`sizewise.decide`.
        activation: "softmax", or "sigmoid" where channels may overlap.
        background: the class that is not scored; None: all are.
        temperature: what fits the probabilities to reality; None: 1, or what ``fit`` finds.
        fit: a folder of probabilities of other cases, to fit the temperature on.
        fit_target: their true label maps.
        ignore_index: pixels of these that count for nothing.
        device: "auto", "cpu" or "cuda".
        log: takes lines for the screen.
    """
    _check_words(metric, activation, temperature, device)
    if (fit is None) != (fit_target is None):
        raise BadInput("`fit` and `fit_target` belong together: probabilities, and the true label maps of their cases.")
    if fit is not None and temperature is not None:
        raise BadInput("`fit` finds the temperature, so a `temperature` cannot be given too. Leave one of them out.")
    files = find_probabilities(probabilities, "probabilities")
    _check_out(out, [one for one in (probabilities, fit, fit_target) if one is not None])
    fitted_classes = 0
    if fit is not None and fit_target is not None:
        options = {"activation": activation, "background": background, "ignore_index": ignore_index}
        temperature, cases, fitted_classes = fit_folder(fit, fit_target, metric=metric, **options)  # type: ignore[arg-type]
        log(f"temperature {temperature:.4g}, fitted on {counted(cases, 'case')} of {fit}")
    on_gpu = device != "cpu" and torch.cuda.is_available()
    written: list[Path] = []
    classes = 0
    regions: tuple[int, ...] = ()
    for file in track(files, what="Deciding"):
        given = read_probabilities(file, activation=activation)
        if not classes:
            classes = len(given.values)
            if fitted_classes not in (0, classes):
                raise BadInput(
                    f"'{file.path}' has {classes} classes, and the probabilities of `fit` '{fit}' {fitted_classes}. "
                    "Wanted those of one model, for other cases."
                )
            if activation == "softmax":
                check_background(background, classes, file.path)
            regions = region_values(probabilities, classes) if activation == "sigmoid" else ()
        if len(given.values) != classes:
            raise BadInput(
                f"'{file.path}' has {len(given.values)} classes, and '{files[0].path.name}' {classes}. Wanted one "
                "model's probabilities in a folder."
            )
        if given.values.ndim == 4 and given.like is None:
            log(f"note: no NIfTI file lies beside '{file.path}': its label map has a spacing of 1 mm")
        values = torch.from_numpy(np.ascontiguousarray(given.values))[None]
        try:
            labels = decide(
                values.to("cuda") if on_gpu else values,
                metric=metric,
                activation=activation,
                given="probabilities",
                background=background,
                temperature=temperature or 1.0,
            )
        except ValueError as error:
            raise BadInput(f"'{file.path}': {error}") from error
        try:
            found = labels[0].cpu().numpy()
            written += _write(merged(found, regions) if regions else found, given, file.case, out)
        except OSError as error:
            reason = error.strerror or error
            raise RunFailed(f"'{out}' cannot be written: {reason}. Correct that, and decide again.") from error
    log(
        f"{counted(len(written), 'label map')} of {counted(len(files), 'case')}, decided for {metric} at temperature "
        f"{temperature or 1.0:.3g} → {out}"
    )
    return written


def read_background(word: str) -> int | None:
    """A class id, or ``none``.

    >>> read_background("none"), read_background("3")
    (None, 3)
    """
    text = word.strip().lower()
    if text != "none" and not text.isdecimal():
        raise BadInput(f"`background` must be none or a class id, got {word!r}.")
    return None if text == "none" else int(text)


def _check_words(metric: str, activation: str, temperature: float | None, device: str) -> None:
    words = {"metric": (metric, METRICS), "activation": (activation, ACTIVATIONS)}
    for name, (value, allowed) in (words | {"device": (device, ("auto", "cpu", "cuda"))}).items():
        try:
            check_word("decide", f"`{name}`", value, allowed)
        except ValueError as error:
            raise BadInput(str(error)) from error
    if temperature is not None and not 0 < temperature < math.inf:
        raise BadInput(f"`temperature` must be a number above 0, got {temperature:g}.")
    if device == "cuda" and not torch.cuda.is_available():
        raise BadInput("`device=cuda` was asked for, but torch finds no CUDA GPU here. Use `device=cpu`.")


def _check_out(out: Path, inputs: list[Path]) -> None:
    """What is read must not be overwritten: nnU-Net's own label maps have the names that ours would get."""
    if any(out.resolve() == one.resolve() for one in inputs):
        raise BadInput(f"`out` {out} is a folder that is read from. Name another: label maps in it would be replaced.")
    if out.exists() and not out.is_dir():
        raise BadInput(f"`out` {out} is a file; name a folder.")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"`out` {out} cannot be made: {error.strerror or error}. Name another folder.") from error


def _write(labels: np.ndarray, given: ProbabilityMap, case: str, out: Path) -> list[Path]:
    """One label map, or one for each channel that may overlap with others."""
    channels = labels.ndim == given.values.ndim
    maps = {out / f"channel_{number}": one for number, one in enumerate(labels, start=1)} if channels else {out: labels}
    if len(maps) == 1:
        maps = {out: next(iter(maps.values()))}
    dtype = np.uint8 if labels.max(initial=0) < 256 else np.uint16
    return [
        write_label_picture(one.astype(dtype), case_file(folder, case, ".png"))
        if given.is_picture
        else write_label_volume(one.astype(dtype), case_file(folder, case, ".nii.gz"), like=given.like)
        for folder, one in maps.items()
    ]
