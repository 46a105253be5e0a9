"""NIfTI volumes: decoded with their spacing, checked against their label maps, written back in the same geometry."""

import errno
import gzip
import struct
import zlib
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Literal, final

import nibabel as nib
import numpy as np
from nibabel.filebasedimages import ImageFileError
from nibabel.spatialimages import HeaderDataError

from sizewise.data.dataset import Case, Image, Reader
from sizewise.data.file_names import NIFTI_ENDINGS
from sizewise.data.label_volume import write_label_volume
from sizewise.errors import BadInput
from sizewise.outside_names import case_file

FARTHEST_MM = 1e6  # between neighbours
_UNKNOWN = -32768  # no class has this id
_PART = 1 << 24  # bytes
_AS_STORED = np.array([[0, 1], [1, 1], [2, 1]])  # every axis stays, none is flipped

# What a truncated, garbled or mislabelled file makes nibabel and zlib raise (BadGzipFile is an OSError).
_UNREADABLE = (
    ImageFileError, HeaderDataError, OSError, EOFError, ValueError, OverflowError, MemoryError, KeyError, TypeError,
    AttributeError, zlib.error, gzip.BadGzipFile, struct.error, np.linalg.LinAlgError,
)  # fmt: skip


def read_volume(path: Path) -> tuple[np.ndarray, tuple[float, ...], np.ndarray]:
    """The values as stored (scaled where the header says so), the spacing in millimetres and the 4 × 4 affine.

    Axes stay in the file's order. A spacing of 0, which some writers leave, reads as 1.0.
    """
    image = open_volume(path)
    try:
        array = _decoded(image, path)
    except _UNREADABLE as error:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            raise BadInput(f"'{path}' has the shape {image.shape}, which does not fit into memory. Crop it.") from error
        raise BadInput(
            f"'{path}' is truncated or damaged: {_first_line(error)} Copy or download this file again."
        ) from error
    if array.dtype.names:  # an RGB triple a voxel
        array = np.stack([array[name] for name in array.dtype.names], axis=-1)
    if array.dtype.kind not in "iufb":
        raise BadInput(f"'{path}' holds {array.dtype} values. Wanted whole or real numbers.")
    return array, spacing_of(image), image.affine


def _decoded(image: Any, path: Path) -> np.ndarray:
    """The values of an opened file, of which a compressed one is read to its end, where its checksum is.

    Left to nibabel, a flipped bit would be another value: it stops reading where the last voxel ends. And a header that
    promises more than the file has would get the memory for it first.
    """
    header = image.header
    wanted = int(image.dataobj.offset) + prod(map(int, image.shape)) * int(header.get_data_dtype().itemsize)
    if path.name.lower().endswith(".gz"):
        whole = _unpacked(path, wanted)
        if len(whole) < wanted:
            raise EOFError(f"its header promises {wanted} bytes, and it has {len(whole)}")
        image = type(image).from_bytes(whole)
    elif path.stat().st_size < wanted:
        raise EOFError(f"its header promises {wanted} bytes, and it has {path.stat().st_size}")
    return np.asanyarray(image.dataobj)


def _unpacked(path: Path, wanted: int) -> bytes:
    """The first ``wanted`` bytes. What comes after them is read too, for the checksum, and not kept."""
    with gzip.open(path) as file:
        whole = bytearray()
        while len(whole) < wanted and (part := file.read(min(_PART, wanted - len(whole)))):
            whole += part  # a header may promise what no memory holds: as much is asked for as there is
        while file.read(_PART):
            pass
    return bytes(whole)


def open_volume(path: Path) -> Any:
    """The file's header; its values are not read yet."""
    if not path.is_file():
        what = "is a folder, a pipe or a device, and no file" if path.exists() else "does not exist"
        raise BadInput(f"'{path}' {what}. Complete the data set, or take the case off its list.")
    if not path.name.lower().endswith(NIFTI_ENDINGS):
        raise BadInput(f"'{path}' is not a NIfTI file. Wanted a name that ends with .nii.gz or .nii.")
    try:
        image: Any = nib.load(path)
        if min(image.shape, default=0) < 1:
            raise HeaderDataError(f"its header says that it has the shape {image.shape}")
        zooms = tuple(map(float, image.header.get_zooms()[:3]))
        if max(zooms, default=1.0) > FARTHEST_MM:
            raise HeaderDataError(f"its header says that its voxels are {zooms} mm apart")
        return image
    except PermissionError as error:
        raise BadInput(f"'{path}' may not be read: permission denied.") from error
    except _UNREADABLE as error:
        raise BadInput(
            f"'{path}' is truncated or damaged, or not NIfTI: {_first_line(error)} Copy or download this file again."
        ) from error


