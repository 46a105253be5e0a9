"""Decode and write 2D pictures: PNG, JPEG, BMP and TIFF, with the odd forms in which masks are stored."""

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import ExifTags, Image, ImageOps

from sizewise.data.file_names import is_jpeg, is_volume
from sizewise.errors import BadInput
from sizewise.files import replacing

# What Pillow raises on files that are cut off, overwritten or not pictures at all; a UserWarning only where warnings
# are errors.
_BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    TypeError,
    KeyError,
    IndexError,
    struct.error,
    zlib.error,
    UserWarning,
)
_WHITE_LEVELS = (255, 1023, 4095, 16383, 65535)  # cameras and scanners store 8, 10, 12, 14 or 16 bits
_SWAPS_AXES = (5, 6, 7, 8)  # EXIF orientations that turn the picture on its side


@contextmanager
def _opened(path: Path, *, decode: bool = True) -> Iterator[Image.Image]:
    """The decoded picture; whatever goes wrong becomes a BadInput that names the file."""
    try:
        if path.exists() and not path.is_file():
            raise BadInput(f"'{path}' is no file, but a folder, a pipe or a device. Remove it, or name another.")
        with Image.open(path) as image:
            if getattr(image, "n_frames", 1) > 1:
                raise BadInput(
                    f"'{path}' holds {image.n_frames} pages; a 2D picture must have one. "  # type: ignore[attr-defined]
                    "Save each page as its own file, or the stack as NIfTI for 3D."
                )
            if decode:
                image.load()
            yield image
    except BadInput:
        raise
    except FileNotFoundError as error:
        raise BadInput(f"'{path}' does not exist.") from error
    except PermissionError as error:
        raise BadInput(f"'{path}' may not be read: permission denied.") from error
    except Image.DecompressionBombError as error:
        raise BadInput(f"'{path}' is too large to decode: {error} Cut it into tiles.") from error
    except _BROKEN as error:
        if is_volume(path):
            raise BadInput(
                f"'{path}' is a volume, and a picture was wanted. Images and masks must both be pictures or both be "
                "volumes: save its slices as pictures, or the images as NIfTI."
            ) from error
        raise BadInput(
            f"'{path}' cannot be read as a picture; it is truncated, damaged, or of a kind that is not supported "
            f"({type(error).__name__}: {error}). Copy the file again, or save it as 8-bit PNG."
        ) from error


def _upright(image: Image.Image) -> Image.Image:
    """Apply the EXIF orientation; most pictures have none, and are not copied."""
    turned = image.getexif().get(ExifTags.Base.Orientation, 1) != 1
    return ImageOps.exif_transpose(image) if turned else image


def picture_size(path: Path) -> tuple[int, int]:
    """(H, W) as shown, so after EXIF orientation, from the header alone."""
    with _opened(path, decode=False) as image:
        width, height = image.size
        turned = image.getexif().get(ExifTags.Base.Orientation) in _SWAPS_AXES
        return (width, height) if turned else (height, width)


def picture_channels(path: Path) -> int:
    """1 for a grey picture, 3 for colour, from the header alone."""
    with _opened(path, decode=False) as image:
        return 1 if image.mode in ("1", "L", "LA", "La", "F", "I") or image.mode.startswith("I;") else 3


def read_picture(path: Path) -> np.ndarray:
    """Decode an image to (C, H, W) uint8; C is 1 for grey and 3 for colour.

    EXIF orientation is applied, transparency dropped, palettes resolved, CMYK turned to RGB. Grey levels of more than
    8 bits are scaled linearly so that the white of the smallest usual bit depth (8, 10, 12, 14, 16) that holds the
    picture's maximum becomes 255.

    Raises:
        BadInput: the file is missing, truncated, damaged, has several pages or holds fractions.
    """
    with _opened(path) as image:
        upright = _upright(image)
        mode = upright.mode
        if mode == "F":
            raise BadInput(f"'{path}' holds fractions (32-bit float); save it as 8-bit or 16-bit integers.")
        if mode == "I" or mode.startswith("I;"):
            return _eight_bits(np.asarray(upright), path)[None]
        grey = mode in ("1", "L", "LA", "La")
        wanted = "L" if grey else "RGB"
        pixels = np.asarray(upright if mode == wanted else upright.convert(wanted))
    return pixels[None].copy() if grey else np.ascontiguousarray(pixels.transpose(2, 0, 1))


def _eight_bits(levels: np.ndarray, path: Path) -> np.ndarray:
    darkest, brightest = (int(levels.min()), int(levels.max())) if levels.size else (0, 0)
    if darkest < 0 or brightest > _WHITE_LEVELS[-1]:
        raise BadInput(f"'{path}' holds grey levels from {darkest} to {brightest}; wanted 0 to 65535 at most.")
    white = next(level for level in _WHITE_LEVELS if brightest <= level)
    return np.rint(levels.astype(np.float32) * (255.0 / white)).astype(np.uint8)


