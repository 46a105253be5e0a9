"""A folder of images without targets, for predicting: every picture, or every volume, is a case."""

from pathlib import Path

from sizewise.data.dataset import Case, Dataset
from sizewise.data.file_names import is_picture, is_volume, stem
from sizewise.data.label_rule import LabelRule
from sizewise.data.picture_reader import PictureReader, RegionReader
from sizewise.data.volumes import VolumeReader, count_spatial_dims, open_volume
from sizewise.errors import BadInput
from sizewise.outside_names import check_case_names


def plain_images(path: Path, like: Dataset, *, channels: int, axes: str) -> Dataset:
    """The images at ``path`` (a folder or one file) as cases of a data set like the one that was trained on.

    ``axes`` is how the training volumes were turned, see VolumeReader. Several modalities of a volume are told apart
    as nnU-Net does: CASE_0000.nii.gz, CASE_0001.nii.gz.
    """
    volumes, pictures = _images_at(path)
    found = volumes if like.spatial_dims == 3 or (volumes and not pictures) else pictures
    if not found:
        wanted = "NIfTI volumes" if like.spatial_dims == 3 else "PNG, JPEG, BMP or TIFF pictures"
        if pictures:
            raise BadInput(f"'{pictures[0]}' is a 2D picture, but this run was trained on 3D data. Wanted {wanted}.")
        raise BadInput(
            f"'{path}' has no images that this run, trained on {like.spatial_dims}D data, can read. Wanted {wanted}."
        )
    if found is volumes:
        _check_dims(found, like.spatial_dims)
    cases = _by_modality(found, channels) if found is volumes else [Case(stem(file), (file,)) for file in found]
    names = [case.name for case in cases]
    check_case_names(names, where=f"'{path}'")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise BadInput(f"'{path}' has several images called {', '.join(twice[:5])}: their label maps would overwrite.")
    return Dataset(
        name=like.name,
        classes=like.classes,
        cases=tuple(cases),
        reader=_reader(like, found is volumes, channels, axes),
        spatial_dims=like.spatial_dims,
        modality=like.modality,
        activation=like.activation,
        ignore_index=like.ignore_index,
        background=like.background,
    )


def holds_images(path: Path) -> bool:
    """Whether pictures or volumes lie in the folder itself."""
    return any(_images_at(path))


def _images_at(path: Path) -> tuple[list[Path], list[Path]]:
    """The volumes and the pictures of a folder, or the one that is named."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    files = [file for file in files if file.is_file()]
    return list(filter(is_volume, files)), list(filter(is_picture, files))


def _check_dims(volumes: list[Path], wanted: int) -> None:
    for file in volumes:
        dims = count_spatial_dims(file)
        if dims != wanted:
            shape = "×".join(map(str, open_volume(file).shape))
            raise BadInput(
                f"'{file}' is a {dims}D image ({shape}), but this run was trained on {wanted}D data. "
                + ("Give its slices as pictures." if wanted == 2 else "Wanted volumes with three axes.")
            )


def _reader(like: Dataset, volumes: bool, channels: int, axes: str) -> PictureReader | RegionReader | VolumeReader:
    if volumes:
        regions = tuple((k + 1,) for k in range(len(like.classes))) if like.activation == "sigmoid" else ()
        order = tuple(range(1, len(like.classes) + 1)) if regions else ()
        values = tuple(range(len(like.classes) + (1 if regions else 0)))
        return VolumeReader(
            values,
            spatial_dims=like.spatial_dims,
            axes="canonical" if axes == "canonical" else "stored",
            regions=regions,
            region_order=order,
        )
    if like.activation == "sigmoid":
        return RegionReader(like.classes, channels=channels)
    return PictureReader(LabelRule("ids", len(like.classes)), channels)


def _by_modality(files: list[Path], channels: int) -> list[Case]:
    numbered = [file for file in files if stem(file)[-5:-4] == "_" and stem(file)[-4:].isdigit()]
    if len(numbered) < len(files):
        return [Case(stem(file), (file,)) for file in files]
    groups: dict[str, list[Path]] = {}
    for file in numbered:
        groups.setdefault(stem(file)[:-5], []).append(file)
    for name, members in groups.items():
        if len(members) != channels:
            raise BadInput(f"case {name} has {len(members)} files, but the run was trained on {channels} modalities.")
    return [Case(name, tuple(members)) for name, members in groups.items()]
