"""Which decision has the best Dice, where probabilities are right by construction? See --help.

An image has smooth blobs of K − 1 classes on a background. What a network would say is their one-hot map, blurred:
boundaries are uncertain over ``blur_px``, and small blobs fade. Labels are drawn from these very probabilities, so that
every marginal is exact: y = argmax_k (log p_k + g_k) with standard Gumbel noise g, which is how a softmax comes about.
Where g is smooth in space, neighbours err together and whole boundaries or blobs move, as annotations do; ``noise_px``
is its correlation length, 0 for independent pixels. ``doubtful`` blobs are there at all with a probability of at most
a uniform number of their image, so that many images are healthy. ``twice the logits`` is an over-confident network,
which is then given with the temperature that ``sw.fit_decision`` finds on as many other images.

Scores are the mean over classes, then over images, under the empty-mask policy of ``sizewise.metrics``: no value where
a region is neither true nor predicted, 0 where it is one of the two.
"""

import argparse
import csv
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

import sizewise as sw
from sizewise.metrics.case import score_case

SIDE = 80
BLOB_PX = 8.0  # correlation length of the fields whose peaks are the blobs
RARITY = {2: 1.0, 5: 1.3}  # standard deviations that a field needs to be a blob
DECISIONS = {
    "argmax": {"metric": "argmax"},
    "dice": {"metric": "dice"},
    "dice, prune 0": {"metric": "dice", "prune": 0.0},
    "iou": {"metric": "iou"},
    "size": {"metric": "size"},
}
BLURS = (1.0, 2.0, 4.0, 6.0)
CALIBRATED, SHARP, FITTED = "calibrated", "twice the logits", "twice the logits, fitted"
LIBRARIES = ("sizewise", "torch", "numpy")


class Setting(NamedTuple):
    """What is drawn, and how it is given to the decision."""

    classes: int
    noise_px: float
    blur_px: float
    blobs: str = "certain"
    given: str = CALIBRATED


SETTINGS = (
    *(Setting(classes, noise, blur) for classes in (2, 5) for noise in (0.0, 3.0, 12.0) for blur in BLURS),
    *(Setting(classes, 12.0, 2.0, "doubtful") for classes in (2, 5)),
    *(Setting(classes, 3.0, blur, given=given) for classes in (2, 5) for blur in BLURS for given in (SHARP, FITTED)),
)


