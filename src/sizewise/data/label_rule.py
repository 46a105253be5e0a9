"""How the values in mask files become class ids: one rule for a whole data set."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final

import numpy as np

from sizewise.data.file_names import is_jpeg
from sizewise.data.pictures import read_label_colours, read_label_picture
from sizewise.errors import BadInput
from sizewise.wording import few

WHITE_THRESHOLD = 127
_TABLE_SIZE = 1 << 24
_LISTED = 12
_JPEG_NOISE = 32  # compression moves black by a few levels, never by this much


@final
@dataclass(frozen=True)
class LabelRule:
    """Turns a mask file into class ids.

    Attributes:
        kind: ``ids``: values 0 … K−1 as they are. ``binary``: 0 and 255, where JPEG is cut at 127. ``threshold``: any
            grey above 127 is class 1, for data sets known to be drawn so. ``values``, ``colours``: by ``table``.
        classes: K as in the files, before merging.
        table: pairs of class id and, before it, the mask value or the colour as r·65536 + g·256 + b.
        ignore: the label that counts for nothing; kept as it is.
        merge: every class but 0 becomes 1.
    """

    kind: Literal["ids", "binary", "threshold", "values", "colours"]
    classes: int
    table: tuple[tuple[int, int], ...] = ()
    ignore: int | None = None
    merge: bool = False

    def read(self, path: Path) -> np.ndarray:
        """(H, W) class ids of a mask file; a value without a class is a BadInput that names file and values."""
        if self.kind == "colours":
            ids = self._look_up(pack_colours(read_label_colours(path)), path)
        else:
            raw = read_label_picture(path)
            if raw.ndim == 3:
                raise BadInput(
                    f"'{path}' holds colours ({describe_colours(np.unique(pack_colours(raw)))}), "
                    "where the data set's other masks hold class values."
                )
            ids = self._from_values(raw, path)
        if not self.merge:
            return ids
        merged = (ids > 0).astype(ids.dtype)
        if self.ignore is not None:
            merged[ids == self.ignore] = self.ignore
        return merged

    def _from_values(self, raw: np.ndarray, path: Path) -> np.ndarray:
        if self.kind == "ids":
            return self._checked_ids(raw, path)
        if self.kind == "values":
            return self._look_up(raw, path)
        ignored = None if self.ignore is None else raw == self.ignore
        if ignored is not None:
            raw = np.where(ignored, 0, raw)
        white = raw > WHITE_THRESHOLD
        brightest = int(raw.max()) if raw.size else 0
        if not white.any() and brightest > (_JPEG_NOISE if is_jpeg(path) else 0):
            raise BadInput(
                f"'{path}' should be black and white (0 and 255), but its brightest value is {brightest}. "
                f"{_list_values(raw)}"
            )
        if self.kind == "binary" and not is_jpeg(path) and ((raw != 0) & (raw != 255)).any():
            raise BadInput(f"'{path}' should hold only 0 and 255, as the other masks do. {_list_values(raw)}")
        ids: np.ndarray = white.astype(self._dtype)
        if ignored is not None:
            ids[ignored] = self.ignore
        return ids

    def _checked_ids(self, raw: np.ndarray, path: Path) -> np.ndarray:
        wrong = raw >= self.classes
        if raw.dtype.kind == "i":
            wrong |= raw < 0
        if self.ignore is not None:
            wrong &= raw != self.ignore
        if wrong.any():
            raise BadInput(
                f"'{path}' should hold classes 0 to {self.classes - 1}"
                + (f" or {self.ignore} (ignored)" if self.ignore is not None else "")
                + f". {_list_values(raw)}"
            )
        return raw.astype(self._dtype, copy=False)

    def _look_up(self, raw: np.ndarray, path: Path) -> np.ndarray:
        # A table over all 2^24 colours or values: fresh zero pages cost nothing until touched, and no sort is needed.
        ids = np.zeros(_TABLE_SIZE, dtype=np.uint16)
        for value, label in self.table:
            ids[value] = label + 1
        if raw.dtype.kind == "i" and raw.size and (int(raw.min()) < 0 or int(raw.max()) >= _TABLE_SIZE):
            raise BadInput(f"'{path}' holds values that the table of classes does not name. {_list_values(raw)}")
        found = ids[raw]
        if not found.all():
            unknown = np.unique(raw[found == 0]).tolist()
            listed = describe_colours(unknown) if self.kind == "colours" else few(unknown, most=_LISTED)
            raise BadInput(
                f"'{path}' holds {self.kind} that the table of classes does not name: {listed}. Add a row for each."
            )
        found -= 1
        return found.astype(self._dtype)

    @property
    def _dtype(self) -> type:
        labels = (self.classes - 1, self.ignore or 0)
        return np.uint8 if min(labels) >= 0 and max(labels) < 256 else np.int32


def pack_colours(colours: np.ndarray) -> np.ndarray:
    """(H, W, 3) colours as one number each, r·65536 + g·256 + b.

    >>> pack_colours(np.array([[[1, 2, 3]]], dtype=np.uint8)).tolist() == [[65536 + 512 + 3]]
    True
    """
    wide = colours.astype(np.int32)
    return (wide[..., 0] << 16) | (wide[..., 1] << 8) | wide[..., 2]


def describe_colours(packed: "np.ndarray | list[int]") -> str:
    """Colours as text, at most twelve of them.

    >>> describe_colours([65536 + 512 + 3])
    '(1, 2, 3)'
    """
    return few([(int(c) >> 16, (int(c) >> 8) & 255, int(c) & 255) for c in packed], most=_LISTED)


def _list_values(raw: np.ndarray) -> str:
    return f"Values found: {few(np.unique(raw).tolist(), most=_LISTED)}."
