"""A folder of NIfTI images and masks that has no ``dataset.json``."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sizewise.data.class_table import find_class_table, read_class_table
from sizewise.data.dataset import Case, Dataset
from sizewise.data.open_options import OpenOptions
from sizewise.data.volumes import VolumeReader, count_spatial_dims, read_volume
from sizewise.errors import BadInput
from sizewise.parallel import map_threads


def load_volumes(path: Path, cases: tuple[Case, ...], notes: Sequence[str], *, options: OpenOptions) -> Dataset:
    """The data set of NIfTI pairs; label values are 0 … K−1 or 0 and 255, or those that a ``classes.csv`` names."""
    masks = [mask for case in cases for mask in case.target if mask is not None]
    table_path = options.classes_csv or find_class_table(path)
    if table_path is not None:
        table = read_class_table(table_path)
        if not table.values or len(table.values) != len(table.names):
            raise BadInput(f"'{table_path}' must give one value to each class (columns name,value) for NIfTI masks.")
        names = table.names
        by_label = {label: value for value, label in table.values}
        values = tuple(by_label[label] for label in range(len(names)))
    else:
        values = _values_of(masks, options)
        names = ("background", *(f"class_{label}" for label in range(1, len(values))))
        if len(values) == 2:
            names = ("background", "foreground")
    if options.merge and len(names) > 2:
        names = ("background", "foreground")
    spatial_dims = count_spatial_dims(cases[0].images[0])
    return Dataset(
        name=path.resolve().name,
        classes=names,
        cases=cases,
        reader=VolumeReader(
            values=values,
            spatial_dims=spatial_dims,
            merge=options.merge,
            ignore_index=options.ignore_index,
        ),
        spatial_dims=spatial_dims,
        modality=options.modality or ("MRI",),
        ignore_index=options.ignore_index,
        notes=(*notes, *(() if options.modality else (_NO_MODALITY,))),
    )


_NO_MODALITY = (
    "The files do not say what was measured: intensities are scaled as MRI, by each image's own mean and spread."
)


def _values_of(masks: Sequence[Path], options: OpenOptions) -> tuple[int, ...]:
    found = map_threads(lambda mask: np.unique(read_volume(mask)[0]).tolist(), masks, what="mask values")
    values = sorted(set().union(*found) - {options.ignore_index})
    if values == [0, 255] or (len(values) >= 2 and values == list(range(len(values)))):
        return tuple(int(value) for value in values)
    hint = " 255 usually marks pixels to ignore: say so with `ignore_index=255`." if 255 in values else ""
    listed = ", ".join(f"{value:g}" for value in values[:16])
    raise BadInput(
        f"Mask values must be the classes 0, 1, …, K−1 without a gap, or 0 and 255, got {listed}.{hint} Name the "
        "classes in a classes.csv with the columns name,value beside the images folder, or as `classes_csv`."
    )
