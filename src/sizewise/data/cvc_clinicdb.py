"""CVC-ClinicDB: 612 frames of 29 colonoscopy sequences with polyp masks (Bernal et al., CMIG 2015).

Source: https://polyp.grand-challenge.org/CVCClinicDB/ (``CVC-ClinicDB.rar``, on request); also on Kaggle as PNG.
Licence: research and education, with citation; no commercial use.

Layout as published, and as passed around on Kaggle (PNG beside TIF, with ``metadata.csv``), 384×288 pixels::

    Original/1.tif      Ground Truth/1.tif
    PNG/Original/1.png  PNG/Ground Truth/1.png  TIF/…  metadata.csv

The frames are video: neighbours are nearly equal, so a split by frame would test on what was trained on. A sequence
stays on one side of the split (80 / 10 / 10 as in the paper, counted in frames). Where the sequences come from:

1. ``metadata.csv``, if there is one with the columns ``sequence_id`` and ``frame_id`` (or a path);
2. the table of the data set's page, in which frames 1 … 612 are 29 runs (as reproduced by Dataset Ninja,
   https://github.com/dataset-ninja/cvc-612, ABSTRACT.md), if all 612 are there under those numbers. A part of them
   that keeps its numbers (so there are gaps) is grouped so too, but runs whose border frames look alike are joined;
3. else, as with frames that were renamed or counted anew, the likeness of the frames (``frame_groups``).

The data set's notes say which of the three it was.
"""

from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from sizewise.csv_files import read_rows
from sizewise.data.dataset import Case, Dataset
from sizewise.data.frame_groups import alike_frames, group_frames, natural_key
from sizewise.data.label_rule import LabelRule
from sizewise.data.open_options import OpenOptions, refuse_unused
from sizewise.data.pairs import find_cases
from sizewise.data.picture_reader import PictureReader
from sizewise.errors import BadInput

NAME = "cvc-clinicdb"
LAYOUT = "Original/ and 'Ground Truth'/ (also inside PNG/ or TIF/)"
SOURCE = "https://polyp.grand-challenge.org/CVCClinicDB/"
LICENCE = "research and education, no commercial use"

FRAMES = 612
# First frame of each of the 29 sequences, from the table cited above.
SEQUENCE_STARTS = (
    1, 26, 51, 68, 79, 104, 127, 152, 178, 200, 206, 228, 253, 278, 298, 318, 343, 364, 384, 409, 429, 448, 467, 479,
    504, 529, 547, 572, 592,
)  # fmt: skip


def recognise(path: Path) -> bool:
    """Whether there are the folders ``Original`` and ``Ground Truth``, here or in ``PNG`` or ``TIF``."""
    return _root_of(path) is not None


def _root_of(path: Path) -> Path | None:
    """The folder that holds the two; PNG first, where both are there, since it decodes faster."""
    candidates = (path, path / "PNG", path / "TIF", path / "TIFF")
    return next((root for root in candidates if _has(root, "original") and _has(root, "ground truth")), None)


def _has(root: Path, name: str) -> bool:
    return root.is_dir() and any(entry.is_dir() and entry.name.lower() == name for entry in root.iterdir())


def load(path: Path, *, options: OpenOptions) -> Dataset:
    """Open CVC-ClinicDB with ``Case.group`` set to the sequence."""
    refuse_unused(options, where=NAME, used=("merge",))
    root = _root_of(path)
    if root is None:
        raise BadInput(f"{NAME}: wanted the folders Original and 'Ground Truth' in '{path}'. Source: {SOURCE}")
    cases, notes = find_cases(root, where=NAME)
    cases = tuple(sorted(cases, key=lambda case: natural_key(case.images[0])))
    groups, where_from = sequences_of(cases, path)
    return Dataset(
        name=NAME,
        classes=("background", "polyp"),
        cases=tuple(replace(case, group=f"sequence {group}") for case, group in zip(cases, groups, strict=True)),
        reader=PictureReader(LabelRule("threshold", 2), channels=3),
        spatial_dims=2,
        fractions=(0.8, 0.1, 0.1),
        source=SOURCE,
        licence=LICENCE,
        notes=(where_from, *notes),
    )


def sequences_of(cases: tuple[Case, ...], path: Path) -> tuple[list[int], str]:
    """The sequence of each frame, and a sentence that says how it is known."""
    table = path / "metadata.csv"
    if table.is_file():
        return _from_metadata(cases, table), f"Frames are grouped into sequences by {table.name}."
    images = [case.images[0] for case in cases]
    numbers = [int(case.name) if case.name.isdecimal() else 0 for case in cases]
    complete = len(numbers) == FRAMES and max(numbers) == FRAMES
    has_gaps = max(numbers, default=0) > len(numbers)
    if all(1 <= number <= FRAMES for number in numbers) and (complete or has_gaps):
        runs = [sum(start <= number for start in SEQUENCE_STARTS) for number in numbers]
        if complete:
            return runs, "Frames are grouped into the 29 sequences of the data set's page."
        return _joined(runs, images), (
            f"Only {len(cases)} of the {FRAMES} frames are here: grouped by the table of sequences on the data set's "
            "page, joined where frames on both sides of a border look alike."
        )
    groups = group_frames(images)
    return groups, (
        "The files do not carry the frame numbers of the release, so their sequences are not known: frames are grouped "
        f"by how alike they look ({max(groups, default=0)} groups). A sequence may be in several groups."
    )


def _joined(runs: list[int], images: list[Path]) -> list[int]:
    next_alike, _ = alike_frames(images)
    groups = [1]
    for run, next_run, alike in zip(runs, runs[1:], next_alike.tolist(), strict=False):
        groups.append(groups[-1] + (run != next_run and not alike))
    return groups


def _from_metadata(cases: tuple[Case, ...], table: Path) -> list[int]:
    columns, *lines = read_rows(table, what="a table of frames") or [[]]
    rows = [dict(zip_longest(columns, line[: len(columns)], fillvalue="")) for line in lines]
    named_by = [column for column in columns if column == "frame_id" or column.endswith("_image_path")]
    if "sequence_id" not in columns or not named_by:
        raise BadInput(
            f"{NAME}: '{table}' must have the columns frame_id and sequence_id, got {','.join(columns) or 'no rows'}. "
            "Remove the file to group the frames otherwise."
        )
    sequence_of = {Path(row[column]).stem: row["sequence_id"] for row in rows for column in named_by if row[column]}
    missing = [case.name for case in cases if case.name not in sequence_of]
    if missing:
        raise BadInput(f"{NAME}: '{table}' does not name {len(missing)} frames, such as '{missing[0]}'.")
    order = {name: number for number, name in enumerate(dict.fromkeys(sequence_of.values()), start=1)}
    return [order[sequence_of[case.name]] for case in cases]
