"""The ``labels`` of nnU-Net's dataset.json: classes, an ignore label, regions."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sizewise.data.dataset_json import LARGEST_LABEL
from sizewise.errors import BadInput


@dataclass(frozen=True)
class Labels:
    """What the label maps hold.

    Attributes:
        classes: by class id, background first; for regions by channel, without background.
        values: the value of each class in the files.
        ignore_index: the value of pixels that count for nothing.
        regions: the values that make up each region, where the data set is multi-label.
        region_order: the value that each region gets in a written label map.
        merge: join all foreground into one class.
    """

    classes: tuple[str, ...]
    values: tuple[int, ...]
    ignore_index: int | None
    regions: tuple[tuple[int, ...], ...] = ()
    region_order: tuple[int, ...] = ()
    merge: bool = False


def read_labels(info: dict[str, Any], path: Path, *, merge: bool, ignore_index: int | None) -> Labels:
    """Understand ``{"background": 0, "edema": 1, "ignore": 2}``, or regions like ``"whole tumour": [1, 2]``.

    >>> read_labels({"labels": {"background": 0, "liver": 1, "ignore": 2}}, Path(), merge=False, ignore_index=None)
    Labels(classes=('background', 'liver'), values=(0, 1), ignore_index=2, regions=(), region_order=(), merge=False)
    """
    file = path / "dataset.json"
    table = _values_by_name(info.get("labels"), file)
    if "ignore" in table:
        if len(table["ignore"]) != 1:
            raise BadInput(f"'{file}': the label ignore must have one value, got {list(table['ignore'])}.")
        ignore_index = table["ignore"][0] if ignore_index is None else ignore_index
        ignored = table.pop("ignore", (ignore_index,))[0]
        if any(ignored in region for region in table.values()):
            raise BadInput(
                f"'{file}': the label ignore has the value {ignored}, which another label has too: "
                f"{info.get('labels')!r}. Give it one of its own."
            )
    values = tuple(sorted({value for region in table.values() for value in region}))
    if len(values) < 2 or values[0] != 0:
        raise BadInput(f"'{file}': labels must hold 0, the background, and one more, got {info.get('labels')!r}.")
    if merge:
        return Labels(("background", "foreground"), values, ignore_index, merge=True)
    if any(len(region) > 1 for region in table.values()):
        return _regions(table, values, info, file, ignore_index)
    names = {region[0]: name for name, region in table.items()}
    if len(names) < len(table):
        raise BadInput(f"'{file}': two labels have one value: {info.get('labels')!r}.")
    return Labels(tuple(names[value] for value in values), values, ignore_index)


def _regions(
    table: dict[str, tuple[int, ...]],
    values: tuple[int, ...],
    info: dict[str, Any],
    file: Path,
    ignore_index: int | None,
) -> Labels:
    if ignore_index is not None:
        raise BadInput(f"'{file}': regions with ignored pixels are not supported. Merge the labels: `merge=True`.")
    foreground = {name: region for name, region in table.items() if region != (0,)}
    order = info.get("regions_class_order")
    if (
        not isinstance(order, list)
        or len(order) != len(foreground)
        or not all(type(v) is int and 0 <= v <= LARGEST_LABEL for v in order)
    ):
        raise BadInput(
            f"'{file}': labels are {len(foreground)} regions, so regions_class_order must list as many values, "
            f"got {order!r}."
        )
    return Labels(tuple(foreground), values, None, tuple(foreground.values()), tuple(order))


def _values_by_name(labels: Any, file: Path) -> dict[str, tuple[int, ...]]:
    wanted = f'\'{file}\': labels must be like {{"background": 0, "liver": 1}}, got {labels!r}.'
    if not isinstance(labels, dict):
        raise BadInput(wanted)
    table = {}
    for name, value in labels.items():
        region = tuple(value) if isinstance(value, list) else (value,)
        if not region or not all(type(part) is int and part >= 0 for part in region):  # a bool is no number
            raise BadInput(f"{wanted} Version 1 of nnU-Net had them the other way round.")
        if max(region) > LARGEST_LABEL:
            raise BadInput(f"'{file}': labels go up to {LARGEST_LABEL}, got {max(region)} for {name!r}.")
        table[name] = region
    return table
