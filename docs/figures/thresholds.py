"""Draw the figure of the page Decide: expected Dice and size over the threshold, for sure and for doubtful regions."""

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import torch

from sizewise import theory

SIDE, RADIUS = 128, 24.0  # pixels
BLURS = {"sharp boundary": (2.0, "#0072B2"), "doubtful": (7.0, "#009E73"), "very doubtful": (14.0, "#D55E00")}
MARKS = {"argmax, 1/2": "o", "best for Dice, D/2": "D", "expected size": "s"}


def probabilities(blur_px: float) -> torch.Tensor:
    """A disc whose boundary is uncertain; the further, the less it is certain in the middle too."""
    axis = torch.arange(SIDE, dtype=torch.float64) - SIDE / 2
    distance = (axis[:, None] ** 2 + axis**2).sqrt().flatten()
    return torch.sigmoid((RADIUS - distance) / blur_px)


def main() -> None:
    """Write thresholds.svg beside this file."""
    plt.rcParams.update({"font.size": 10, "svg.fonttype": "none", "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    thresholds = torch.linspace(0, 0.9975, 400, dtype=torch.float64)
    for name, (blur_px, colour) in BLURS.items():
        p = probabilities(blur_px)
        dice = torch.stack([theory.expected_dice(p, p > t) for t in thresholds])
        size = torch.stack([(p > t).sum() for t in thresholds]) / p.sum()
        left.plot(thresholds, dice, color=colour, linewidth=2, label=name)
        right.plot(thresholds, size, color=colour, linewidth=2)
        places = (0.5, float(theory.dice_threshold(p)), float(theory.size_threshold(p)))
        for t, mark in zip(places, MARKS.values(), strict=True):
            style = {"marker": mark, "markersize": 7, "color": colour, "markeredgecolor": "white", "zorder": 3}
            left.plot(t, theory.expected_dice(p, p > t), **style)
            right.plot(t, (p > t).sum() / p.sum(), **style)
    # F = 2 t: every curve has its peak where it meets this line.
    left.plot(thresholds, 2 * thresholds, color="0.6", linestyle=":", linewidth=1)
    left.annotate("D = 2t", (0.47, 0.94), xytext=(6, -4), textcoords="offset points", color="0.4")
    right.axhline(1, color="0.6", linestyle=":", linewidth=1)
    right.annotate("expected size", (0.72, 1), xytext=(0, 4), textcoords="offset points", color="0.4")
    left.set(ylabel="expected Dice", ylim=(0, 1), xlim=(0, 1), xlabel="threshold t")
    right.set(ylabel="size of the region / expected size", ylim=(0, 2.5), xlim=(0, 1), xlabel="threshold t")
    left.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.17, 0.0))
    marks = [plt.Line2D([], [], marker=mark, color="0.35", linestyle="", markersize=7) for mark in MARKS.values()]
    right.legend(marks, MARKS, frameon=False, loc="upper right")
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
