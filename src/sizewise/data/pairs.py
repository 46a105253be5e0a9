"""Find images and their masks in a folder by the usual names of folders and files."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sizewise.data.dataset import Case, Subset
from sizewise.data.file_names import is_picture, is_volume, stem
from sizewise.errors import BadInput
from sizewise.wording import left_out

_SUBSETS: dict[str, Subset] = {
    "train": "train", "training": "train", "tr": "train",
    "val": "validation", "valid": "validation", "validation": "validation", "dev": "validation",
    "test": "test", "testing": "test", "ts": "test",
}  # fmt: skip
_IMAGE_WORDS = ("images?", "imgs?", "pictures?", "photos?", "frames?", "originals?", "inputs?", "jpegimages")
_MASK_WORDS = (
    "masks?", "labels?", "annots?", "annotations?", "anno", "segmentations?", "segs?", "segmentationclass", "gts?",
    "groundtruths?", "targets?", "labelmaps?", "lbls?",
)  # fmt: skip
_FOLDER = re.compile(
    r"(?P<before>train(?:ing)?|val(?:id(?:ation)?)?|dev|test(?:ing)?)?(?:data)?(?:set)?"
    rf"(?:(?P<image>{'|'.join(_IMAGE_WORDS)})|(?P<mask>{'|'.join(_MASK_WORDS)}))?"
    r"(?P<after>train(?:ing)?|tr|val(?:id(?:ation)?)?|dev|test(?:ing)?|ts)?"
)
_MASK_AFFIX = re.compile(
    r"(?:^(?:masks?|labels?|gt|seg)[_\-. ])"
    r"|(?:[_\-. ](?:masks?|segmentations?|segs?|labels?|lbl|l|gt|groundtruth|ground_truth|annotations?|anno|manual1?|"
    r"1stHO|2ndHO)$)",
    re.IGNORECASE,
)
_IMAGE_AFFIX = re.compile(r"(?:^(?:images?|imgs?)[_\-. ])|(?:[_\-. ](?:images?|imgs?|sat|0000)$)", re.IGNORECASE)
_DERIVED = ("overlay", "pred", "vis", "instance", "edge", "boundary", "color", "colour", "superpixel")
_DEEPEST = 4
WITHOUT_IMAGE = "no image"  # what check_dataset need not find again


@dataclass(frozen=True)
class FolderName:
    """What a folder's name says: ``image``, ``mask`` or nothing, and a subset or nothing."""

    kind: str
    subset: Subset


def read_folder_name(name: str) -> FolderName | None:
    """Understand a folder's name, or return None.

    >>> read_folder_name("trainannot")
    FolderName(kind='mask', subset='train')
    >>> read_folder_name("Ground Truth"), read_folder_name("imagesTr").subset, read_folder_name("overlays")
    (FolderName(kind='mask', subset=''), 'train', None)
    """
    compact = re.sub(r"[\s_\-.]+", "", name.lower())
    match = _FOLDER.fullmatch(compact)
    if match is None:
        return _read_long_name(name)
    if not compact or (match["before"] and match["after"]):
        return None
    if match["after"] in ("tr", "ts") and not (match["image"] or match["mask"]):
        return None
    kind = "image" if match["image"] else "mask" if match["mask"] else ""
    word = match["before"] or match["after"]
    if not kind and not word:
        return None
    return FolderName(kind, _SUBSETS[word] if word else "")


def _read_long_name(name: str) -> FolderName | None:
    """A name with more in it, if it says both the subset and the kind, and nothing of derived pictures.

    >>> _read_long_name("ISIC2018_Task1_Training_GroundTruth"), _read_long_name("train_overlay_images")
    (FolderName(kind='mask', subset='train'), None)
    """
    words = [word for word in re.split(r"[\s_\-.]+", name.lower()) if word]
    if any(word.startswith(_DERIVED) for word in words):
        return None
    subsets = {_SUBSETS[word] for word in words if word in _SUBSETS and len(word) > 2}
    kinds = {"image" for word in words if re.fullmatch("|".join((*_IMAGE_WORDS, "data")), word)}
    kinds |= {"mask" for word in words if re.fullmatch("|".join(_MASK_WORDS), word)}
    return FolderName(kinds.pop(), subsets.pop()) if len(subsets) == len(kinds) == 1 else None


@dataclass
class FoundFiles:
    """The files of a folder, sorted by what they are.

    Attributes:
        images: by subset and by path below the images folder.
        masks: the same for masks.
        loose: pictures in a folder that says the subset at most: images of CamVid, or images and masks side by side.
        beside: those of them that lie beside folders of images: a preview, a figure.
    """

    images: dict[Subset, dict[str, Path]] = field(default_factory=lambda: defaultdict(dict))
    masks: dict[Subset, dict[str, Path]] = field(default_factory=lambda: defaultdict(dict))
    loose: dict[Subset, dict[str, Path]] = field(default_factory=lambda: defaultdict(dict))
    beside: list[Path] = field(default_factory=list)


def find_files(root: Path) -> FoundFiles:
    """Sort every picture and volume below ``root`` by the names of the folders that hold it."""
    found = FoundFiles()
    for path, parts in _walk(root, ()):
        named = [read_folder_name(part) for part in parts]
        understood = [name for name in named if name is not None]
        kinds = {name.kind for name in understood if name.kind}
        subsets: set[Subset] = {name.subset for name in understood if name.subset}
        if len(kinds) > 1 or len(subsets) > 1 or (named and named[0] is None):
            continue  # says two things at once, or lies in a folder that has nothing to do with it
        kind, subset = next(iter(kinds), ""), subsets.pop() if subsets else ""
        below = "/".join(part for part, name in zip(parts, named, strict=True) if name is None)
        if below and not kind:
            continue
        files = {"image": found.images, "mask": found.masks, "": found.loose}[kind][subset]
        key = f"{below}/{stem(path)}" if below else stem(path)
        if key in files:
            raise BadInput(f"'{files[key]}' and '{path}' have one name: which of them is meant? Remove the other.")
        files[key] = path
    _sort_loose(found)
    return found


