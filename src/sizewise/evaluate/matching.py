"""Two folders of label maps, matched by file stem as images are with masks."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from sizewise.data.file_names import PICTURE_ENDINGS, is_picture, is_volume, plain_files, stem
from sizewise.data.target_names import pair_targets
from sizewise.errors import BadInput
from sizewise.outside_names import check_case_names
from sizewise.wording import counted, few

_NAMED = 8  # files in a message before it says "and more"


@dataclass(frozen=True)
class Pair:
    """One case: the file that was predicted and the file with the truth."""

    name: str
    predicted: Path
    target: Path


def match_folders(predictions: Path, targets: Path, *, cases: str = "all") -> tuple[list[Pair], list[str], list[str]]:
    """The cases of two folders, ordered by name, the predictions without a target, and the targets left out.

    A prediction is named after its image, so a target may be called as a mask of that image is: ``x_mask.png`` is the
    truth of ``x.png``; see :func:`~sizewise.data.target_names.pair_targets`. The case has the target's name, whatever
    each model calls it.

    Files that are no label maps, such as the JSON files that nnU-Net leaves, are passed over. With
    ``cases="predicted"`` a target without a prediction is left out (a fold's validation cases among all targets, say);
    with "all" it is an error, since a score over fewer cases looks like any other.

    Raises:
        BadInput: a folder has no label map or one stem twice, or a target has no prediction.
    """
    if cases not in ("all", "predicted"):
        raise BadInput(f"`cases` must be all or predicted, got {cases!r}.")
    predicted, wanted = _label_maps(predictions, "predictions"), _label_maps(targets, "targets")
    partners = pair_targets(predicted, wanted, targets)
    missing = sorted(wanted.keys() - partners.values())
    if len(missing) == len(wanted):
        raise BadInput(
            f"No prediction belongs to a target: '{predictions}' has {_some(sorted(predicted), 3)}; '{targets}' has "
            f"{_some(missing, 3)}. Wanted files of the same names (the ending may differ, and a label map's name may "
            "end in _mask or the like). Are these the folders of one data set?"
        )
    if missing and cases == "all":
        raise BadInput(
            f"{len(missing)} of {counted(len(wanted), 'target has', 'targets have')} no prediction: "
            f"{_some(missing, _NAMED)}. Wanted in '{predictions}' a file of the same name for each label map "
            "(the ending may differ, and a label map's name may end in _mask or the like). Predict the missing cases, "
            "or score those that are there with `cases=predicted`."
        )
    pairs = [
        Pair(mine, predicted[name], wanted[mine]) for name, mine in sorted(partners.items(), key=lambda one: one[1])
    ]
    return pairs, sorted(predicted.keys() - partners.keys()), missing


def _label_maps(folder: Path, argument: str) -> dict[str, Path]:
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        raise BadInput(f"`{argument}` '{folder}' {what}. Wanted a folder of label maps.")
    try:
        files = plain_files(folder, _is_label_map)
    except OSError as error:
        raise BadInput(f"`{argument}` '{folder}' cannot be listed: {error.strerror}.") from error
    found: dict[str, list[Path]] = defaultdict(list)
    for path in files:
        found[stem(path)].append(path)
    if not found:
        inside = [path.parent.relative_to(folder) for path in sorted(folder.glob("*/*")) if _is_label_map(path)]
        hint = ""
        if inside:
            hint = (
                f" There are some in its folder '{inside[0]}': give that one. Multi-label maps have a folder for each "
                "class; scoring while you predict takes all classes at once."
            )
        raise BadInput(
            f"`{argument}` '{folder}' has no label map. Wanted {', '.join(PICTURE_ENDINGS)}, .nii or .nii.gz.{hint}"
        )
    if twice := [paths for paths in found.values() if len(paths) > 1]:
        names = ", ".join(f"'{path.name}'" for path in twice[0])
        raise BadInput(f"`{argument}` '{folder}' has {names} for one case. Keep one file for each stem.")
    check_case_names(found, where=f"`{argument}` '{folder}'")
    return {name: paths[0] for name, paths in found.items()}


def _is_label_map(path: Path) -> bool:
    return is_picture(path) or is_volume(path)


def _some(names: list[str], most: int) -> str:
    return few([f"'{name}'" for name in names], most=most)
