"""Class names for a folder of label maps, from the table or the dataset.json that lies beside it."""

from pathlib import Path

from sizewise.data.class_table import find_class_table, read_class_table
from sizewise.data.dataset_json import has_keys, labels_by_value, read_dataset_json
from sizewise.data.nnunet_labels import read_labels
from sizewise.errors import BadInput

_WHITE = 255  # a black and white map is read as 0 and 1


def names_beside(folder: Path, *, regions: tuple[tuple[int, ...], ...] = ()) -> dict[int, str]:
    """Names by the ids that label maps of this folder are scored with; empty where no file says any.

    ``classes.csv`` or ``dataset.json`` (nnU-Net's, or the decathlon's) is looked for in the folder and in the one that
    holds it. A file that cannot be understood gives no names: scores do not depend on it.

    Args:
        folder: of label maps.
        regions: where sets of ids are scored as one each, the sets: their names are those that dataset.json gives them.
    """
    for place in (folder, folder.resolve().parent):
        try:
            if (table := find_class_table(place)) and not regions:
                found = read_class_table(table)
                values = {value: found.names[label] for value, label in found.values if label < len(found.names)}
                return {1: values[_WHITE]} if set(values) == {0, _WHITE} else values
            if has_keys(place, "labels"):
                return _of_json(place, regions)
        except BadInput:
            continue
    return {}


def _of_json(place: Path, regions: tuple[tuple[int, ...], ...]) -> dict[int, str]:
    info = read_dataset_json(place)
    if all(str(value).isdigit() for value in info["labels"]):
        named = labels_by_value(info, place)
        return {} if regions else named
    labels = read_labels(info, place, merge=False, ignore_index=None)
    if not regions:
        return dict(zip(labels.values, labels.classes, strict=True)) if not labels.regions else {}
    by_ids = {frozenset(ids): name for ids, name in zip(labels.regions, labels.classes, strict=True)}
    by_ids |= (
        {frozenset([value]): name for value, name in zip(labels.values, labels.classes, strict=False)}
        if not labels.regions
        else {}
    )
    return {at: by_ids[frozenset(ids)] for at, ids in enumerate(regions, start=1) if frozenset(ids) in by_ids}
