"""Beside RankSEG's solver, which sorts: the expected score of ours is as high, on smooth logits of up to 20 classes."""

import numpy as np
import pytest
from decision_oracle import score
from sampling import EXHAUSTIVE
from test_decide import fields

import sizewise as sw

rankseg = pytest.importorskip("rankseg", reason="the peer is not installed: pip install rankseg")


@pytest.mark.parametrize("metric", ["dice", "iou"])
def test_at_least_as_high_in_98_percent_of_cases(metric):
    """Default pruning on both; RankSEG scores every class, so ours does here."""
    peer = rankseg.RankSEG(metric={"dice": "dice", "iou": "IoU"}[metric], output_mode="multiclass")
    wins, differences = [], []
    for classes in (2, 3, 5, 11, 20):
        for scale in (0.5, 1.0, 2.0, 4.0):
            for seed in range(12 if EXHAUSTIVE else 4):
                logits = fields(1, classes, (48, 56), seed=100 * classes + seed, scale=scale)
                p = logits.softmax(1)
                ours, theirs = sw.decide(logits, metric=metric, background=None), peer.predict(p)
                flat = p[0].flatten(1).numpy()
                values = [score(flat, one.flatten().numpy(), range(classes), metric) for one in (ours, theirs)]
                wins.append(values[0] >= values[1] - 1e-6)
                differences.append((values[0] - values[1]) / classes)
    assert np.mean(wins) >= 0.98
    assert np.mean(differences) > 0
    assert min(differences) > -0.01
