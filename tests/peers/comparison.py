"""What every peer is compared on: one small example, value and gradient, and the row of docs/differences.md."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

DIFFERENCES = Path(__file__).parents[2] / "docs" / "differences.md"
IGNORED = 255

LossOfLogits = Callable[[Tensor], Tensor]


def waves(*shape: int) -> Tensor:
    """Uneven float64 numbers in [-2, 2], the same on every machine and with every version."""
    index = torch.arange(torch.Size(shape).numel(), dtype=torch.float64)
    return 2 * torch.sin(1.7 * index + 0.013 * index**2).view(shape)


def example() -> tuple[Tensor, Tensor]:
    """Logits (2, 4, 6, 7) and labels (2, 6, 7); class 3 has two pixels in the first image and none in the second."""
    labels = torch.zeros(2, 6, 7, dtype=torch.long)
    labels[0, 1:4, 1:4] = 1
    labels[0, 4:6, 2:6] = 2
    labels[0, 0, 5:7] = 3
    labels[1, 0:2, :] = 1
    labels[1, 3:5, 4:7] = 2
    return waves(2, 4, 6, 7).scatter_add(1, labels.unsqueeze(1), torch.ones(2, 1, 6, 7, dtype=torch.float64)), labels


def partly_ignored(labels: Tensor) -> Tensor:
    """The labels with 5 pixels of the first image and 12 of the second marked 255."""
    labels = labels.clone()
    labels[0, 2, 0:5] = IGNORED
    labels[1, 1:4, 0:4] = IGNORED
    return labels


def multilabel_example() -> tuple[Tensor, Tensor]:
    """Logits and 0/1 labels (2, 3, 6, 7) whose channels overlap; the third is empty in the second image."""
    labels = torch.zeros(2, 3, 6, 7, dtype=torch.long)
    labels[0, 0, 1:5, 1:6] = 1
    labels[0, 1, 2:4, 2:5] = 1
    labels[0, 2, 0, 5:7] = 1
    labels[1, 0, 0:3, :] = 1
    labels[1, 1, 2:6, 3:7] = 1
    return waves(2, 3, 6, 7) + labels, labels


def soft(labels: Tensor, classes: int) -> Tensor:
    """Probabilities (N, K, *S): 0.8 on the label, the rest spread unevenly over all classes."""
    one_hot = torch.nn.functional.one_hot(labels, classes).movedim(-1, 1).double()
    return 0.8 * one_hot + 0.2 * waves(*one_hot.shape).softmax(1)


def value_and_gradient(loss: LossOfLogits, logits: Tensor) -> tuple[Tensor, Tensor]:
    leaf = logits.detach().clone().requires_grad_()
    value = loss(leaf)
    value.backward()
    assert leaf.grad is not None
    return value.detach(), leaf.grad


def assert_same(
    row: str, ours: LossOfLogits, theirs: LossOfLogits, logits: Tensor, *, offset: float = 0.0, tolerance: float = 1e-9
) -> None:
    """Value and gradient agree, apart from a constant ``offset`` = ours − theirs that has no gradient."""
    value, gradient = value_and_gradient(ours, logits)
    peer_value, peer_gradient = value_and_gradient(theirs, logits)
    assert float(value) == pytest.approx(float(peer_value) + offset, rel=tolerance, abs=tolerance)
    largest = float(peer_gradient.abs().max())
    assert largest > 0, "a comparison of zero gradients would prove nothing"
    torch.testing.assert_close(gradient, peer_gradient.to(gradient), rtol=0, atol=tolerance * largest)
    assert documented(row) == (f"equal, offset {offset:+g}" if offset else "equal")


def assert_differs(row: str, ours: LossOfLogits, theirs: LossOfLogits, logits: Tensor, *, by: float) -> None:
    """Ours − theirs is the number that the page shows for this row, to its four decimals."""
    assert float(ours(logits)) - float(theirs(logits)) == pytest.approx(by, abs=5.1e-5)
    assert documented(row) == f"{by:+.4f}"


def documented(row: str) -> str:
    """The last cell of a row of docs/differences.md."""
    rows = documented_rows()
    assert row in rows, f"docs/differences.md has no row {row}"
    return rows[row]


def documented_rows() -> dict[str, str]:
    """Row name to its last cell, in the order of the page."""
    rows: dict[str, str] = {}
    for line in DIFFERENCES.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0][1:].isdigit():
            assert len(cells) == 5, f"docs/differences.md: row {cells[0]} has {len(cells)} cells"
            assert cells[0] not in rows, f"docs/differences.md has two rows {cells[0]}"
            rows[cells[0]] = cells[-1]
    return rows
