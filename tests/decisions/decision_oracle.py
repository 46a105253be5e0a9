"""Decisions in slow numpy: the expected score of a label map, and the best one by trying."""

from itertools import product

import numpy as np


def score(p, labels, scored, metric="dice"):
    """F of a label map (M,) under probabilities (K, M)."""
    total = 0.0
    for k in scored:
        chosen, inside, expected = (labels == k).sum(), p[k][labels == k].sum(), p[k].sum()
        if chosen + expected > 0:
            total += 2 * inside / (chosen + expected) if metric == "dice" else inside / (chosen + expected - inside)
    return float(total)


def best_prefix(p, metric="dice"):
    """The largest F of one scored class: some number of the most probable pixels, (M,)."""
    order = np.sort(p)[::-1]
    best = 0.0
    for chosen in range(1, len(p) + 1):
        inside = order[:chosen].sum()
        total = chosen + p.sum()
        best = max(best, 2 * inside / total if metric == "dice" else inside / (total - inside))
    return best


def best_of_all(p, scored, metric="dice"):
    """The largest F over every label map of (K, M)."""
    return max(score(p, np.array(labels), scored, metric) for labels in product(range(len(p)), repeat=p.shape[1]))
