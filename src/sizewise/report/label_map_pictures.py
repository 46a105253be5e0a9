"""Pictures of cases that somebody else predicted, so that such a report has a gallery too."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sizewise.data.dataset import Image
from sizewise.data.file_names import is_picture, is_volume, stem
from sizewise.data.pairs import pair_names
from sizewise.data.pictures import read_picture
from sizewise.data.volumes import read_volume
from sizewise.errors import BadInput
from sizewise.evaluate.label_pair import read_pair
from sizewise.evaluate.matching import Pair, match_folders
from sizewise.progress import track
from sizewise.report.saved import pictures_in
from sizewise.report.scores import Scores

FOLDER = "pictures"


@dataclass(frozen=True)
class PicturedModel:
    """What the gallery reads of a run, for a model that was trained elsewhere."""

    setting: str
    arm: str
    seed: str
    overlays: Mapping[str, Path]


def save_pictures(
    out: Path,
    predictions: Mapping[str, Sequence[Path]],
    targets: Path,
    images: Path,
    *,
    cases: Sequence[str],
    classes: Sequence[int] | None = None,
    ignore_index: int | None = None,
) -> None:
    """Write small pictures of some cases to ``out/pictures``, one folder for each model's first predictions.

    Args:
        out: the folder of the report.
        predictions: the folders of each model; the first is shown.
        targets: of true label maps.
        images: their images, of the same stems; nnU-Net's ``_0000`` may follow.
        cases: the names of those that were scored.
        classes: the ids that are scored.
        ignore_index: target pixels that count for nothing.
    """
    from sizewise.train.case_pictures import KEPT  # brings torch, for which a report without pictures does not wait

    files = _images_of(images, cases)
    shown = sorted(files)[:: -(-len(files) // KEPT)]
    for name, several in predictions.items():
        pairs = {pair.name: pair for pair in match_folders(several[0], targets, cases="predicted")[0]}
        folder = out / FOLDER / quote(name, safe=" ")
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.npz"):
            old.unlink()
        for case in track([one for one in shown if one in pairs], what=f"pictures of {name}"):
            _save(folder, files[case], pairs[case], classes, ignore_index)


def pictured_models(study: Path, scores: Scores) -> list[PicturedModel]:
    """The models of a study of label maps that have pictures."""
    first = scores.seeds[0] if scores.seeds else ""
    found = ((arm, pictures_in(study / FOLDER / quote(arm, safe=" "))) for arm in scores.arm_names)
    return [PicturedModel(scores.settings[0], arm, first, pictures) for arm, pictures in found if pictures]


def _images_of(folder: Path, cases: Sequence[str]) -> dict[str, Path]:
    """By case, its image."""
    if not folder.is_dir():
        raise BadInput(f"`images` '{folder}' is not a folder. Wanted the images that the label maps are of.")
    files = {stem(path): path for path in sorted(folder.iterdir()) if is_picture(path) or is_volume(path)}
    partner = pair_names(files, cases)
    found = {case: files[name] for name, case in partner.items()}
    if not found:
        example = f", such as '{next(iter(files.values())).name}'" if files else ""
        raise BadInput(
            f"`images` '{folder}' has no image of a case: it holds {len(files)} images{example}; the first case is "
            f"'{min(cases)}'. Wanted files of the same names (the ending may differ)."
        )
    return found


def _save(folder: Path, path: Path, pair: Pair, classes: Sequence[int] | None, ignore_index: int | None) -> None:
    from sizewise.train.case_pictures import save_overlay

    maps = read_pair(pair, classes=None if classes is None else tuple(classes), ignore_index=ignore_index)
    predicted, target = maps.predicted.labels, maps.target.labels
    if is_volume(path):
        raw, spacing, _ = read_volume(path)
        pixels = raw.reshape(raw.shape[: target.ndim])[None] if raw.size == target.size else raw[None]
        image = Image(pixels.astype("float32"), spacing[: target.ndim])
    else:
        image = Image(read_picture(path), (1.0, 1.0))
    if image.pixels.shape[1:] != target.shape:
        raise BadInput(
            f"'{path}' has size {image.pixels.shape[1:]}, but the label map '{pair.target}' {target.shape}. Give "
            "`images` in the size of the label maps."
        )
    if ignore_index is not None:
        ignored = target == ignore_index
        predicted, target = predicted * ~ignored, target * ~ignored
    save_overlay(folder, pair.name, image, predicted, target)
