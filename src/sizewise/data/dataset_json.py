"""The ``dataset.json`` that the decathlon, AMOS and nnU-Net put beside their volumes: read, and its mistakes named."""

import re
from pathlib import Path
from typing import Any, TypeGuard

from sizewise.csv_files import read_whole_number
from sizewise.data.dataset import Case, Subset
from sizewise.data.file_names import NIFTI_ENDINGS
from sizewise.data.volumes import count_spatial_dims
from sizewise.errors import BadInput
from sizewise.json_files import read_json

FILE = "dataset.json"
LARGEST_LABEL = 65535  # what label maps of 16 bits hold


def has_keys(path: Path, *keys: str) -> bool:
    """Whether the folder has a readable dataset.json with these keys. Never raises: recognising asks every layout."""
    try:
        content = read_dataset_json(path)
    except BadInput:
        return False
    return all(key in content for key in keys)


def read_dataset_json(path: Path) -> dict[str, Any]:
    """The folder's dataset.json."""
    return read_json(path / FILE, hint="Correct it or download it again; a folder that needs none is read without it.")


def refuse_damaged(path: Path) -> None:
    """Say what is wrong with a dataset.json that is there: read without it, its folder would be another data set."""
    if (path / FILE).exists():
        read_dataset_json(path)


def labels_by_value(info: dict[str, Any], path: Path) -> dict[int, str]:
    """The decathlon's ``{"0": "background", "1": "liver"}`` by increasing value (JSON sorts "10" before "2")."""
    labels = info.get("labels")
    try:
        table = {int(value): _text(name) for value, name in labels.items()}  # type: ignore[union-attr]
    except (AttributeError, TypeError, ValueError) as error:
        raise BadInput(
            f'\'{path / "dataset.json"}\': labels must be like {{"0": "background", "1": "liver"}}, got {labels!r}.'
        ) from error
    if len(table) < len(labels or ()) or max(table, default=0) > LARGEST_LABEL:
        raise BadInput(f"'{path / FILE}': labels must be different numbers up to {LARGEST_LABEL}, got {labels!r:.200}.")
    if len(table) < 2 or min(table) != 0:
        raise BadInput(f"'{path / 'dataset.json'}': labels must hold 0, the background, and one more, got {labels!r}.")
    return dict(sorted(table.items()))


def _text(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError
    return name


def words_by_channel(table: Any) -> tuple[str, ...]:
    """``{"0": "FLAIR", "1": "T1w"}`` as words by channel; CT is spelled ``CT``; empty where there is no table."""
    if not isinstance(table, dict):
        return ()
    words = (str(table[key]) for key in sorted(table, key=lambda key: read_whole_number(key, largest=9999) or 0))
    return tuple("CT" if word.upper() == "CT" else word for word in words)


def listed_cases(root: Path, info: dict[str, Any], key: str, *, subset: Subset) -> list[Case]:
    """The cases of one list: ``{"image": …, "label": …}``, or a bare file name where there is no label.

    The files themselves may be missing: checking the data set says so, case by case.
    """
    entries = info.get(key, [])
    if not isinstance(entries, list):
        raise BadInput(f"'{root / 'dataset.json'}': {key} must be a list of files, got {type(entries).__name__}.")
    cases = []
    for entry in entries:
        image, label = (entry.get("image"), entry.get("label")) if isinstance(entry, dict) else (entry, None)
        if not is_file_name(image) or not (label is None or is_file_name(label)):
            raise BadInput(
                f"'{root / 'dataset.json'}': an entry of {key} must be like "
                f'{{"image": "./imagesTr/a.nii.gz", "label": "./labelsTr/a.nii.gz"}}, got {entry!r}.'
            )
        if Path(image).name.startswith("."):
            continue  # the decathlon's archives carry macOS's "._" files, and lists made from folders name them
        file = root / image
        cases.append(Case(stem_of(file), _channel_files(file), (root / label,) if label else (), subset=subset))
    return cases


def is_file_name(word: object) -> TypeGuard[str]:
    """Whether a list may name a file so: one that the operating system would not refuse."""
    return isinstance(word, str) and bool(word.strip()) and "\0" not in word and _short(word) and _encodable(word)


def _short(word: str) -> bool:
    return len(word) < 4000 and all(len(part.encode(errors="replace")) <= 255 for part in word.split("/"))


def _encodable(word: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in word)


def _channel_files(file: Path) -> tuple[Path, ...]:
    """The file itself, or CASE_0000, CASE_0001 … where there is none: nnU-Net's first version lists CASE alone."""
    if file.exists():
        return (file,)
    ending = file.name[len(stem_of(file)) :]
    numbered = re.compile(rf"{re.escape(stem_of(file))}_\d{{4}}{re.escape(ending)}")
    beside = sorted(file.parent.iterdir()) if file.parent.is_dir() else []
    return tuple(one for one in beside if numbered.fullmatch(one.name)) or (file,)


def unique_names(cases: list[Case], path: Path) -> tuple[Case, ...]:
    """The cases, if there are any and no two share a name."""
    if not cases:
        raise BadInput(f"'{path}': no case found. Wanted volumes in imagesTr with label maps in labelsTr.")
    seen: set[str] = set()
    for case in cases:
        if case.name in seen:
            raise BadInput(f"'{path}': two cases are called {case.name}. Each image may be listed once.")
        seen.add(case.name)
    return tuple(cases)


def first_spatial_dims(cases: tuple[Case, ...]) -> int:
    """2 or 3, by the first image that can be opened; 3 when none can."""
    for case in cases:
        try:
            return count_spatial_dims(case.images[0])
        except BadInput:
            continue
    return 3


def stem_of(path: Path) -> str:
    """The name without its ending; ``.nii.gz`` is one ending.

    >>> stem_of(Path("imagesTr/liver_0.1.nii.gz"))
    'liver_0.1'
    """
    for ending in NIFTI_ENDINGS:
        if path.name.lower().endswith(ending):
            return path.name[: -len(ending)]
    return path.stem
