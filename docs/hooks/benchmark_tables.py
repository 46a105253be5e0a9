"""Benchmark tables, made from benchmarks/results/*.csv when the site is built, so that no number is typed twice.

``<!-- losses: a.csv b.csv -->`` is a table of losses by shape, ``<!-- rows: a.csv -->`` a file as it is,
``<!-- quality: a.csv -->`` means and standard deviations over the seeds, ``<!-- decisions: a.csv PART -->`` what each
decision does to Dice, sizes and surfaces in a part of the simulation.
"""

import csv
import re
import statistics
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
MARKER = re.compile(r"<!-- (losses|rows|quality|decisions): ([\w. -]+?) -->")
FIGURES = ("h200.svg",)
SCORES = {"dsc": 3, "iou": 3, "nsd": 3, "hd95": 1, "size_error": 4}  # decimals
NOISE = {"0.0": "independent", "3.0": "3 px", "12.0": "12 px"}
CONTIGUOUS = "contiguous"  # what rows without a layout are
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
    if kind == "decisions":
        return decisions_table(read(RESULTS / files[0]), files[1])
    rows = [row for name in files for row in read(RESULTS / name)]
    return {"losses": losses_table, "rows": plain_table, "quality": quality_table}[kind](rows)


def read(path: Path) -> Rows:
    """The rows of a file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def losses_table(rows: Rows) -> str:
    """A table for each dtype and layout, and where the numbers come from."""
    kinds: dict[tuple[str, str, str], Rows] = {}
    for row in rows:
        kinds.setdefault((row["logits"], row.get("layout", CONTIGUOUS), row["labels"]), []).append(row)
    parts = []
    for (logits, layout, labels), found in kinds.items():
        if len(kinds) > 1:
            parts.append(f"{logits} logits ({layout}), {labels} labels:")
        parts.append(shapes_table(found))
    return "\n\n".join([*parts, provenance(rows)])


def shapes_table(rows: Rows) -> str:
    """Milliseconds by loss and shape, ours in bold, and the peak memory over the logits.

    On a GPU the time seen from Python comes first, then the device's own, then, where there is one, that in a graph.
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
    """The median, and the device's own times where they differ."""
    times = [cell.get(name) or "" for name in ("median_ms", "device_ms", "graph_ms")]
    return " / ".join(digits(one) for one in dict.fromkeys(times) if one)


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


def decisions_table(rows: Rows, part: str) -> str:
    """One row for each setting: the Dice of argmax, what Dice and size decisions add, sizes and surfaces."""
    settings: dict[tuple[str, ...], Rows] = {}
    for row in rows:
        if part == decision_part(row):
            key = (row["classes"], NOISE[row["noise_px"]], row["blur_px"].removesuffix(".0"), row["given"])
            settings.setdefault(key, []).append(row)
    table = [["classes", "labels err together over", "uncertain over, px", *DECISION_PARTS[part]]]
    for key, found in settings.items():
        by_name = {row["decision"]: row for row in found}
        argmax, dice, size = (by_name[name] for name in ("argmax", "dice", "size"))
        gains = {
            name: f"{float(row['gain']):+.2f} ± {float(row['gain_standard_error']):.2f}"
            for name, row in by_name.items()
        }
        values = {
            "given": key[3],
            "temperature": f"{float(dice['temperature']):.2f}",
            "DSC of argmax": f"{float(argmax['dsc']):.1f}",
            "`dice`": gains["dice"],
            "`dice`, `prune=0`": gains.get("dice, prune 0", ""),
            "`size`": gains["size"],
            "drawn / true size": " / ".join(f"{float(one['size_ratio']):.2f}" for one in (argmax, dice, size)),
            "NSD": " / ".join(one["nsd"] for one in (argmax, dice, size)) if argmax["nsd"] else "",
            "false alarms": " / ".join(one["false_alarms"] for one in (argmax, dice, size)),
            "of healthy regions": argmax["healthy_regions"],
        }
        table.append([*key[:3], *(values[name] for name in DECISION_PARTS[part])])
    return markdown_table(table)


# The columns of each part of the simulation; where three numbers stand in one, they are argmax's, dice's and size's.
GAINS = ("DSC of argmax", "`dice`", "`dice`, `prune=0`", "`size`")
DECISION_PARTS = {
    "calibrated": (*GAINS, "drawn / true size", "NSD"),
    "doubtful": (*GAINS, "drawn / true size", "false alarms", "of healthy regions"),
    "overconfident": ("given", "temperature", "DSC of argmax", "`dice`", "`size`", "drawn / true size"),
}


def decision_part(row: dict[str, str]) -> str:
    """Which table a row of the simulation belongs to."""
    if row["given"] != "calibrated":
        return "overconfident"
    return "doubtful" if row["blobs"] == "doubtful" else "calibrated"


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
