"""What a file is by its name: a picture, a volume, and the name of its case."""

import warnings
from collections.abc import Callable
from pathlib import Path

from sizewise.errors import BadInput

PICTURE_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff")
JPEG_ENDINGS = (".jpg", ".jpeg")
NIFTI_ENDINGS = (".nii.gz", ".nii")


def stem(path: Path) -> str:
    """The name without its ending, of which ``.nii.gz`` is one.

    >>> stem(Path("liver_1.nii.gz")), stem(Path("polyp.01.PNG"))
    ('liver_1', 'polyp.01')
    """
    double = path.name.lower().endswith(NIFTI_ENDINGS[0])
    return path.name[: -len(NIFTI_ENDINGS[0])] if double else path.stem


def is_picture(path: Path) -> bool:
    """Whether the name is that of a picture: a known ending in any case, and not hidden.

    >>> is_picture(Path("scan.PNG")), is_picture(Path("Thumbs.db")), is_picture(Path("._scan.png"))
    (True, False, False)
    """
    return path.suffix.lower() in PICTURE_ENDINGS and not path.name.startswith(".")


def is_volume(path: Path) -> bool:
    """Whether the name is that of a NIfTI file, and not hidden.

    >>> is_volume(Path("liver_1.nii.gz")), is_volume(Path("._liver_1.nii.gz"))
    (True, False)
    """
    return path.name.lower().endswith(NIFTI_ENDINGS) and not path.name.startswith(".")


def is_jpeg(path: Path) -> bool:
    """Whether the file is JPEG by its name: its values are then only near what was saved.

    >>> is_jpeg(Path("mask.JPG"))
    True
    """
    return path.suffix.lower() in JPEG_ENDINGS


def plain_files(folder: Path, wanted: Callable[[Path], bool]) -> list[Path]:
    """The files of a folder with a wanted name, in order.

    Raises:
        BadInput: what has such a name is no file, such as a link to nowhere. Passed over, it would leave a case out of
            the scores, and those look like any other.
    """
    found = sorted(path for path in folder.iterdir() if wanted(path))
    if odd := next((path for path in found if not path.is_file()), None):
        what = "a folder, a pipe or a device" if odd.exists() else "a link to what is not there"
        raise BadInput(f"'{odd}' is no file, but {what}. Remove it, or put the file there.")
    return found


def ignore_pillow_warnings() -> None:
    """For programs, not for libraries: no warnings of Pillow from here on.

    Whole-slide and satellite pictures are large on purpose; Pillow still refuses twice its limit. Its remarks on EXIF
    and TIFF tags do not name the file; where they matter, decoding fails and the error does.
    """
    warnings.filterwarnings("ignore", module=r"PIL\.")
