"""Where probabilities are right, decisions for Dice have the better Dice: a small seeded run of the benchmark."""

import csv
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from sampling import EXHAUSTIVE

import sizewise as sw

ROOT = Path(__file__).parents[2]
SPEC = spec_from_file_location("decide_simulation", ROOT / "benchmarks" / "decide_simulation.py")
simulation = module_from_spec(SPEC)
SPEC.loader.exec_module(simulation)
RESULTS = ROOT / "benchmarks" / "results" / "decide-simulation.csv"
IMAGES, DRAWS, PX = (200, 8, 80) if EXHAUSTIVE else (48, 4, 64)


def gains(rows, metric):
    (row,) = (row for row in rows if row["decision"] == metric)
    return float(row["gain"]), float(row["gain_standard_error"])


@pytest.mark.parametrize("noise_px", [0.0, 3.0, 12.0])
@pytest.mark.parametrize("classes", [2, 5])
def test_true_dice_is_at_least_that_of_argmax_and_the_gain_grows_with_uncertainty(classes, noise_px, monkeypatch):
    """With the default pruning. At 1 px less than a pixel of an image changes, so that the gain is 0 but for noise."""
    monkeypatch.setattr(simulation, "DECISIONS", {name: simulation.DECISIONS[name] for name in ("argmax", "dice")})
    found = [
        gains(simulation.simulate(simulation.Setting(classes, noise_px, blur), IMAGES, DRAWS, side=PX), "dice")
        for blur in simulation.BLURS
    ]
    assert all(gain > -2 * error - 0.01 for gain, error in found)
    assert all(gain > 2 * error > 0 for gain, error in found[2:])
    sure, middle, *_, doubtful = (gain for gain, _ in found)
    assert doubtful > middle
    assert doubtful > sure + 1


def test_the_labels_have_exactly_the_probabilities():
    """Each pixel by itself, however far labels err together."""
    draw = torch.Generator().manual_seed(0)
    p = simulation.probabilities(draw, simulation.Setting(5, 0.0, 4.0), 1, side=24)
    for noise_px in (0.0, 3.0, 12.0):
        counts = torch.zeros_like(p)
        for _ in range(20):
            labels = simulation.labels_of(draw, p.expand(100, -1, -1, -1), noise_px)
            counts += torch.nn.functional.one_hot(labels, 5).movedim(-1, 1).sum(0)
        spread = (counts / 2000 - p) / (p * (1 - p) / 2000).sqrt().clamp(min=1 / 2000)
        assert float(spread.abs().max()) < 5.5
        assert 0.8 < float(spread[p > 0.05].std()) < 1.2


def test_the_published_table_says_the_same():
    """Of benchmarks/results: gains are not below 0 beyond their error, and grow with uncertainty."""
    with RESULTS.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    settings = {}
    for row in rows:
        if row["decision"] == "dice" and row["given"] == "calibrated":
            gain, error = float(row["gain"]), float(row["gain_standard_error"])
            assert gain > -2 * error, row
            if row["blobs"] == "certain":
                settings.setdefault((row["classes"], row["noise_px"]), []).append(gain)
    assert len(settings) == 6
    for found in settings.values():
        assert all(after > before for before, after in pairwise(found))


@pytest.mark.parametrize("metric", ["dice", "iou"])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_healthy_images_get_no_alarm_that_argmax_does_not_raise(classes, metric):
    """A class above 1/2 somewhere is argmax's there; any other is pruned, and may only lose what argmax gave it."""
    draw = torch.Generator().manual_seed(0)
    for scale in (0.3, 1.0, 3.0):
        logits = scale * torch.randn(200, classes, 40, generator=draw)
        logits[:, 0] += 1.5 * scale * torch.rand(200, 1, generator=draw)
        before, after = (sw.decide(logits, metric=one) for one in ("argmax", metric))
        for k in range(1, classes):
            assert not ((after == k).any(1) & ~(before == k).any(1)).any()
