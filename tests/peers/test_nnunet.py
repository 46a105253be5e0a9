"""Soft Dice, batch Dice over two processes, and Dice with cross-entropy against nnU-Net's."""

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from comparison import (
    IGNORED,
    assert_differs,
    assert_same,
    documented,
    example,
    multilabel_example,
    partly_ignored,
    value_and_gradient,
    waves,
)
from torchvision_stub import import_peer

import sizewise as sw

dice = import_peer("nnunetv2.training.loss.dice", needs_torchvision=True)
compound = import_peer("nnunetv2.training.loss.compound_losses", needs_torchvision=True)
softmax = import_peer("nnunetv2.utilities.helpers", needs_torchvision=True).softmax_helper_dim1

LOGITS, LABELS = example()
LABELS = LABELS.unsqueeze(1)  # (N, 1, *S), as its loader hands them
PARTLY = partly_ignored(LABELS.squeeze(1)).unsqueeze(1)
CHANNELS, PRESENT = multilabel_example()
SINGLE = 1e-5  # its sums are float32 whatever the input
SCOPES = {True: "batch", False: "image"}
CLASSES = {True: "all", False: "foreground"}
KINDS = ["SoftDiceLoss", "MemoryEfficientSoftDiceLoss"]
PLAIN = {"smooth": 1e-5, "do_bg": False, "ddp": False}  # as its trainers set them


