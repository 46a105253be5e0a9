"""Which mask values mean which class: decided once per data set, from every mask or from a table of classes.

A rule per file would be wrong: an all-black mask in a set of 0 and 255 is background, and a 255 among 0, 1, 2 is
not class 1. So all masks are read once (threads: decoding lets go of the interpreter), their values are pooled, and
the pool decides:

| values in the data set | read as |
|---|---|
| 0, 1, …, K−1, all of them | class ids |
| 0 and 255 (JPEG: dark and light, cut at 127) | background and foreground |
| anything, with a ``classes.csv`` | by its table |
| anything else, also all of 0, …, 255 | an error that lists the values |
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sizewise.data.class_table import ClassTable, find_class_table, read_class_table
from sizewise.data.file_names import is_jpeg
from sizewise.data.label_rule import WHITE_THRESHOLD, LabelRule, describe_colours, pack_colours
from sizewise.data.open_options import OpenOptions
from sizewise.data.pictures import read_label_picture
from sizewise.errors import BadInput
from sizewise.parallel import map_threads
from sizewise.wording import counted, few

_BLACK_UP_TO, _WHITE_FROM = 32, 223  # where JPEG leaves black and white
_LISTED, _WITH_FILES = 16, 6
# Edges between black and white rather than classes: all values of 8 bits, or more than so many, 0 and 255 among them
_ALL, _SMOOTHED = list(range(256)), 32
_TWO = ("background", "foreground")


@dataclass(frozen=True)
class MaskValues:
    """What one mask file holds.

    Attributes:
        path: the file.
        values: the distinct values; of a JPEG only 0 and 255, the sides of the threshold.
        colours: the distinct colours, packed, of a mask that has some.
        between: of a JPEG, pixels that are neither dark nor light.
        light: of a JPEG, pixels that are not dark.
        brightest: the largest value.
    """

    path: Path
    values: frozenset[int] = frozenset()
    colours: frozenset[int] = frozenset()
    between: int = 0
    light: int = 0
    brightest: int = 0


def mask_values(path: Path) -> MaskValues:
    """Read one mask and say what it holds."""
    raw = read_label_picture(path)
    if raw.ndim == 3:
        return MaskValues(path, colours=frozenset(np.unique(pack_colours(raw)).tolist()))
    counts = np.bincount(raw.ravel()) if raw.dtype.kind == "u" else None
    found = np.flatnonzero(counts) if counts is not None else np.unique(raw)
    if not is_jpeg(path) or counts is None:
        return MaskValues(path, values=frozenset(found.tolist()), brightest=int(found[-1]))
    light, dark = counts[WHITE_THRESHOLD + 1 :].any(), counts[: WHITE_THRESHOLD + 1].any()
    return MaskValues(
        path,
        values=frozenset([0] * bool(dark) + [255] * bool(light)),
        between=int(counts[_BLACK_UP_TO + 1 : _WHITE_FROM].sum()),
        light=int(counts[_BLACK_UP_TO + 1 :].sum()),
        brightest=int(found[-1]),
    )


def scan_masks(paths: Sequence[Path]) -> tuple[list[MaskValues], list[str]]:
    """``mask_values`` of every file that can be read, and a sentence about each of the others."""
    unreadable: list[str] = []

    def scan(path: Path) -> MaskValues | None:
        try:
            return mask_values(path)
        except BadInput as error:  # one damaged file must not hide what else is wrong: the check names them all
            unreadable.append(str(error))
            return None

    masks = [mask for mask in map_threads(scan, paths, what="mask values") if mask is not None]
    if not masks:
        raise BadInput("No mask can be read. " + min(unreadable, default="There is none."))
    return masks, sorted(unreadable)


def label_rule(
    paths: Sequence[Path], *, root: Path, options: OpenOptions
) -> tuple[LabelRule, tuple[str, ...], list[str]]:
    """The rule for a data set's masks, its class names and notes for the user.

    Args:
        paths: all mask files.
        root: where the data set's own ``classes.csv`` may lie.
        options: ``classes_csv``, ``ignore_index`` and ``merge`` are used.
    """
    table_path = options.classes_csv or find_class_table(root)
    if table_path is not None:
        rule, names, notes = _rule_from_table(read_class_table(table_path), table_path, paths, options)
    else:
        masks, unreadable = scan_masks(paths)
        rule, names, notes = _rule_from_values(masks, options)
        if unreadable:
            count = counted(len(unreadable), "mask")
            notes.append(f"{count} cannot be read. {unreadable[0]}")
    if options.merge and len(names) > 2:
        if rule.ignore in (0, 1):
            raise BadInput(f"`ignore_index={rule.ignore}` cannot be told from the merged classes 0 and 1.")
        notes.append(f"Classes {', '.join(names[1:])} are merged into one.")
        names = (names[0], "foreground")
    return rule, names, notes


def _rule_from_table(
    table: ClassTable, path: Path, masks: Sequence[Path], options: OpenOptions
) -> tuple[LabelRule, tuple[str, ...], list[str]]:
    by_colour = bool(table.colours) and (not table.values or read_label_picture(masks[0]).ndim == 3)
    if any(is_jpeg(mask) for mask in masks):
        raise BadInput(
            f"'{path}' names classes by value, but masks are JPEG (such as '{next(filter(is_jpeg, masks))}'), which "
            "does not keep values. Use masks saved as PNG."
        )
    notes = [f"Classes come from {path.name}."]
    if table.ignore is not None:
        notes.append(f"Pixels that {path.name} calls void or ignore count for nothing (label {table.ignore}).")
    pairs = table.colours if by_colour else table.values
    ignore = table.ignore
    if options.ignore_index is not None:
        ignore = options.ignore_index
        if not by_colour and ignore >= 0 and ignore not in dict(pairs):  # tables have no negative values
            pairs = (*pairs, (ignore, ignore))
    rule = LabelRule("colours" if by_colour else "values", len(table.names), pairs, ignore, options.merge)
    return rule, table.names, notes


def _rule_from_values(masks: list[MaskValues], options: OpenOptions) -> tuple[LabelRule, tuple[str, ...], list[str]]:
    _refuse_colours(masks)
    _refuse_grey_jpeg(masks)
    pool = sorted(set().union(*(mask.values for mask in masks)))
    values = [value for value in pool if value != options.ignore_index]
    if values in ([0, 255], [255]):
        if options.ignore_index == 1:
            raise BadInput("`ignore_index=1` cannot be told from the foreground, which 255 becomes here.")
        return LabelRule("binary", 2, ignore=options.ignore_index), _TWO, []
    if any(is_jpeg(mask.path) for mask in masks):
        raise BadInput(
            "Some masks are JPEG, which only keeps black and white, but the others hold classes. "
            + _examples(masks, pool)
        )
    for ids in (values, pool):  # the ignored value is usually beyond the classes, but may be one of them
        if len(ids) >= 2 and len(values) >= 2 and ids == list(range(len(ids))) and values != _ALL:
            names = ("background", *(f"class_{label}" for label in ids[1:])) if len(ids) > 2 else _TWO
            return LabelRule("ids", len(ids), ignore=options.ignore_index, merge=options.merge), names, []
    raise BadInput(_what_is_wrong(values, masks, options) + _examples(masks, pool))


def _refuse_colours(masks: list[MaskValues]) -> None:
    coloured = [mask for mask in masks if mask.colours]
    if coloured:
        found = sorted(set().union(*(mask.colours for mask in coloured)))
        raise BadInput(
            f"{len(coloured)} of {len(masks)} masks hold colours, such as '{coloured[0].path}'. Say which colour is "
            f"which class in a classes.csv with the columns name,r,g,b beside the images folder, or with "
            f"`classes_csv`. Colours found: {describe_colours(found)}."
        )


def _refuse_grey_jpeg(masks: list[MaskValues]) -> None:
    """JPEG masks must be black and white up to compression; other levels would vanish at the threshold unseen."""
    jpegs = [mask for mask in masks if is_jpeg(mask.path)]
    faint = [mask for mask in jpegs if _BLACK_UP_TO < mask.brightest <= WHITE_THRESHOLD]
    all_dark = jpegs and all(mask.brightest <= WHITE_THRESHOLD for mask in jpegs)
    if faint or (all_dark and any(mask.brightest for mask in jpegs)):
        worst = max(faint or jpegs, key=lambda mask: mask.brightest)
        raise BadInput(
            f"JPEG masks are cut at {WHITE_THRESHOLD}, but the brightest value in '{worst.path}' is {worst.brightest}. "
            "JPEG does not keep class values: use masks saved as PNG."
        )
    between, light = sum(mask.between for mask in jpegs), sum(mask.light for mask in jpegs)
    if 2 * between > light > 0:
        worst = max(jpegs, key=lambda mask: mask.between)
        raise BadInput(
            f"JPEG masks must be black and white, but most of what is not black is grey, such as in '{worst.path}'. "
            "JPEG does not keep class values: use masks saved as PNG."
        )


def _what_is_wrong(values: list[int], masks: list[MaskValues], options: OpenOptions) -> str:
    below = [value for value in values if value != 255]
    if values == [0, 1, 255] and not any({1, 255} <= mask.values for mask in masks):  # to ignore half of it unseen
        return (
            "Some masks hold 1 and others 255, and none holds both. If each is the foreground, give both one name in a "
            "classes.csv with the columns name,value; if 255 marks pixels to ignore, say so with `ignore_index=255`. "
        )
    below_whole = len(below) >= 2 and below == list(range(len(below)))
    if values == _ALL or (len(values) > _SMOOTHED and {0, 255} <= set(values) and not below_whole):
        return (
            f"Masks hold {len(values)} values from 0 to 255, as black and white ones do once they were resized or "
            "smoothed. Save them again with 0 and 255 alone, and resize them with nearest neighbours. If the values "
            "are classes, name these in a classes.csv with the columns name,value. "
        )
    if 255 in values and below_whole:
        return (
            f"Masks hold classes 0 to {below[-1]} and the value 255, which usually marks pixels to ignore: say so with "
            "`ignore_index=255`, or name the classes in a classes.csv with the columns name,value. "
        )
    if values in ([], [0]):
        return "No mask holds a region: the values are all 0" + (
            f" or {options.ignore_index} (ignored). " if options.ignore_index is not None else ". "
        )
    return (
        "Mask values must be the classes 0, 1, …, K−1 without a gap, or 0 and 255. Name the classes in a classes.csv "
        "with the columns name,value beside the images folder, or as `classes_csv`. "
    )


def _examples(masks: Sequence[MaskValues], pool: Sequence[int]) -> str:
    """The values found: with a file for each while they are few, else with the mask that holds most of them."""
    if len(pool) > _WITH_FILES:
        worst = max(masks, key=lambda mask: len(mask.values))
        return f"Values found: {few(pool, most=_LISTED)}; {len(worst.values)} of them in '{worst.path}'."
    holders = {value: [mask.path for mask in masks if value in mask.values] for value in pool}
    parts = [
        f"{value} (in {len(files)} of {len(masks)} masks, as '{files[0].name}')" for value, files in holders.items()
    ]
    return f"Values found: {', '.join(parts)}."
