"""The benchmark as a picture: time over the floor, and memory over the logits, for every loss and shape."""

from collections.abc import Sequence
from pathlib import Path

from sizewise.palette import OKABE_ITO

MARKERS = ("o", "s", "^", "D", "v", "P")


def draw_bench(path: Path, rows: Sequence[dict]) -> None:
    """Write ``path`` as SVG and PNG.

    Colour and marker tell the shape; hollow markers are half precision, pale ones channels_last.
    """
    from sizewise.errors import import_extra

    import_extra("matplotlib", extra="train", reason="the plot of the benchmark")
    from matplotlib.figure import Figure

    names = list(dict.fromkeys((row["library"], row["loss"]) for row in rows))
    styles = dict.fromkeys((row["shape"], row["logits"], row["layout"]) for row in rows)
    shapes = list(dict.fromkeys(shape for shape, _, _ in styles))
    on_gpu = any(row["device_ms"] not in (None, row["median_ms"]) for row in rows)
    panels = [("over_floor", "time over the floor, from Python" if on_gpu else "time over the floor")]
    if on_gpu:
        panels.insert(0, ("device_over_floor", "time over the floor, on the device"))
    if any(row["graph_over_floor"] is not None for row in rows):
        panels[0] = ("graph_over_floor", "time over the floor, in a CUDA graph")
    if any(row["peak_over_logits"] is not None for row in rows):
        panels.append(("peak_over_logits", "peak extra memory over the logits"))
    figure = Figure(figsize=(4.2 + 3.2 * len(panels), 1.7 + 0.24 * len(names)), layout="constrained")
    for axes, (column, title) in zip(
        figure.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels, strict=True
    ):
        for style in styles:
            shape, dtype, layout = style
            place = shapes.index(shape)
            chosen = [
                row for row in rows if (row["shape"], row["logits"], row["layout"]) == style and row[column] is not None
            ]
            axes.plot(
                [row[column] for row in chosen],
                [names.index((row["library"], row["loss"])) for row in chosen],
                MARKERS[place % len(MARKERS)],
                color=OKABE_ITO[place % len(OKABE_ITO)],
                fillstyle="full" if dtype == "float32" else "none",
                alpha=1 if layout == "contiguous" else 0.45,
                markersize=5,
                label=f"{shape.replace('x', '×')}, {dtype}" + (f", {layout}" if layout != "contiguous" else ""),
            )
        axes.set_xscale("log")
        axes.set_title(title, fontsize=10, loc="left")
        axes.axvline(1, color="#888888", linewidth=0.8, zorder=0)
        ticks = [tick for tick in (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500) if _within(tick, axes.get_xlim())]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.grid(axis="both", color="#E5E5E5", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_yticks(range(len(names)), [f"{library} {name}" for library, name in names], fontsize=8)
        axes.set_ylim(len(names) - 0.4, -0.6)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=2 if len(labels) < 5 else 3, fontsize=8, frameon=False
    )
    about = rows[0]
    figure.suptitle(f"forward + backward on {about['device']}, torch {about['torch']}", fontsize=10, x=0.01, ha="left")
    for ending in ("svg", "png"):
        figure.savefig(path.with_suffix(f".{ending}"), dpi=120)


def _within(tick: float, limits: tuple[float, float]) -> bool:
    return limits[0] <= tick <= limits[1]