@pytest.mark.parametrize("smooth", [1.0, 1e-5])  # 1 is the default of both, 1e-5 what its trainers use
@pytest.mark.parametrize("do_bg", [True, False])
@pytest.mark.parametrize("batch_dice", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_soft_dice(kind, batch_dice, do_bg, smooth):
    """They return −Dice, from −1 to 0; we return 1 − Dice."""
    ours = sw.Dice(smooth=smooth, scope=SCOPES[batch_dice], classes=CLASSES[do_bg])
    theirs = getattr(dice, kind)(softmax, batch_dice=batch_dice, do_bg=do_bg, smooth=smooth, ddp=False)
    assert_same("N1", lambda z: ours(z, LABELS), lambda z: theirs(z, LABELS), LOGITS, offset=1, tolerance=SINGLE)


@pytest.mark.parametrize("batch_dice", [True, False])
@pytest.mark.parametrize("labels", [LABELS, PARTLY], ids=["all valid", "ignored pixels"])
def test_dice_with_cross_entropy(labels, batch_dice):
    """Cross-entropy over all classes, Dice over the foreground, 1 : 1; a weight λ of Dice makes the offset λ."""
    terms = sw.CrossEntropy() + sw.Dice(smooth=1e-5, scope=SCOPES[batch_dice], classes="foreground")
    ours = sw.Loss(terms, ignore_index=IGNORED)
    theirs = compound.DC_and_CE_loss(
        {"batch_dice": batch_dice, **PLAIN},
        {},
        ignore_label=IGNORED,
        dice_class=dice.MemoryEfficientSoftDiceLoss,
    )
    assert_same("N2", lambda z: ours(z, labels), lambda z: theirs(z, labels), LOGITS, offset=1, tolerance=SINGLE)


def test_dice_with_cross_entropy_in_a_volume():
    logits, labels = waves(2, 3, 4, 5, 6), waves(2, 1, 4, 5, 6).round().long().abs()
    ours = sw.loss("DiceCE", weight=1.0)
    theirs = compound.DC_and_CE_loss({"batch_dice": False, "do_bg": True, "smooth": 1.0, "ddp": False}, {})
    assert_same("N2", lambda z: ours(z, labels), lambda z: theirs(z, labels), logits, offset=1, tolerance=SINGLE)


def test_named_dice_with_cross_entropy_has_the_weight_of_the_paper():
    theirs = compound.DC_and_CE_loss({"batch_dice": False, **PLAIN}, {})
    assert_differs("N3", lambda z: sw.loss("DiceCE")(z, LABELS), lambda z: theirs(z, LABELS), LOGITS, by=0.2955)


def test_an_image_without_labels_enters_no_mean():
    """There its Dice is smooth / smooth = 1: the mean over images counts it as perfect."""
    labels = LABELS.clone()
    labels[1] = IGNORED
    ours = sw.Loss(sw.CrossEntropy() + sw.Dice(smooth=1e-5, classes="foreground"), ignore_index=IGNORED)
    theirs = compound.DC_and_CE_loss({"batch_dice": False, **PLAIN}, {}, ignore_label=IGNORED)
    assert_differs("N4", lambda z: ours(z, labels), lambda z: theirs(z, labels) + 1, LOGITS, by=0.3993)
    only_first = float(sw.Dice(smooth=1e-5, classes="foreground")(LOGITS[:1], LABELS[:1]))
    assert float(ours(LOGITS, labels) - theirs(LOGITS, labels) - 1) == pytest.approx(only_first / 2, rel=1e-5)


def test_a_batch_without_labels_is_zero_in_both():
    labels = torch.full_like(LABELS, IGNORED)
    theirs = compound.DC_and_CE_loss({"batch_dice": True, **PLAIN}, {}, ignore_label=IGNORED)
    assert float(theirs(LOGITS, labels)) + 1 == pytest.approx(0, abs=1e-6)
    assert float(sw.loss("DiceCE", ignore_index=IGNORED)(LOGITS, labels)) == 0


def test_regions_with_binary_cross_entropy():
    ours = sw.loss("DiceCE", weight=1.0, smooth=1e-5, scope="batch", activation="sigmoid")
    theirs = compound.DC_and_BCE_loss({}, {"batch_dice": True, "do_bg": True, "smooth": 1e-5, "ddp": False})
    assert_same("N5", lambda z: ours(z, PRESENT), lambda z: theirs(z, PRESENT), CHANNELS, offset=1, tolerance=SINGLE)


def test_regions_with_an_ignore_channel_count_each_channel_there():
    """Their cross-entropy, once masked, is a sum over the 3 channels; without an ignore label it is a mean."""
    ignored = torch.zeros(2, 1, 6, 7, dtype=torch.long)
    ignored[0, 0, 2, 0:5] = 1
    criterion = sw.loss("DiceCE", weight=1.0, smooth=1e-5, scope="batch", activation="sigmoid")
    theirs = compound.DC_and_BCE_loss(
        {}, {"batch_dice": True, "do_bg": True, "smooth": 1e-5, "ddp": False}, use_ignore_label=True
    )
    with_ignore = torch.cat((PRESENT, ignored), 1)

    def ours(z):
        return criterion(z, PRESENT, ignored == 0)

    assert_differs("N6", ours, lambda z: theirs(z, with_ignore) + 1, CHANNELS, by=-1.5857)
    terms = criterion.terms(CHANNELS, PRESENT, ignored == 0)
    assert float(theirs(CHANNELS, with_ignore)) + 1 == pytest.approx(
        float(3 * terms["CrossEntropy"] + terms["Dice"]), rel=1e-5
    )


def rank_main(rank: int, rendezvous: str, results: str) -> None:
    """One of two processes: its own two images, both libraries, values and gradients to a file."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=2)
    logits, labels = LOGITS.roll(rank * 3, -1), LABELS.roll(rank, 2)
    losses = {"ours": lambda z: sw.Dice(smooth=1e-5, scope="global", classes="foreground")(z, labels)}
    for kind in KINDS:
        theirs = getattr(dice, kind)(softmax, batch_dice=True, do_bg=False, smooth=1e-5, ddp=True)
        losses[kind] = lambda z, theirs=theirs: theirs(z, labels) + 1
    torch.save({name: value_and_gradient(loss, logits) for name, loss in losses.items()}, f"{results}{rank}.pt")
    dist.destroy_process_group()


def test_batch_dice_over_two_processes(tmp_path):
    mp.spawn(rank_main, (str(tmp_path / "rendezvous"), str(tmp_path / "rank")), nprocs=2)
    ranks = [torch.load(tmp_path / f"rank{rank}.pt") for rank in (0, 1)]
    whole_logits = torch.cat([LOGITS.roll(rank * 3, -1) for rank in (0, 1)])
    whole_labels = torch.cat([LABELS.roll(rank, 2) for rank in (0, 1)])
    whole = sw.Dice(smooth=1e-5, scope="batch", classes="foreground")
    value, gradient = value_and_gradient(lambda z: whole(z, whole_labels), whole_logits)
    for rank, found in enumerate(ranks):
        # Backward sums over the ranks in both libraries, and DDP's mean over the 2 ranks takes the 2 out again.
        expected = 2 * gradient[2 * rank : 2 * rank + 2]
        for name, (found_value, found_gradient) in found.items():
            tolerance = 1e-12 if name == "ours" else SINGLE
            assert float(found_value) == pytest.approx(float(value), rel=tolerance), name
            torch.testing.assert_close(
                found_gradient, expected, rtol=0, atol=tolerance * float(expected.abs().max()), msg=name
            )
    assert documented("N7") == "equal, offset +1"
