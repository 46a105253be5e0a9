"""Draw the README's picture: what the size terms cost, and how they pull, as the predicted share changes."""

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import torch

from sizewise.terms.size_kl import size_kl
from sizewise.terms.size_l1 import size_l1
from sizewise.theory import dice_bias_at

TRUE_SHARE = 0.1
COLOURS = {"Dice's hidden bias": "#D55E00", "KL": "#0072B2", "L1": "#009E73"}  # safe for colour-blind readers


def main() -> None:
    """Write penalties.svg beside this file."""
    share = torch.linspace(1e-4, 0.5, 2000, dtype=torch.float64).requires_grad_()
    predicted, true = torch.stack((1 - share, share), 1), torch.tensor([1 - TRUE_SHARE, TRUE_SHARE]).double()
    bias = torch.log(share + TRUE_SHARE)  # of the foreground alone, as Dice is used for binary segmentation
    curves = {
        "Dice's hidden bias": bias - bias.detach().min(),
        "KL": size_kl(predicted, true).sum(1),
        "L1": size_l1(predicted, true).sum(1),
    }
    assert torch.allclose(dice_bias_at(predicted, true)[:, 1], bias)
    plt.rcParams.update({"font.size": 10, "svg.fonttype": "none", "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for name, values in curves.items():
        (slope,) = torch.autograd.grad(values.sum(), share)
        left.plot(share.detach(), values.detach(), label=name, color=COLOURS[name], linewidth=2)
        right.plot(share.detach(), slope, color=COLOURS[name], linewidth=2)
    for axes in (left, right):
        axes.axvline(TRUE_SHARE, color="0.6", linestyle=":", linewidth=1)
        axes.set_xlabel("predicted share of the foreground")
    left.annotate("true share", (TRUE_SHARE, 1.58), xytext=(4, 0), textcoords="offset points", color="0.4")
    left.set(ylabel="penalty", ylim=(0, 1.7), xlim=(0, 0.5))
    right.set(ylabel="slope (negative: pulls the region up)", ylim=(-12, 12), xlim=(0, 0.5))
    right.axhline(0, color="0.8", linewidth=1)
    right.legend(*left.get_legend_handles_labels(), frameon=False, loc="lower right")
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
