"""Benchmark tables, made from benchmarks/results/*.csv when the site is built, so that no number is typed twice.

``<!-- losses: a.csv b.csv -->`` is a table of losses by shape, ``<!-- rows: a.csv -->`` a file as it is,
``<!-- quality: a.csv -->`` means and standard deviations over the seeds.
"""

import csv
import re
import statistics
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
MARKER = re.compile(r"<!-- (losses|rows|quality): ([\w. -]+?) -->")
FIGURES = ("h200.svg",)
SCORES = {"dsc": 3, "iou": 3, "nsd": 3, "hd95": 1, "size_error": 4}  # decimals
NAMES = {"nnunetv2": "nnU-Net", "monai": "MONAI", "smp": "SMP"}

Rows = list[dict[str, str]]


def on_files(files: Files, *, config: Any) -> Files:
    """Called by MkDocs: figures of the benchmarks lie outside docs/."""
    for name in FIGURES:
        files.append(File.generated(config, f"figures/{name}", abs_src_path=str(RESULTS / name)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    return MARKER.sub(lambda found: make_table(found[1], found[2].split()), markdown)


def make_table(kind: str, files: list[str]) -> str:
    """The table of one marker."""
    rows = [row for name in files for row in read(RESULTS / name)]
    return {"losses": losses_table, "rows": plain_table, "quality": quality_table}[kind](rows)


def read(path: Path) -> Rows:
    """The rows of a file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def losses_table(rows: Rows) -> str:
    """A table for each dtype, and where the numbers come from."""
    dtypes = list(dict.fromkeys((row["logits"], row["labels"]) for row in rows))
    parts = []
    for logits, labels in dtypes:
        if len(dtypes) > 1:
            parts.append(f"{logits} logits, {labels} labels:")
        parts.append(shapes_table([row for row in rows if row["logits"] == logits]))
    return "\n\n".join([*parts, provenance(rows)])


def shapes_table(rows: Rows) -> str:
    """Milliseconds by loss and shape, ours in bold, and the peak memory over the logits.

    On a GPU the time seen from Python comes first, then the device's own.
    """
    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    losses = list(dict.fromkeys((row["library"], row["loss"]) for row in rows))
    found = {(row["library"], row["loss"], row["shape"]): row for row in rows}
    table = [["ms", *(shape.replace("x", "×") for shape in shapes), "peak memory"]]
    floors = {row["shape"]: row["floor_ms"] for row in rows}
    table.append(["floor: the memory traffic alone", *(digits(floors[shape]) for shape in shapes), "1"])
    for library, loss in losses:
        cells = [found.get((library, loss, shape), {}) for shape in shapes]
        peaks = [float(cell["peak_over_logits"]) for cell in cells if cell.get("peak_over_logits")]
        name = f"{NAMES.get(library, library)} {loss}"
        table.append(
            [f"**{name}**" if library == "sizewise" else name, *(time_of(cell) for cell in cells), span(peaks)]
        )
    return markdown_table(table)


def time_of(cell: dict[str, str]) -> str:
    """The median, and the device's own where it differs."""
    seen, own = cell.get("median_ms", ""), cell.get("device_ms", "")
    return digits(seen) if own in ("", seen) else f"{digits(seen)} / {digits(own)}"


def provenance(rows: Rows) -> str:
    """Where the numbers of a losses table come from."""
    kinds = {
        (row["device"], row["threads"], row["torch"], row["triton"], row["monai"], row["nnunetv2"], row["commit"])
        for row in rows
    }
    smp = "segmentation-models-pytorch"
    lines = [
        f"{device}, {threads} threads, torch {torch}, Triton {triton}, MONAI {monai}, SMP {rows[0][smp]}, "
        f"nnU-Net {nnunet}, commit {commit}"
        for device, threads, torch, triton, monai, nnunet, commit in sorted(kinds)
    ]
    return "*" + "; ".join(lines) + ".*"


def quality_table(rows: Rows) -> str:
    """Mean ± standard deviation over the seeds, for each data set, protocol and class."""
    groups = list(dict.fromkeys((row["data"], row["model"], row["recipe_note"], row["class"]) for row in rows))
    table = [["data", "network", "protocol", "class", "seeds", *SCORES]]
    for data, model, note, label in groups:
        mine = [
            row
            for row in rows
            if (row["data"], row["model"], row["recipe_note"], row["class"]) == (data, model, note, label)
        ]
        cells = []
        for metric, decimals in SCORES.items():
            values = [float(row["value"]) for row in mine if row["metric"] == metric]
            spread = f" ± {statistics.stdev(values):.{decimals}f}" if len(values) > 1 else ""
            cells.append(f"{statistics.mean(values):.{decimals}f}{spread}")
        table.append([data, model, note, label, str(len({row["seed"] for row in mine})), *cells])
    return markdown_table(table)


def plain_table(rows: Rows) -> str:
    """A file as it is."""
    head = list(rows[0])
    return markdown_table([[name.replace("_", " ") for name in head], *([row[name] for name in head] for row in rows)])


def digits(text: str) -> str:
    """Three significant digits."""
    return f"{float(text):#.3g}".rstrip(".") if text else ""


def span(values: list[float]) -> str:
    """One number, or from the smallest to the largest."""
    if not values:
        return ""
    low, high = f"{min(values):.1f}", f"{max(values):.1f}"
    return low if low == high else f"{low} to {high}"


def markdown_table(rows: list[list[str]]) -> str:
    """Rows of cells, the first as the head."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])