def spacing_of(image: Any) -> tuple[float, ...]:
    """Millimetres between neighbours along each spatial axis."""
    zooms = image.header.get_zooms()[:3]
    return tuple(float(zoom) if np.isfinite(zoom) and zoom > 0 else 1.0 for zoom in zooms)


def count_spatial_dims(path: Path) -> int:
    """2 for a slice, also one stored as (H, W, 1); else 3."""
    shape = open_volume(path).shape
    return 2 if len(shape) == 2 or (len(shape) == 3 and shape[2] == 1) else 3


@final
@dataclass(frozen=True)
class VolumeReader(Reader):
    """Reads NIfTI cases.

    Attributes:
        values: the value in the label maps of each class, background first.
        spatial_dims: 2 or 3; axes beyond them are channels.
        axes: ``stored``: as in the file; ``canonical``: turned so that they point right, forward and up, for data sets
            whose volumes are stored in several orientations. Written label maps are turned back.
        channels: how many channels an image has to have; 0: any.
        merge: join all foreground classes into class 1.
        ignore_index: a value that stays as it is in the targets.
        regions: for multi-label data, the label values that make up each channel.
        region_order: the value that each region gets in a written label map; later regions lie on top.
    """

    values: tuple[int, ...]
    spatial_dims: int = 3
    axes: Literal["stored", "canonical"] = "stored"
    channels: int = 0
    merge: bool = False
    ignore_index: int | None = None
    regions: tuple[tuple[int, ...], ...] = ()
    region_order: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        ignored = self.ignore_index
        if ignored is not None and (
            ignored == 1 if self.merge else 0 <= ignored < len(self.values) and self.values[ignored] != ignored
        ):
            raise BadInput(
                f"`ignore_index={ignored}` is also the number that a class gets here (labels "
                f"{_list_values(np.array(self.values))}{', merged' if self.merge else ''}). Give the ignored pixels "
                "another value, such as 255."
            )

    def image(self, case: Case) -> Image:
        channels: list[np.ndarray] = []
        spacing: tuple[float, ...] = ()
        for path in case.images:
            array, spacing_here, affine = read_volume(path)
            turn = self._turn(affine)
            channels.extend(_turned(channel, turn) for channel in self._as_channels(array, path))
            order = np.argsort(turn[: len(spacing_here), 0])  # the stored axis behind each axis of the result
            spacing = spacing or tuple(spacing_here[int(axis)] for axis in order)
            if channels[-1].shape != channels[0].shape:
                raise BadInput(
                    f"case {case.name}: the channels differ in size: '{case.images[0]}' has {channels[0].shape}, "
                    f"'{path}' has {channels[-1].shape}. All channels of a case need one size."
                )
        if self.channels and len(channels) != self.channels:
            files = ", ".join(f"'{path}'" for path in case.images)
            raise BadInput(f"case {case.name}: wanted {self.channels} channels, got {len(channels)} in {files}.")
        return Image(np.stack(channels).astype(np.float32, copy=False), spacing[: self.spatial_dims])

    def target(self, case: Case) -> np.ndarray:
        path = case.target[0] if case.target else None
        if path is None:
            raise BadInput(f"case {case.name} has no label map.")
        array, _, affine = read_volume(path)
        channels = self._as_channels(array, path)
        if len(channels) != 1:
            raise BadInput(f"'{path}' has {len(channels)} channels. Wanted one label map.")
        labels = whole_numbers(channels[0], path)
        self._check_geometry(case, labels.shape, affine, path)
        turned = _turned(labels, self._turn(affine))
        return self._to_classes(np.ascontiguousarray(turned), path)

    def check_size(self, case: Case) -> None:
        path = next((one for one in case.target if one is not None), None)
        if path is not None:
            label_map = open_volume(path)
            self._check_geometry(case, label_map.shape[: self.spatial_dims], label_map.affine, path)

    def write(self, labels: np.ndarray, case: Case, folder: Path) -> Path:
        image = open_volume(case.images[0])
        shape = image.shape[: self.spatial_dims] + (1,) * (self.spatial_dims == 2 and len(image.shape) > 2)
        data = _turned(self._to_values(np.asarray(labels)), self._turn_back(image.affine)).reshape(shape)
        return write_label_volume(data, case_file(folder, case.name, ".nii.gz"), like=image)

    def as_stored(self, channels: np.ndarray, case: Case) -> np.ndarray:
        turn = self._turn_back(open_volume(case.images[0]).affine)
        return np.stack([_turned(channel, turn) for channel in channels])

    def _turn(self, affine: np.ndarray) -> np.ndarray:
        """Which canonical axis each stored axis becomes, and whether it is flipped, as nibabel writes it."""
        return nib.orientations.io_orientation(affine) if self.axes == "canonical" else _AS_STORED

    def _turn_back(self, affine: np.ndarray) -> np.ndarray:
        return nib.orientations.ornt_transform(_AS_STORED, self._turn(affine))

    def _as_channels(self, array: np.ndarray, path: Path) -> list[np.ndarray]:
        spatial, rest = array.shape[: self.spatial_dims], array.shape[self.spatial_dims :]
        if len(spatial) < self.spatial_dims or sum(length > 1 for length in rest) > 1 or array.size == 0:
            raise BadInput(
                f"'{path}' has shape {array.shape}. Wanted {self.spatial_dims} spatial axes, then at most one more."
            )
        return list(np.moveaxis(array.reshape(*spatial, -1), -1, 0))

    def _check_geometry(self, case: Case, shape: tuple[int, ...], affine: np.ndarray, path: Path) -> None:
        image = open_volume(case.images[0])
        image_shape = image.shape[: self.spatial_dims]
        if shape != image_shape:
            raise BadInput(f"case {case.name}: '{path}' has size {shape}, its image '{case.images[0]}' {image_shape}.")
        offset_mm = largest_offset_mm(affine, image.affine, image.shape[:3])
        if not offset_mm <= 0.5 * min(spacing_of(image)):  # also when an affine holds NaN
            raise BadInput(
                f"case {case.name}: '{path}' lies up to {offset_mm:.3g} mm away from its image '{case.images[0]}': "
                "their affines differ. Resample the label map to the image, or give both files one affine."
            )

    def _to_classes(self, labels: np.ndarray, path: Path) -> np.ndarray:
        known = np.array(self.values)
        table = np.full(known.max() + 1, _UNKNOWN, dtype=np.int16)  # small: volumes of 10^8 voxels pass through here
        table[known] = np.minimum(np.arange(len(known)), 1 if self.merge else len(known))
        inside = (labels >= 0) & (labels < len(table))
        classes = table[labels] if inside.all() else np.where(inside, table[np.where(inside, labels, 0)], _UNKNOWN)
        if self.ignore_index is not None:
            classes[labels == self.ignore_index] = self.ignore_index
        unknown = classes == _UNKNOWN
        if unknown.any():
            raise BadInput(
                f"'{path}' has the label values {_list_values(labels[unknown])}, which are not among the data set's: "
                f"{_list_values(known)}. Correct the file or the list of labels; name a value that means "
                "'not labelled' by `ignore_index`."
            )
        if self.regions:
            return np.stack([np.isin(labels, region) for region in self.regions]).astype(np.uint8)
        return classes if classes.min() < 0 or classes.max() > 255 else classes.astype(np.uint8)

    def _to_values(self, labels: np.ndarray) -> np.ndarray:
        if self.regions:
            values = np.zeros(labels.shape[1:], dtype=np.int64)
            for channel, value in zip(labels, self.region_order, strict=True):
                values[channel > 0] = value
        elif self.merge:
            values = (labels > 0).astype(np.int64)
        else:
            values = np.array(self.values)[labels]
        return values.astype(np.uint8 if values.max(initial=0) < 256 else np.int32)


