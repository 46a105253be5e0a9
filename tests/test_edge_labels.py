"""Labels at the edges: out of range, ignored, of every integer dtype, or not labels at all."""

import numpy as np
import pytest
import torch
from edge_images import EVERY_READING, criterion, every_loss, every_reading, images, run

import sizewise as sw

SIGNED = [torch.int8, torch.int16, torch.int32, torch.int64]
UNSIGNED = [torch.uint8, torch.uint16, torch.uint32, torch.uint64]


def convert(target, dtype):
    """Torch fills and converts the wider unsigned dtypes by numpy's help."""
    return torch.from_numpy(target.numpy().astype(np.dtype(str(dtype).removeprefix("torch."))))


@every_loss
def test_a_label_out_of_range_is_named(name):
    for activation, channels in EVERY_READING:
        regions = channels if activation == "softmax" else 2
        for wrong in (regions, -1, 255):
            logits, target = images(activation, channels, torch.float32)
            target[..., 3, 5] = wrong
            for ignore_index in (None, 100):
                loss = criterion(name, activation, ignore_index)
                message = rf"label {wrong},.*K = {regions} classes.*ignore_index is {ignore_index}\..*={wrong}"
                with pytest.raises(ValueError, match=message):
                    loss(logits, target)
            # but it is not looked at where the mask is False, nor where it is the label to ignore
            mask = torch.ones(2, 4, 6, dtype=torch.bool)
            mask[:, 3, 5] = False
            masked = run(criterion(name, activation, None), logits, target, mask)
            ignored = run(criterion(name, activation, wrong), logits, target)
            assert torch.equal(masked[0], ignored[0])
            assert torch.equal(masked[1], ignored[1])


@every_reading
@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED + [torch.bool], ids=str)
def test_every_integer_dtype_means_the_same(activation, channels, dtype):
    logits, target = images(activation, channels, torch.float64)
    if dtype == torch.bool:
        target = target % 2
    plain, ignoring = criterion("RCE", activation, None), criterion("RCE", activation, 1)
    for loss in (plain, ignoring):
        assert torch.equal(loss(logits, convert(target, dtype)), loss(logits, target))


@every_reading
@pytest.mark.parametrize("dtype", UNSIGNED, ids=str)
def test_an_ignore_index_outside_the_dtype_matches_nothing(activation, channels, dtype):
    # uint8(255) == -1 is True in torch
    logits, target = images(activation, channels, torch.float64)
    largest = 2 ** (8 * dtype.itemsize) - 1
    wrong = convert(target, dtype)
    wrong.numpy()[..., 0, 0] = largest
    with pytest.raises(ValueError, match=rf"label {largest},"):
        criterion("CE", activation, -1)(logits, wrong)
    right = criterion("CE", activation, -1)(logits, convert(target, dtype))
    assert torch.equal(right, criterion("CE", activation, None)(logits, target))


def test_an_integer_of_numpy_is_an_ignore_index():
    logits, target = images("softmax", 3, torch.float64)
    target[0, 1:3] = 255
    loss = sw.loss("CC-DiceCE", ignore_index=np.uint8(255))
    assert repr(loss) == repr(sw.loss("CC-DiceCE", ignore_index=255))
    got = run(loss, logits, target)
    wanted = run(sw.loss("CC-DiceCE", ignore_index=255), logits, target)
    assert torch.equal(got[0], wanted[0])
    assert torch.equal(got[1], wanted[1])
    stats = sw.region_stats(logits, target, ignore_index=np.int64(255))
    assert torch.equal(stats.sums, sw.region_stats(logits, target, ignore_index=255).sums)


def test_a_label_that_no_ignore_index_can_name_is_sent_to_the_mask():
    logits, target = images("softmax", 3, torch.float64)
    labels = target.numpy().astype(np.uint64)
    labels[0, 0, 0] = 2**64 - 1
    with pytest.raises(ValueError, match=r"label 18446744073709551615, .* leave them out with mask=\.\.\."):
        sw.loss("CE")(logits, torch.from_numpy(labels))


@pytest.mark.parametrize("dtype", SIGNED, ids=str)
def test_a_negative_ignore_index_works_where_the_dtype_holds_it(dtype):
    logits, target = images("softmax", 3, torch.float64)
    target[0, 1:3] = -1
    mask = target != -1
    got = criterion("RCE", "softmax", -1)(logits, target.to(dtype))
    assert torch.equal(got, criterion("RCE", "softmax", None)(logits, target, mask))


@every_loss
def test_float_label_maps_are_told_how_to_become_labels(name):
    logits, target = images("softmax", 3, torch.float32)
    for labels in (target.float(), target.half().unsqueeze(1)):
        with pytest.raises(TypeError, match=r"label map of shape .*labels must be integers\. Use target\.long\(\)"):
            sw.loss(name)(logits, labels)
    logits, target = images("sigmoid", 1, torch.float32)
    with pytest.raises(TypeError, match=r"Use target\.long\(\) or target\.unsqueeze\(1\) if it holds probabilities"):
        sw.loss(name, activation="sigmoid")(logits, target[:, 0].float())


@every_loss
def test_one_channel_with_softmax_names_sigmoid(name):
    logits, target = images("sigmoid", 1, torch.float32)
    with pytest.raises(ValueError, match=r'softmax over one class is always 1.*activation="sigmoid"'):
        sw.loss(name)(logits, target[:, 0])


@every_loss
def test_probabilities_must_be_probabilities(name):
    logits, target = images("softmax", 3, torch.float32)
    soft = torch.nn.functional.one_hot(target, 3).movedim(-1, 1).float()
    for wrong in (soft * 0.99, torch.full_like(soft, float("nan")), soft + torch.tensor([-0.5, 0.5, 0]).view(3, 1, 1)):
        with pytest.raises(ValueError, match=r"target probabilities must be >= 0 and sum to 1 over the classes"):
            sw.loss(name)(logits, wrong)
        sw.loss(name)(logits, wrong, torch.zeros_like(target, dtype=torch.bool))  # not looked at under the mask
    sw.loss(name)(logits, soft * 0.9995)  # within 1e-3
    with pytest.raises(ValueError, match=r"ignore_index=255 needs integer labels, but target holds probabilities"):
        sw.loss(name, ignore_index=255)(logits, soft)
    logits, target = images("sigmoid", 3, torch.float32)
    for wrong in (target * 1.01, target - 0.01, target * float("nan")):
        with pytest.raises(ValueError, match="float targets of sigmoid channels must lie between 0 and 1"):
            sw.loss(name, activation="sigmoid")(logits, wrong)


def test_an_ignored_class_counts_as_absent():
    # Class 2 is ignored: it still has a softmax share, and an overlap of nothing.
    logits, target = images("softmax", 3, torch.float64)
    stats = sw.region_stats(logits, target, ignore_index=2)
    kept = sw.region_stats(logits, target, target != 2)
    assert torch.equal(stats.sums, kept.sums)
    assert stats.count[:, 2].tolist() == [0, 0]
    assert (stats.size[:, 2] > 0).all()
