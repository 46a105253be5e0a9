"""docs/coming-from.md: both sides of every row are built from the page's own code and compared on small images."""

import re
import warnings
from pathlib import Path

import pytest
import seglossbias_constructors as released
import torch
from comparison import example, multilabel_example, partly_ignored, soft, value_and_gradient
from torchvision_stub import import_peer

import sizewise as sw

PAGE = Path(__file__).parents[2] / "docs" / "coming-from.md"
SINGLE = 1e-5  # some peers take their sums in float32
SECTIONS = {
    "MONAI": 31,
    "segmentation_models.pytorch": 18,
    "nnU-Net": 9,
    "SegLossBias, the code released with the paper": 13,
}

LOGITS, LABELS = example()
CHANNELS, PRESENT = multilabel_example()
INPUTS = {
    "labels": (LOGITS, LABELS),
    "labels with 255": (LOGITS, partly_ignored(LABELS)),
    "soft labels": (LOGITS, soft(LABELS, 4)),
    "channels": (CHANNELS, PRESENT),
    "mask": (CHANNELS[:, :1], PRESENT[:, :1]),
}


def read_rows():
    """Section, code of theirs and ours, what it is called with, and the last cell; None as value in the second table."""
    section, head, rows = "", [], []
    for number, line in enumerate(PAGE.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("## "):
            section = line[3:]
        if not line.startswith("|"):
            head = []  # the table has ended
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not head:
            head = cells
        elif head[0] == "theirs" and not line.startswith("|--"):  # other tables of the page compare nothing
            assert len(cells) == 4, f"line {number} of {PAGE.name}: a row has four cells, this one {len(cells)}"
            theirs, ours, on, last = cells
            rows.append((section, theirs.strip("`"), ours.strip("`"), on, last if head[-1] == "value" else None))
    return rows


ROWS = read_rows()


def names_of(section):
    """What the code of a section may use: the peer's constructors, and nothing else of it."""
    if section == "MONAI":
        return vars(import_peer("monai.losses"))
    if section.startswith("segmentation_models"):
        return vars(import_peer("segmentation_models_pytorch.losses", needs_torchvision=True))
    if section.startswith("SegLossBias"):
        return vars(released)
    modules = (
        "nnunetv2.training.loss.dice",
        "nnunetv2.training.loss.compound_losses",
        "nnunetv2.training.loss.robust_ce_loss",
        "nnunetv2.utilities.helpers",
    )
    found = [vars(import_peer(name, needs_torchvision=True)) for name in modules]
    return {name: value for names in found for name, value in names.items()}


def called(section, code, on):
    """The page's loss as a function of logits, with the target in the peer's form."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a peer's own, about torch
        loss = eval(code, names_of(section))
    target = INPUTS[on][1]
    if section in ("MONAI", "nnU-Net") and on.startswith("labels"):
        target = target.unsqueeze(1)  # (N, 1, *S), as they hand them
    if on in ("channels", "mask") and section.startswith("segmentation_models") and "BCE" in code:
        target = target.double()
    single = "Lovasz" in code  # it mixes in float32, and takes nothing else

    def value(logits):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # MaskedDiceLoss misses its mask
            return loss(logits.float() if single else logits, target)

    return value


def both(section, theirs, ours, on):
    our_loss = eval(ours, {"sw": sw})
    logits, target = INPUTS[on]
    return (
        value_and_gradient(called(section, theirs, on), logits),
        value_and_gradient(lambda z: our_loss(z, target), logits),
    )


@pytest.mark.parametrize("row", [row for row in ROWS if row[-1] is not None], ids=lambda row: row[1])
def test_the_row_has_one_value_and_one_gradient(row):
    section, theirs, ours, on, value = row
    stated = re.match(r"(equal|theirs \+ ([\d.]+))(;|$)", value)
    assert stated, f"the value of {theirs} must begin with equal or theirs + a number, got {value!r}"
    (their_value, their_gradient), (our_value, our_gradient) = both(section, theirs, ours, on)
    assert float(our_value) == pytest.approx(float(their_value) + float(stated[2] or 0), rel=SINGLE, abs=SINGLE)
    largest = float(their_gradient.abs().max())
    assert largest > 0, "a comparison of zero gradients would prove nothing"
    torch.testing.assert_close(our_gradient, their_gradient.to(our_gradient), rtol=0, atol=SINGLE * largest)


@pytest.mark.parametrize("row", [row for row in ROWS if row[-1] is None], ids=lambda row: row[1])
def test_the_row_without_an_equal_differs(row):
    section, theirs, ours, on, _ = row
    (_, their_gradient), (_, our_gradient) = both(section, theirs, ours, on)
    apart = float((our_gradient - their_gradient).abs().max() / their_gradient.abs().max())
    assert apart > 0.01


def test_every_row_is_read():
    counted = {section: sum(row[0] == section for row in ROWS) for section in SECTIONS}
    assert counted == SECTIONS
    assert len(ROWS) == sum(SECTIONS.values())