def _turned(array: np.ndarray, turn: np.ndarray) -> np.ndarray:
    return array if np.array_equal(turn, _AS_STORED) else nib.orientations.apply_orientation(array, turn)


def whole_numbers(array: np.ndarray, path: Path) -> np.ndarray:
    """Labels as integers; many tools store them as floats."""
    if array.dtype.kind in "iub":
        return array.view(np.uint8) if array.dtype == bool else array
    whole = np.rint(array)
    near = np.abs(array - whole) < 1e-3  # scaling factors of float headers leave crumbs; NaN is near nothing
    broken = ~(near & (np.abs(whole) < 2**31))
    if broken.any():
        raise BadInput(f"'{path}' has label values that are not whole numbers: {_list_values(array[broken])}.")
    return whole.astype(np.int32)


def largest_offset_mm(one: np.ndarray, other: np.ndarray, shape: tuple[int, ...]) -> float:
    """How far the two affines put a corner of the volume apart."""
    lengths = (*shape, 1, 1, 1)[:3]
    corners = np.stack(np.meshgrid(*[(0, length - 1) for length in lengths], indexing="ij"), -1).reshape(-1, 3)
    offsets = corners @ (one - other)[:3, :3].T + (one - other)[:3, 3]
    return float(np.linalg.norm(offsets, axis=1).max())


def _list_values(values: np.ndarray) -> str:
    """The distinct values, at most eight of them."""
    distinct = np.unique(values)
    return ", ".join(f"{value:g}" for value in distinct[:8]) + (", …" if len(distinct) > 8 else "")


def _first_line(error: BaseException) -> str:
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return line if line.endswith(".") else f"{line}."
