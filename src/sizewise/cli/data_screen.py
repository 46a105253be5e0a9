"""What ``sizewise data`` prints and writes."""

import shlex
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sizewise.cli.flags import in_flags
from sizewise.cli.show import show_next, show_sentences, show_table
from sizewise.data.check import CheckResult, Finding
from sizewise.data.dataset import Case, Dataset
from sizewise.data.size_table import (
    COLUMNS,
    percent,
    plot_sizes,
    shares,
    size_bins,
    size_rows,
    write_plot,
    write_sizes,
)
from sizewise.data.split import Split
from sizewise.data.split_draw import group_cases
from sizewise.data.split_options import SplitOptions, drawn, make_split
from sizewise.data.strata import kinds
from sizewise.errors import BadInput
from sizewise.wording import counted, few

_SHOWN = 30


def make_folder(folder: Path) -> None:
    """Make the folder for the results, or say why it can't be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"--out '{folder}' can't be made: {error.strerror}.") from error


def show_dataset(dataset: Dataset, result: CheckResult, options: SplitOptions) -> list[Split]:
    """What it is, its cases, its split, and a table of region sizes; returns the split, or that of every fold."""
    kind = f"{dataset.spatial_dims}D, {', '.join(dataset.modality)}"
    several = ", multi-label (regions may overlap)" if dataset.activation == "sigmoid" else ""
    ignored = "" if dataset.ignore_index is None else f"; label {dataset.ignore_index} is ignored"
    print(f"{dataset.name}: {kind}{several}{ignored}")
    for what, text in (("source", dataset.source), ("licence", dataset.licence)):
        if text:
            show_sentences(f"{what}: {text}")
    for note in dataset.notes:
        show_sentences(f"note: {in_flags(note)}")
    show_sentences(f"scored: {_scored(dataset)}")
    show_sentences(f"cases: {_count_subsets(dataset)}")
    splits = show_split(dataset, result, options)
    if result.sizes:
        title = f"Region sizes of {counted(len(result.sizes), 'case')}"
        show_table(title, COLUMNS, size_rows(dataset, result.sizes), heads=1, drawn=COLUMNS[-1:])
        left = percent(float(size_bins(shares(result.sizes))[0]))
        show_sentences(
            "(Shares of the image's pixels. Median, smallest and largest are over the cases where the class is there. "
            f"The distribution runs from {left} to 100 % on a logarithmic scale.)"
        )
    return splits


def _scored(dataset: Dataset) -> str:
    """Which classes scores count; who called label 0 something else is told that it is left out."""
    names = few([f"{name} ({k})" for k, name in dataset.scored.items()], most=_SHOWN)
    if dataset.activation == "sigmoid":
        return names
    if not dataset.background:
        return f"every class: {names}"
    zero = dataset.classes[0]
    hint = "" if zero.lower() == "background" or len(dataset.classes) == 2 else "; --background none scores it too"
    return f"{names}. Label 0, {zero}, is the background{hint}"


def _count_subsets(dataset: Dataset) -> str:
    counts = Counter(case.subset or "no subset given" for case in dataset.cases)
    parts = ", ".join(f"{subset} {count}" for subset, count in counts.items())
    without = sum(not case.target for case in dataset.cases)
    groups = {case.group for case in dataset.cases} - {""}
    parts += f"; {counted(len(group_cases(dataset.cases)), 'group')}" if groups else ""
    return f"{len(dataset.cases)} ({parts})" + (f", {without} of them without a label map" if without else "")


def show_split(dataset: Dataset, result: CheckResult, options: SplitOptions) -> list[Split]:
    """Cases and groups on each side, or in each fold, and where that comes from; none where it cannot be split."""
    first = dataset.first_id
    held = {
        size.case: tuple(at for at, count in enumerate(size.counts, start=first) if at and count)
        for size in result.sizes
    }
    try:
        strata = kinds(held) if dataset.spatial_dims == 2 else {}
        every = [replace(options, fold=fold) for fold in range(options.folds)] or [options]
        splits = [make_split(dataset, one, strata=strata) for one in every]
    except BadInput as error:
        if options != SplitOptions():  # asked for by the user, so it is his to correct
            raise
        print(f"split: {in_flags(str(error))}")
        return []
    by_name = {case.name: case for case in dataset.cases}
    empty = {case for case, classes in held.items() if not classes}
    described = []
    for number, split in enumerate(splits, start=1):
        sides = ("train", "validation", "test") if len(splits) == 1 else ("test",)
        parts = [_side(side, [by_name[name] for name in getattr(split, side)], empty) for side in sides]
        described.append((f"fold {number} " if len(splits) > 1 else "") + ", ".join(parts))
    show_sentences(f"split: {'; '.join(described)}{_where_from(dataset, splits[0], options)}")
    return splits


def _side(side: str, cases: list[Case], empty: set[str]) -> str:
    """One side with its cases, its groups where they are known, and its empty masks.

    >>> _side("test", [Case("a", (), group="p"), Case("b", (), group="p")], {"a"})
    'test 2 (1 group, 1 empty mask)'
    """
    said = [counted(len(group_cases(cases)), "group")] if any(case.group for case in cases) else []
    without = sum(case.name in empty for case in cases)
    said += [counted(without, "empty mask")] if without else []
    return f"{side} {len(cases)}" + (f" ({', '.join(said)})" if said else "")


def _where_from(dataset: Dataset, split: Split, options: SplitOptions) -> str:
    if options.table:
        return f", as {options.table} says"
    if drawn(dataset, options):
        return ", drawn with seed 0"
    subsets = {case.name: case.subset for case in dataset.cases}
    validation_stands = all(subsets[name] == "validation" for name in split.validation)
    return ", as the data set says" + ("" if validation_stands else "; validation drawn from train with seed 0")


def write_files(dataset: Dataset, result: CheckResult, folder: Path) -> tuple[Path, ...]:
    """Write sizes.csv and the plot; returns the files. Without any readable label map there is nothing to write."""
    if not result.sizes:
        return ()
    try:
        write_sizes(dataset, result.sizes, folder / "sizes.csv")
        return folder / "sizes.csv", *write_plot(plot_sizes(dataset, result.sizes), folder)
    except OSError as error:
        raise BadInput(f"--out '{folder}' can't be written to: {error.strerror}.") from error


def _lines(findings: Sequence[Finding]) -> list[str]:
    """A line for each finding, and one for all that are alike."""
    lines, alike = [], defaultdict(list)
    for finding in findings:
        if finding.alike:
            alike[finding.alike].append(finding)
        else:
            lines.append(finding.message)
    for what, found in alike.items():
        names = few([finding.case for finding in found])
        lines.append(found[0].message if len(found) == 1 else f"{len(found)} {what}: {names}.")
    return lines


def show_findings(path: str, result: CheckResult, written: tuple[Path, ...], *, flags: list[str]) -> None:
    """The findings, what was written, and what to run next, with the same flags. Errors go to stderr."""
    warnings = [finding for finding in result.findings if finding.level == "warning"]
    for level, findings, stream in (("warning", warnings, sys.stdout), ("error", result.errors, sys.stderr)):
        lines = _lines(findings)
        for line in lines[:_SHOWN]:
            print(f"{level}: {in_flags(line)}", file=stream)
        if len(lines) > _SHOWN:
            print(f"{level}: and {len(lines) - _SHOWN} more.", file=stream)
    if written:
        print(f"Written: {', '.join(map(str, written))}")
    sys.stdout.flush()
    if result.errors:
        errors = counted(len(result.errors), "error")
        print(f"sizewise: {errors} in '{path}'. Correct this and run it again.", file=sys.stderr)
        return
    print("All files are in order." if not warnings else f"No errors; {counted(len(_lines(warnings)), 'warning')}.")
    again = shlex.join(["sizewise", "data", path, *flags])
    show_next(
        shlex.join(["sizewise", "train", "--data", path, *flags]),
        f"{shlex.join(['sizewise', 'advise', path, *flags])}  # which loss, for regions like these",
        *([] if written else [f"{again} --out DIR  # the plot, and sizes.csv"]),
    )
