"""The ``dataset.json`` that the decathlon, AMOS and nnU-Net put beside their volumes: read, and its mistakes named."""

import json
from pathlib import Path
from typing import Any

from sizewise.data.dataset import Case, Subset
from sizewise.data.file_names import NIFTI_ENDINGS
from sizewise.data.volumes import count_spatial_dims
from sizewise.errors import BadInput


def has_keys(path: Path, *keys: str) -> bool:
    """Whether the folder has a readable dataset.json with these keys. Never raises: recognising asks every layout."""
    try:
        content = json.loads((path / "dataset.json").read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and all(key in content for key in keys)


def read_dataset_json(path: Path) -> dict[str, Any]:
    """The folder's dataset.json."""
    file = path / "dataset.json"
    try:
        content = json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise BadInput(f"'{file}' can't be read: {error.strerror}.") from error
    except ValueError as error:
        raise BadInput(f"'{file}' is not valid JSON: {error}. Correct it or download it again.") from error
    if not isinstance(content, dict):
        raise BadInput(f"'{file}' holds a {type(content).__name__}. Wanted an object with labels and file lists.")
    return content


def labels_by_value(info: dict[str, Any], path: Path) -> dict[int, str]:
    """The decathlon's ``{"0": "background", "1": "liver"}`` by increasing value (JSON sorts "10" before "2")."""
    labels = info.get("labels")
    try:
        table = {int(value): str(name) for value, name in labels.items()}  # type: ignore[union-attr]
    except (AttributeError, TypeError, ValueError) as error:
        raise BadInput(
            f'\'{path / "dataset.json"}\': labels must be like {{"0": "background", "1": "liver"}}, got {labels!r}.'
        ) from error
    if len(table) < 2 or min(table) != 0:
        raise BadInput(f"'{path / 'dataset.json'}': labels must hold 0, the background, and one more, got {labels!r}.")
    return dict(sorted(table.items()))


def words_by_channel(table: Any) -> tuple[str, ...]:
    """``{"0": "FLAIR", "1": "T1w"}`` as words by channel; CT is spelled ``CT``; empty where there is no table."""
    if not isinstance(table, dict):
        return ()
    words = (str(table[key]) for key in sorted(table, key=lambda key: int(key) if str(key).isdigit() else 0))
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
        if not isinstance(image, str) or not isinstance(label, str | None):
            raise BadInput(
                f"'{root / 'dataset.json'}': an entry of {key} must be like "
                f'{{"image": "./imagesTr/a.nii.gz", "label": "./labelsTr/a.nii.gz"}}, got {entry!r}.'
            )
        if Path(image).name.startswith("."):
            continue  # the decathlon's archives carry macOS's "._" files, and lists made from folders name them
        file = root / image
        cases.append(Case(stem_of(file), _channel_files(file), (root / label,) if label else (), subset=subset))
    return cases


def _channel_files(file: Path) -> tuple[Path, ...]:
    """The file itself, or CASE_0000, CASE_0001 … where there is none: nnU-Net's first version lists CASE alone."""
    if file.exists():
        return (file,)
    ending = file.name[len(stem_of(file)) :]
    channels = sorted(file.parent.glob(f"{stem_of(file)}_[0-9][0-9][0-9][0-9]{ending}"))
    return tuple(channels) or (file,)


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
