"""Which files of a folder hold probabilities, and what lies beside them to say where they are.

| file | axes | written by |
|---|---|---|
| CASE.npz, key ``probabilities`` | (K, z, y, x), or (K, 1, y, x) of a picture | nnU-Net, told to save probabilities |
| CASE.npy | (K, *S), S as in the label map beside it | ``sizewise predict``, and programs of one's own |
| CASE.nii.gz, CASE.nii | (X, Y, Z, K) | whatever writes NIfTI |

The first two take their geometry from a NIfTI file of the same name beside them, such as the label map that nnU-Net
writes. Its ``.pkl`` files are not opened: reading a pickle runs whatever is in it.
"""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from sizewise.data.file_names import is_volume, plain_files, stem
from sizewise.data.volumes import open_volume
from sizewise.errors import BadInput
from sizewise.outside_names import check_case_names

ARRAYS = (".npz", ".npy")
WANTED = "CASE.npz of nnU-Net, CASE.npy with the classes first, or NIfTI with the classes last"


@dataclass(frozen=True)
class ProbabilityFile:
    """One case.

    Attributes:
        case: the name of the file without its ending.
        path: the probabilities.
        beside: NIfTI of the same name that says where they lie; the file itself where it is NIfTI; None: there is none.
    """

    case: str
    path: Path
    beside: Path | None


def find_probabilities(folder: Path, argument: str) -> list[ProbabilityFile]:
    """The cases of a folder by name; ``argument`` is what the caller calls the folder."""
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        raise BadInput(f"`{argument}` '{folder}' {what}. Wanted a folder with {WANTED}.")
    files = plain_files(folder, lambda path: is_volume(path) or _is_array(path))
    by_case: dict[str, list[Path]] = defaultdict(list)
    for path in files:
        by_case[stem(path)].append(path)
    found = []
    for case, paths in by_case.items():
        arrays = [path for path in paths if _is_array(path)]
        volumes = [path for path in paths if is_volume(path)]
        if len(arrays) > 1 or len(volumes) > 1:
            names = ", ".join(f"'{path.name}'" for path in (arrays if len(arrays) > 1 else volumes))
            raise BadInput(f"`{argument}` '{folder}' has {names} for one case. Keep one of them.")
        if arrays:
            found.append(ProbabilityFile(case, arrays[0], volumes[0] if volumes else None))
        elif len(open_volume(volumes[0]).shape) > 3:
            found.append(ProbabilityFile(case, volumes[0], volumes[0]))
    if not found:
        hint = ""
        if any(is_volume(path) for path in files):
            hint = " The NIfTI files there have no axis of classes: they are label maps or images."
        raise BadInput(f"`{argument}` '{folder}' has no probabilities. Wanted {WANTED}.{hint}")
    check_case_names((one.case for one in found), where=f"`{argument}` '{folder}'")
    return found


def _is_array(path: Path) -> bool:
    return path.suffix.lower() in ARRAYS and not path.name.startswith(".")
