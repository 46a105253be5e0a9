"""Verify every pair of a data set in one pass, which also counts the region sizes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from sizewise.data.dataset import Case, Dataset
from sizewise.data.pairs import WITHOUT_IMAGE
from sizewise.data.same_images import digest, same_images
from sizewise.errors import BadInput
from sizewise.parallel import available_cores, map_ahead
from sizewise.progress import track
from sizewise.wording import counted, left_out

EMPTY = "masks are empty: they have no foreground pixel"
WITHOUT_MASK = "images have no mask, and are left out"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong (``error``) or odd (``warning``). The message names the file.

    Attributes:
        alike: what many cases may have, such as ``are empty``; they are then told of in one line.
    """

    level: Literal["error", "warning"]
    case: str
    file: Path | None
    message: str
    alike: str = ""


@dataclass(frozen=True)
class CaseSizes:
    """Pixels of each class of a case (sigmoid: of each channel), among ``valid`` ones: those that are not ignored."""

    case: str
    counts: tuple[int, ...]
    valid: int


@dataclass(frozen=True)
class CheckResult:
    """What was found, and the sizes of the cases whose label map could be read, in the order of the cases."""

    findings: tuple[Finding, ...]
    sizes: tuple[CaseSizes, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that keep the data set from being used as it is."""
        return tuple(finding for finding in self.findings if finding.level == "error")


def check_dataset(dataset: Dataset, *, workers: int | None = None) -> CheckResult:
    """Decode every image and every label map, several at a time, and compare them.

    Errors: unreadable or truncated files, sizes or geometries that differ, label values without a class, pixels that
    are no numbers. Warnings, as training goes on with or without them: an image that has no mask or that no case uses,
    a mask without an image or without any foreground, an image that several groups have.

    Args:
        dataset: what ``open_dataset`` returned.
        workers: threads; decoding runs outside Python's lock. Default: one a core, at most 8.
    """
    findings: list[Finding] = list(_stray_files(dataset))
    sizes: list[CaseSizes] = []
    images: list[str] = []
    threads = workers or min(8, available_cores())
    results = map_ahead(partial(_check_case, dataset), dataset.cases, threads=threads)
    for found, size, image in track(results, what="checking", total=len(dataset.cases)):
        findings += found
        sizes += [size] if size else []
        images.append(image)
    twice = same_images(pair for pair in zip(dataset.cases, images, strict=True) if pair[0].target)
    findings += [Finding("warning", "", None, sentence) for sentence in twice]
    return CheckResult(tuple(sorted(findings, key=lambda finding: finding.level)), tuple(sizes))


def _check_case(dataset: Dataset, case: Case) -> tuple[list[Finding], CaseSizes | None, str]:
    """What is wrong with a case, its sizes, and the fingerprint of its image; empty where it cannot be read."""
    findings: list[Finding] = []
    image = ""

    def found(message: str, file: Path | None, level: Literal["error", "warning"] = "error", alike: str = "") -> None:
        findings.append(Finding(level, case.name, file, message, alike))

    image_file = case.images[0] if case.images else None
    target_file = next((path for path in case.target if path is not None), None)
    shape: tuple[int, ...] | None = None
    try:
        pixels = dataset.reader.image(case).pixels
        shape, image = pixels.shape[1:], digest(pixels)
        if pixels.dtype.kind == "f" and not np.isfinite(pixels).all():
            found(f"{_named(image_file, case)} has pixels that are not finite numbers (NaN or infinity).", image_file)
    except BadInput as error:
        found(str(error), image_file)
    if not case.target:
        if case.subset != "test":  # the label maps of test cases are often kept back
            one = left_out([case.name], "image has no mask", "")
            found(one, image_file, "warning", WITHOUT_MASK)
        return findings, None, image
    try:
        target = dataset.reader.target(case)
    except BadInput as error:
        if not findings or str(image_file) not in str(error):  # a broken image is not to blame twice
            found(str(error), target_file)
        return findings, None, image
    spatial = target.shape[1:] if dataset.activation == "sigmoid" else target.shape
    if shape is not None and spatial != shape:
        names = f"{_named(target_file, case)} has size {spatial}, its image {_named(image_file, case)} {shape}."
        found(names, target_file)
        return findings, None, image
    size, strangers = count_sizes(dataset, case, target)
    if strangers:
        known = f"0 to {len(dataset.classes) - 1}"
        found(f"{_named(target_file, case)} has the class ids {strangers}, wanted {known}.", target_file)
        return findings, None, image
    foreground = size.counts if dataset.activation == "sigmoid" else size.counts[1:]
    if not any(foreground):
        found(f"{_named(target_file, case)} is empty: it has no foreground pixel.", target_file, "warning", EMPTY)
    return findings, size, image


def count_sizes(dataset: Dataset, case: Case, target: np.ndarray) -> tuple[CaseSizes, str]:
    """The sizes of a case whose label map was read, and the class ids that the data set does not have."""
    if dataset.activation == "sigmoid":
        valid = target[0].size
        return CaseSizes(case.name, tuple(int(count) for count in target.reshape(len(target), -1).sum(1)), valid), ""
    kept = target if dataset.ignore_index is None else target[target != dataset.ignore_index]
    outside = (kept < 0) | (kept >= len(dataset.classes))
    if outside.any():
        return CaseSizes(case.name, (), 0), ", ".join(map(str, np.unique(kept[outside])[:8]))
    counts = np.bincount(kept.ravel(), minlength=len(dataset.classes))
    return CaseSizes(case.name, tuple(int(count) for count in counts), int(kept.size)), ""


def _stray_files(dataset: Dataset) -> Iterator[Finding]:
    """Files that lie among the masks or the images, are called like them, and belong to no case.

    A stray mask whose image is there, too, belongs to a pair that the data set leaves out (AMOS: the other modality).
    """
    masks = {path for case in dataset.cases for path in case.target if path is not None}
    images = {path for case in dataset.cases for path in case.images}
    stray_images = _unused(images, among=masks | images)
    stems = {path.name[: -len(ending)] for ending, paths in stray_images.values() for path in paths}
    numbered = {stem.rpartition("_")[0] for stem in stems}  # nnU-Net's CASE_0000 is the image of CASE
    told = any(WITHOUT_IMAGE in note for note in dataset.notes)  # by the layout, which knows all of them
    for ending, paths in () if told else _unused(masks, among=masks | images).values():
        for path in paths:
            if path.name[: -len(ending)] not in stems | numbered:
                message = left_out([path.name], f"mask has {WITHOUT_IMAGE}", "")
                yield Finding("warning", path.name, path, message, f"masks have {WITHOUT_IMAGE}, and are left out")
    for folder, (_, paths) in stray_images.items():
        names = ", ".join(path.name for path in paths[:3]) + (" …" if len(paths) > 3 else "")
        yield Finding(
            "warning", "", paths[0], f"'{folder}' has {counted(len(paths), 'image')} that no case uses: {names}."
        )


def _unused(used: set[Path], *, among: set[Path]) -> dict[Path, tuple[str, list[Path]]]:
    """By folder of the ``used`` files: the ending that they share, and the other files with that ending."""
    folders: dict[Path, list[str]] = {}
    for path in used:
        folders.setdefault(path.parent, []).append(path.name)
    found = {}
    for folder, names in sorted(folders.items()):
        ending = common_ending(names)
        if ending and folder.is_dir():
            files = (path for path in folder.iterdir() if path.name.endswith(ending) and path.name[0] != ".")
            paths = sorted(path for path in files if path not in among)
            if paths:
                found[folder] = (ending, paths)
    return found


def common_ending(names: list[str]) -> str:
    """What a folder's file names end with, from a separator on and without numbers: files that end so are of one kind.

    >>> common_ending(["aachen_000000_gtFine_labelIds.png", "bochum_000000_gtFine_labelIds.png"])
    '_gtFine_labelIds.png'
    >>> common_ending(["liver_1.nii.gz"]), common_ending(["a.png", "b.bmp"])
    ('.nii.gz', '')
    """
    common = names[0]
    for name in names:
        while not name.endswith(common):
            common = common[1:]
    last_number = re.match(r".*\d", common)
    match = re.search(r"[._-].*$", common[last_number.end() :] if last_number else common)
    return match[0] if match else ""


def _named(file: Path | None, case: Case) -> str:
    return f"'{file}'" if file else f"case {case.name}"
