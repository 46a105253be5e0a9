"""Any folder of images and masks, with or without train, validation and test.

Understood, in any mix of upper and lower case, with PNG, JPEG, BMP, TIFF or NIfTI files::

    images/a.jpg  masks/a.png                                 (also image, img, imgs; mask, labels, annotations, gt, …)
    train/images/a.jpg  train/masks/a.png  validation/…  test/…          (also val, valid)
    images/train/a.jpg  masks/train/a.png
    train/a.png  trainannot/a.png                              (CamVid; also train_labels, train_masks)
    a.jpg  a_mask.png                                          (side by side)

Masks may carry ``_mask``, ``_segmentation``, ``_label``, ``_L`` or ``_gt`` after the image's name. How their values
become classes is told in ``sizewise.data.label_values``.
"""

from pathlib import Path

from sizewise.data.dataset import Case, Dataset, Reader
from sizewise.data.file_names import is_volume
from sizewise.data.label_values import label_rule
from sizewise.data.open_options import OpenOptions
from sizewise.data.pairs import find_cases, has_pairs
from sizewise.data.picture_reader import PictureReader
from sizewise.data.pictures import picture_channels
from sizewise.errors import BadInput
from sizewise.parallel import map_threads

NAME = "folder"
LAYOUT = "images/ and masks/, with or without train, validation, test"


def recognise(path: Path) -> bool:
    """Whether the folder has images and masks under usual names."""
    return has_pairs(path)


def load(path: Path, *, options: OpenOptions) -> Dataset:
    """Open the folder; every mask is read once to decide what its values mean, unless a ``classes.csv`` says it."""
    cases, notes = find_cases(path, where=NAME)
    volumes = [case for case in cases if is_volume(case.images[0])]
    if volumes and len(volumes) < len(cases):
        raise BadInput(
            f"'{path}' mixes NIfTI and pictures, such as '{volumes[0].images[0]}'. Keep them in separate folders."
        )
    if volumes:
        from sizewise.data.volume_folder import load_volumes

        return load_volumes(path, cases, notes, options=options)
    masks = [mask for case in cases for mask in case.target if mask is not None]
    rule, classes, rule_notes = label_rule(masks, root=path, options=options)
    channels = common_channels(cases)
    reader: Reader = PictureReader(rule, channels)
    return Dataset(
        name=path.resolve().name,
        classes=classes,
        cases=cases,
        reader=reader,
        spatial_dims=2,
        modality=options.modality or (("RGB",) if channels == 3 else ("grey",)),
        ignore_index=rule.ignore,
        notes=(*notes, *rule_notes),
    )


def common_channels(cases: tuple[Case, ...]) -> int:
    """3 when any image is in colour, else 1, so that all cases get one shape. Damaged files are left to the check."""

    def channels(case: Case) -> int:
        try:
            return picture_channels(case.images[0])
        except BadInput:
            return 1

    return max(map_threads(channels, cases, what="image headers"))
