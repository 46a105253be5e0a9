"""The per-epoch plot of a run: losses, validation DSC, signed size error."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from sizewise.files import replacing
from sizewise.palette import OKABE_ITO
from sizewise.train.history import Row

COLOURS = (*OKABE_ITO, "#000000")


def draw_curves(path: Path, rows: Sequence[Row], *, title: str, classes: Mapping[int, str]) -> None:
    """Write ``path`` as SVG and PNG; ``classes`` names the scored classes by id."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.4), layout="constrained")
    losses, scores, sizes = figure.subplots(1, 3)
    for name, label, colour in (("train_loss", "training", COLOURS[0]), ("val_loss", "validation", COLOURS[1])):
        _line(losses, rows, name, label, colour)
    for place, (number, class_name) in enumerate(classes.items()):
        colour = COLOURS[place % len(COLOURS)]
        _line(scores, rows, f"val_dsc_{number}", class_name, colour, scale=100)
        _line(sizes, rows, f"val_size_error_{number}", class_name, colour, scale=100)
    sizes.axhline(0, color="#888888", linewidth=0.8)
    scores.set_ylim(0, 100)
    for axes, name in ((losses, "loss"), (scores, "validation DSC (%)"), (sizes, "predicted − true size (points)")):
        axes.set_title(name, fontsize=10, loc="left")
        axes.set_xlabel("epoch")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.spines[["top", "right"]].set_visible(False)
        if len(axes.get_lines()) > (1 if axes is sizes else 0) and len(classes) <= 12:
            axes.legend(frameon=False, fontsize=8)
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    for ending in ("svg", "png"):
        with replacing(path.with_suffix(f".{ending}")) as partial:
            figure.savefig(partial, format=ending, dpi=120)


def _line(axes, rows: Sequence[Row], name: str, label: str, colour: str, *, scale: float = 1) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    points = [(row["epoch"], scale * row[name]) for row in rows if name in row]
    if points:
        epochs, values = zip(*points, strict=True)
        axes.plot(epochs, values, color=colour, label=label, marker="." if len(points) < 3 else None)