def _walk(folder: Path, parts: tuple[str, ...]) -> Iterator[tuple[Path, tuple[str, ...]]]:
    if folder.is_symlink() and folder.absolute().parent.resolve().is_relative_to(folder.resolve()):
        raise BadInput(f"'{folder}' is a link to a folder that it lies in: each file would be found again. Remove it.")
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith((".", "__MACOSX")):
            continue
        if entry.is_dir():
            # An unknown folder may lie below images (images/city/…), but not above: it would be another data set.
            if len(parts) < _DEEPEST and (parts or read_folder_name(entry.name)):
                yield from _walk(entry, (*parts, entry.name))
        elif is_picture(entry) or is_volume(entry):
            yield entry, parts


def _sort_loose(found: FoundFiles) -> None:
    for subset, files in found.loose.items():
        if found.images.get(subset):
            found.beside += files.values()
            continue
        if not subset and any(found.images.values()) and any(found.masks.values()):
            found.beside += files.values()
            continue
        if found.masks.get(subset):
            found.images[subset].update(files)
            continue
        side_by_side = {key for key in files if (bare := _without(_MASK_AFFIX, key)) != key and _image_for(bare, files)}
        for key, path in files.items():
            (found.masks if key in side_by_side else found.images)[subset][key] = path


def _image_for(bare: str, files: dict[str, Path]) -> bool:
    return any(f"{bare}{affix}" in files for affix in ("", "_image", "_img", "_sat"))


def has_pairs(root: Path) -> bool:
    """Whether ``root`` has images, and masks for some of them."""
    if not root.is_dir():
        return False
    try:
        found = find_files(root)
    except BadInput:
        return True  # it is such a folder, with something wrong in it that loading will say
    return any(found.images.get(subset) for subset in found.masks if found.masks[subset])


def find_cases(root: Path, *, where: str) -> tuple[tuple[Case, ...], list[str]]:
    """Pair images with masks by name, and say what has no partner.

    A mask belongs to the image of the same name; failing that, to the one whose name it has without ``_mask``,
    ``_segmentation``, ``_label``, ``_L``, ``_gt`` and the like. An image without a mask is a case without a target.

    Args:
        root: the folder.
        where: the data set's name for messages.
    """
    found = find_files(root)
    if not any(found.images.values()):
        raise BadInput(
            f"{where}: no images in '{root}'. Wanted PNG, JPEG, BMP, TIFF or NIfTI files in a folder images."
        )
    several = sum(len(files) for files in found.images.values()) != len(set().union(*found.images.values()))
    cases, orphans, pairs = [], [], 0
    for subset in sorted(found.images, key=("train", "validation", "test", "").index):
        masks = found.masks.get(subset, {})
        partners = pair_names(found.images[subset], masks)
        pairs += len(partners)
        orphans += [masks[key].name for key in masks.keys() - partners.values()]
        for key, image in found.images[subset].items():
            name = key.replace("/", "_")
            cases.append(
                Case(
                    name=f"{subset}_{name}" if several and subset else name,
                    images=(image,),
                    target=(masks[partners[key]],) if key in partners else (),
                    subset=subset,
                )
            )
    _refuse_one_name_twice(cases)
    if not pairs:
        raise BadInput(
            f"{where}: no mask in '{root}' has the name of an image. Images are called like "
            f"'{cases[0].images[0].name}', masks like '{orphans[0] if orphans else '(none found)'}'."
        )
    notes = [left_out(sorted(orphans), f"mask has {WITHOUT_IMAGE}", f"masks have {WITHOUT_IMAGE}")] if orphans else []
    if found.beside:
        beside = sorted(path.name for path in found.beside)
        notes.append(left_out(beside, "picture lies beside the folders", "pictures lie beside the folders"))
    return tuple(cases), notes


def _refuse_one_name_twice(cases: list[Case]) -> None:
    """``p/f.png`` and ``p_f.png`` would be one case: one of them would be used twice, the other never."""
    seen: dict[str, Case] = {}
    for case in cases:
        if case.name in seen:
            raise BadInput(
                f"'{seen[case.name].images[0]}' and '{case.images[0]}' would both be the case {case.name}. Rename one."
            )
        seen[case.name] = case


def pair_names(images: Iterable[str], masks: Iterable[str]) -> dict[str, str]:
    """Which mask belongs to which image, each mask to one at most: equal names first, then names without affixes.

    >>> pair_names(["12", "12_L", "b_sat"], ["12_L", "12_mask", "b_mask"])
    {'12_L': '12_L', '12': '12_mask', 'b_sat': 'b_mask'}
    """
    images, left = list(images), dict.fromkeys(masks)
    matched = {name: name for name in images if name in left}
    for name in matched:
        del left[name]
    by_bare_name = {_without(_MASK_AFFIX, mask): mask for mask in reversed(left)}
    for name in images:
        for wanted in (name, _without(_IMAGE_AFFIX, name)):
            if name not in matched and wanted in by_bare_name:
                matched[name] = by_bare_name.pop(wanted)
    return matched


def _without(affix: re.Pattern[str], key: str) -> str:
    folder, slash, name = key.rpartition("/")
    return folder + slash + affix.sub("", name)