def read_label_picture(path: Path) -> np.ndarray:
    """Decode a mask to the values that are stored in it: (H, W) integers, or (H, W, 3) uint8 if it has colours.

    1-bit masks and palettes of only black and white become 0 and 255; other palettes give the index, which is where
    label maps with a palette keep the class. RGB whose three channels agree is grey. Transparency is dropped.
    """
    with _opened(path) as image:
        upright = _upright(image)
        if upright.mode == "P":
            return np.array(upright.convert("L")) if _black_and_white(upright) else np.array(upright)
        if upright.mode in ("1", "LA", "La"):
            return np.array(upright.convert("L"))
        if upright.mode == "F":
            return _whole_numbers(np.asarray(upright), path)
        if upright.mode == "L" or upright.mode == "I" or upright.mode.startswith("I;"):
            return np.array(upright)
        colours = np.array(upright.convert("RGB"))
        if is_jpeg(path) and _nearly_grey(colours):
            return np.array(upright.convert("L"))
    grey = colours[..., 0]
    if np.array_equal(grey, colours[..., 1]) and np.array_equal(grey, colours[..., 2]):
        return np.ascontiguousarray(grey)
    return colours


def read_label_colours(path: Path) -> np.ndarray:
    """Decode a mask to its colours, (H, W, 3) uint8, palettes resolved: for class tables that name colours."""
    with _opened(path) as image:
        return np.array(_upright(image).convert("RGB"))


def read_region(path: Path) -> np.ndarray:
    """Decode the mask of one region to (H, W) uint8, 1 inside: whatever is not black (JPEG: above 127).

    Such masks come as 1-bit, as grey of any level, and as colour or palette on black; the level carries no class.
    """
    with _opened(path) as image:
        upright = _upright(image)
        if upright.mode == "1":
            return (np.asarray(upright).view(np.uint8) != 0).view(np.uint8)  # Pillow's True is the byte 255
        if upright.mode in ("F", "I") or upright.mode.startswith("I;"):
            return (np.asarray(upright) > 0).astype(np.uint8)
        grey = np.asarray(upright.convert("L"))
    return (grey > (127 if is_jpeg(path) else 0)).view(np.uint8)


def _nearly_grey(colours: np.ndarray) -> bool:
    """Whether a JPEG was grey before compression, which lets the channels drift apart at edges."""
    spread = colours.max(axis=-1) - colours.min(axis=-1)
    return bool((spread > 64).mean() < 0.001)


def _black_and_white(image: Image.Image) -> bool:
    """Whether the palette holds black and white alone: such a file is a 1-bit picture, whichever index is which."""
    palette = image.getpalette("RGB") or []
    entries = {tuple(palette[start : start + 3]) for start in range(0, len(palette), 3)}
    return bool(entries) and entries <= {(0, 0, 0), (255, 255, 255)}


def _whole_numbers(values: np.ndarray, path: Path) -> np.ndarray:
    if not np.isfinite(values).all() or (values != np.rint(values)).any():
        raise BadInput(f"'{path}' holds fractions; a mask must hold whole numbers, one per class.")
    return values.astype(np.int32)


def write_label_picture(labels: np.ndarray, path: Path) -> Path:
    """Write class ids (H, W) as PNG and return its path: palette for ids up to 255, else 16-bit grey.

    The stored values are the ids; the palette only makes them visible. ``read_label_picture`` gives them back.
    """
    largest = int(labels.max()) if labels.size else 0
    if labels.ndim != 2 or (labels.size and int(labels.min()) < 0) or largest > 65535:
        raise ValueError(f"write_label_picture: wanted (H, W) ids from 0 to 65535, got {labels.shape} up to {largest}.")
    if largest > 255:
        picture = Image.fromarray(labels.astype(np.uint16))
    else:
        picture = Image.fromarray(labels.astype(np.uint8))
        picture.putpalette(class_palette())  # turns mode L into P with the same values
    with replacing(path) as partial:
        picture.save(partial, format="PNG")
    return path


def class_palette() -> list[int]:
    """256 colours, r, g, b in turn, that tell neighbouring ids apart: the bits of the id spread over the channels.

    >>> class_palette()[:6]
    [0, 0, 0, 128, 0, 0]
    """
    channels = []
    for label in range(256):
        for channel in range(3):
            bits = ((label >> channel) & 1, (label >> (channel + 3)) & 1, (label >> (channel + 6)) & 1)
            channels.append(bits[0] << 7 | bits[1] << 6 | bits[2] << 5)
    return channels