def smooth(values: Tensor, width_px: float) -> Tensor:
    """Blurred by a Gaussian, on a torus."""
    axes = torch.fft.fftfreq(values.shape[-1], dtype=values.dtype)
    kernel = torch.exp(-2 * (torch.pi * width_px) ** 2 * (axes[:, None] ** 2 + axes**2))
    return torch.fft.irfft2(torch.fft.rfft2(values) * kernel[:, : values.shape[-1] // 2 + 1], s=values.shape[-2:])


def field(draw: torch.Generator, shape: tuple[int, ...], length_px: float) -> Tensor:
    """Gaussian noise of variance 1 at every pixel; neighbours nearer than ``length_px`` are alike."""
    white = torch.randn(shape, generator=draw)
    if length_px == 0:
        return white.double()
    impulse = torch.zeros(shape[-2:])
    impulse[0, 0] = 1
    return (smooth(white, length_px) / smooth(impulse, length_px).norm()).double()


def probabilities(draw: torch.Generator, setting: Setting, images: int, side: int = SIDE) -> Tensor:
    """(N, K, side, side), float64."""
    fields = field(draw, (images, setting.classes - 1, side, side), BLOB_PX)
    everything = torch.cat((torch.full_like(fields[:, :1], RARITY[setting.classes]), fields), 1)
    one_hot = torch.nn.functional.one_hot(everything.argmax(1), setting.classes).movedim(-1, 1).double()
    p = smooth(one_hot, setting.blur_px).clamp(min=1e-12)
    if setting.blobs == "doubtful":
        share = torch.rand(images, 1, 1, 1, generator=draw, dtype=torch.float64)
        p = torch.cat((p[:, :1] + (1 - share) * (1 - p[:, :1]), share * p[:, 1:]), 1)
    return p / p.sum(1, keepdim=True)


def labels_of(draw: torch.Generator, p: Tensor, noise_px: float) -> Tensor:
    """Labels (N, *S), of which each pixel by itself has the probabilities ``p``."""
    tiny = 1e-300
    uniform = torch.special.ndtr(field(draw, tuple(p.shape), noise_px)).clamp(tiny, 1 - 1e-16)
    return (p.log() - (-uniform.log()).clamp(min=tiny).log()).argmax(1)


def drawn(setting: Setting, images: int, draws: int, seed: int, side: int = SIDE) -> tuple[Tensor, list[Tensor]]:
    """Logits as they are given, and so many label maps of each image. One seed gives one set of blobs and noise."""
    draw = torch.Generator().manual_seed(seed)
    p = probabilities(draw, setting, images, side)
    labels = [labels_of(draw, p, setting.noise_px) for _ in range(draws)]
    return p.log() * (1 if setting.given == CALIBRATED else 2), labels


def dice_of_images(predicted: Tensor, labels: Tensor, classes: int) -> Tensor:
    """The mean over classes of the Dice score of each image, NaN where no class is there or predicted."""
    scores = []
    for k in range(1, classes):
        ours, true = (predicted == k).flatten(1), (labels == k).flatten(1)
        sizes = ours.sum(1) + true.sum(1)
        scores.append(torch.where(sizes > 0, 2 * (ours & true).sum(1) / sizes, torch.nan))
    return torch.stack(scores, 1).nanmean(1)


def nsd_of_images(predicted: Tensor, labels: Tensor, classes: int) -> float:
    """The mean over images of the mean over classes; surfaces agree within a pixel."""
    means = []
    for ours, true in zip(predicted.numpy(), labels.numpy(), strict=True):
        scores = score_case(ours, true, classes=range(1, classes), spacing=(1, 1), nsd_tolerance=1.0, metrics=["nsd"])
        values = [score.values()["nsd"] for score in scores]
        if there := [value for value in values if value is not None]:
            means.append(np.mean(there))
    return float(np.mean(means))


def regions_there(labels: Tensor, classes: int) -> Tensor:
    """Which classes each image has, (K − 1, N)."""
    return torch.stack([(labels == k).flatten(1).any(1) for k in range(1, classes)])


def simulate(
    setting: Setting, images: int, draws: int, *, seed: int = 0, surfaces: int = 0, side: int = SIDE
) -> list[dict]:
    """A row for each decision; ``surfaces`` is the number of images whose NSD is taken."""
    logits, labels = drawn(setting, images, draws, seed, side)
    temperature = 1.0
    if setting.given == FITTED:
        others, (theirs,) = drawn(setting, images, 1, seed + 1, side)
        temperature = float(sw.fit_decision([(others, theirs)]).temperature)
    rows, reference = [], None
    for name, options in DECISIONS.items():
        predicted = sw.decide(logits, temperature=temperature, **options)
        dice = torch.stack([dice_of_images(predicted, one, setting.classes) for one in labels])
        reference = dice if reference is None else reference
        # An image without a value under one decision and with a 0 under the other enters the gain, but no difference:
        # the standard error is that of the images which both score.
        gains = (dice - reference).nanmean(0)
        healthy = torch.stack([~regions_there(one, setting.classes) for one in labels])
        alarms = healthy & regions_there(predicted, setting.classes)
        nsd = ""
        if surfaces and setting.noise_px:  # of salt and pepper, surfaces mean nothing
            nsd = f"{100 * nsd_of_images(predicted[:surfaces], labels[0][:surfaces], setting.classes):.1f}"
        rows.append(
            {
                **setting._asdict(),
                "decision": name,
                "temperature": f"{temperature:.3f}",
                "images": images,
                "draws": draws,
                "dsc": f"{100 * float(dice.nanmean()):.2f}",
                "dsc_standard_error": f"{100 * standard_error(dice.nanmean(0)):.2f}",
                "gain": f"{100 * float(dice.nanmean() - reference.nanmean()):.3f}",
                "gain_standard_error": f"{100 * standard_error(gains):.3f}",
                "size_ratio": f"{float((predicted > 0).sum() * draws / sum((one > 0).sum() for one in labels)):.3f}",
                "nsd": nsd,
                "healthy_regions": int(healthy.sum()),
                "false_alarms": int(alarms.sum()),
            }
        )
    return rows


def standard_error(values: Tensor) -> float:
    """Of the mean over images that have a value."""
    values = values[~values.isnan()]
    return float(values.std() / len(values) ** 0.5)


def main() -> None:
    """Run every setting and write one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=300, help="in each setting")
    parser.add_argument("--draws", type=int, default=8, help="label maps of each image")
    parser.add_argument("--surfaces", type=int, default=40, help="images whose NSD is taken")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "decide-simulation.csv")
    options = parser.parse_args()
    began, rows = time.process_time(), []
    for setting in SETTINGS:
        found = simulate(setting, options.images, options.draws, surfaces=options.surfaces)
        rows += found
        print(*setting, *(f"{row['decision']} {row['dsc']} ({row['gain']})" for row in found), flush=True)
    about = {"python": platform.python_version()} | {library: version(library) for library in LIBRARIES}
    with options.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*rows[0], *about], lineterminator="\n")
        writer.writeheader()
        writer.writerows(row | about for row in rows)
    print(f"{time.process_time() - began:.0f} s of processor time; wrote {options.out}")


if __name__ == "__main__":
    main()
