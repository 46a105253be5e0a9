"""One image of four pixels whose sums are plain fractions.

The target is (0, 0, 0, 1), and the network is right with p = 3/4 everywhere, so that for τ = 1

    T = (3, 1)    I = (9/4, 3/4)    P = (3 · 3/4 + 1/4, 3 · 1/4 + 3/4) = (5/2, 3/2)    |Ω| = 4

For τ = 2 the odds 3 : 1 become 9 : 1, so the sizes are (3 · 0.9 + 0.1, 3 · 0.1 + 0.9) = (2.8, 1.2), the proportions
(0.7, 0.3), and the true ones (0.75, 0.25).
"""

import math

import pytest
import torch

import sizewise as sw

ODDS = math.log(3)
LOGITS = torch.tensor([[[ODDS, ODDS, ODDS, 0.0], [0.0, 0.0, 0.0, ODDS]]], dtype=torch.float64)
TARGET = torch.tensor([[0, 0, 0, 1]])


def value(term: sw.Criterion) -> float:
    """The term on these pixels, by softmax over two classes."""
    return term(LOGITS, TARGET).item()


def sigmoid_value(term: sw.Criterion) -> float:
    """The same pixels as one sigmoid channel."""
    return sw.Loss(term, activation="sigmoid")(LOGITS[:, 1:] - LOGITS[:, :1], TARGET).item()


def near(number: float):
    return pytest.approx(number, rel=1e-12)
