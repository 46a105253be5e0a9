"""What a user prints while training."""

import dataclasses

import pytest
import torch
from drawn_images import close, images, proposition
from hypothesis import given

import sizewise as sw
from sizewise import theory

# Class 1 takes a quarter of 4 pixels and is predicted with 1/2 everywhere; ε = 1.
# CE: bias 3/4 log(3/2) = 0.304, 1/4 log(1/2) = −0.173; constant 0.562 = H(3/4, 1/4); the sum is log 2.
# Log-Dice: matching −log(4/7), −log(2/3); bias log(6/4), log(4/4); slope 4/6, 4/4.
# Its pull, mean over 2 classes: −1/2 · 1/2 (2/3 − 5/6) = 1/24 = 0.0417.
TABLE = """\
image 0           size                cross-entropy               log-Dice
region   true  predicted  error  matching    bias   pull  matching   bias     pull
sky      0.75        0.5  -0.25         0   0.304  +0.25      0.56  0.405  +0.0417
bird     0.25        0.5  +0.25         0  -0.173  -0.25     0.405      0  -0.0417
cross-entropy 0.693 = matching 0 + bias 0.131 + constant 0.562 (sum over regions)
log-Dice 0.549 = matching 0.483 + bias 0.203 + constant -0.136 (mean over regions)
pull: what the bias alone does to the size of a region, + larger, - smaller"""
# The same as one sigmoid channel: log-Dice is that of the foreground, log(4/2), and its pull −1/2 · 1/2 · 4/4.
SIGMOID_TABLE = """\
mean of 1 image           size                cross-entropy              log-Dice
region           true  predicted  error  matching    bias   pull  matching  bias   pull
0 background     0.75        0.5  -0.25         0   0.304  +0.25
0 foreground     0.25        0.5  +0.25         0  -0.173  -0.25     0.405     0  -0.25
cross-entropy 0.693 = matching 0 + bias 0.131 + constant 0.562 (sum over regions, mean over channels)
log-Dice 0.693 = matching 0.405 + bias 0 + constant 0.288 (mean over channels)
pull: what the bias alone does to the size of a region, + larger, - smaller"""


def two_images():
    """The image of the tables, and one without a valid pixel."""
    target = torch.tensor([[0, 0, 0, 1], [9, 9, 9, 9]])
    return sw.region_stats(torch.zeros(2, 2, 4, requires_grad=True), target, ignore_index=9)


def test_the_table_of_an_image():
    found = theory.decompose(two_images())
    assert found.table(0, names=("sky", "bird")) == TABLE
    from_the_end = found.table(-2, names=("sky", "bird"))
    assert from_the_end.split()[2:] == TABLE.split()[2:]  # the title is wider, "image -2"


def test_the_mean_leaves_out_images_without_a_valid_pixel():
    found = theory.decompose(two_images())
    lines = str(found).splitlines()
    assert lines[0].startswith("mean of 1 image ")
    numbers = [line.split()[1:] for line in TABLE.splitlines()[2:4]]
    assert [line.split() for line in lines[2:4]] == [["0", *numbers[0]], ["1", *numbers[1]]]
    assert lines[4:] == TABLE.splitlines()[4:]
    assert found.table(1).startswith("image 1 (no valid pixel)")
    assert "cross-entropy 0 = matching 0 + bias 0 + constant 0" in found.table(1)


def test_the_table_of_a_sigmoid_channel():
    stats = sw.region_stats(torch.zeros(1, 1, 4), torch.tensor([[[0, 0, 0, 1]]]), activation="sigmoid")
    assert str(theory.decompose(stats)) == SIGMOID_TABLE


@proposition
@given(images())
def test_the_fields_are_those_of_the_parts(drawn):
    stats = drawn.stats
    found = theory.decompose(stats, smooth=2.0)
    predicted, true = theory.proportions(stats)
    close(found.size_error, predicted - true)
    for got, want in (
        (found.cross_entropy, theory.cross_entropy_parts(stats)),
        (found.log_dice, theory.log_dice_parts(stats, smooth=2.0)),
    ):
        assert all(torch.equal(getattr(got, name), getattr(want, name)) for name in ("matching", "bias", "slope"))
    for pull in (found.cross_entropy_pull, found.log_dice_pull):
        close(pull.sum(-1), torch.zeros_like(pull[..., 0]))
    close(found.cross_entropy_pull, theory.size_pull(predicted, found.cross_entropy.slope))
    if drawn.activation == "sigmoid":
        wanted = -predicted.prod(-1) * found.log_dice.slope[..., 1]  # −p̂ (1 − p̂) slope
        close(found.log_dice_pull[..., 1], wanted)


@proposition
@given(images())
def test_the_printed_losses_are_the_losses(drawn):
    lines = str(theory.decompose(drawn.stats)).splitlines()
    for line, term in zip(lines[-3:-1], (sw.CrossEntropy(scope="image"), sw.LogDice()), strict=True):
        value = float(term.from_stats(drawn.stats))
        assert float(line.split()[1]) == pytest.approx(value, rel=6e-3, abs=1e-6)


def test_pooled_statistics_give_the_whole_batch():
    logits, target = torch.randn(3, 4, 5, 5, dtype=torch.float64), torch.randint(0, 4, (3, 5, 5))
    stats = sw.region_stats(logits, target)
    found = theory.decompose(stats.pooled(), smooth=1.0)
    close(found.cross_entropy.total.sum(), sw.CrossEntropy()(logits, target))
    close(found.log_dice.total.mean(), sw.LogDice(scope="batch")(logits, target))


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_an_empty_batch_prints_zeros(activation):
    target = torch.zeros((0, 3, 4) if activation == "sigmoid" else (0, 4), dtype=torch.long)
    text = str(theory.decompose(sw.region_stats(torch.zeros(0, 3, 4), target, activation=activation)))
    assert text.startswith("mean of 0 images")
    assert "log-Dice 0 = matching 0 + bias 0 + constant 0" in text


def test_it_holds_numbers_without_a_graph_and_cannot_be_changed():
    found = theory.decompose(two_images())
    held = (found.predicted, found.true, found.pixels, found.cross_entropy.total, found.log_dice.slope)
    assert not any(one.requires_grad for one in (*held, found.log_dice_pull, found.size_error))
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.true = found.predicted


def test_wrong_use_gets_a_sentence():
    found = theory.decompose(two_images())
    with pytest.raises(ValueError, match=r"Decomposition: image must be an index into 2 images, got 2\."):
        found.table(2)
    with pytest.raises(ValueError, match=r"Decomposition: names must hold one name for each of 2 classes, got 1\."):
        found.table(names=["sky"])
    with pytest.raises(ValueError, match="size was asked for, but these statistics hold"):
        theory.decompose(sw.region_stats(torch.zeros(1, 2, 4), torch.zeros(1, 4, dtype=torch.long), fields=["nll"]))
