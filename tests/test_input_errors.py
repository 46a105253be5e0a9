"""Every sentence that wrong tensors get: it names the argument, what was wanted, what was given, and the likely fix."""

import re

import pytest
import torch

import sizewise as sw

LOGITS = torch.zeros(2, 3, 4, 5)
LABELS = torch.zeros(2, 4, 5, dtype=torch.long)
PROBABILITIES = torch.full((2, 3, 4, 5), 1 / 3)
ONE_CHANNEL = torch.zeros(2, 1, 4, 5)
THREE_LABELS = torch.arange(40).view(2, 4, 5) % 3


def call(logits=LOGITS, target=LABELS, mask=None, **options):
    return lambda: sw.loss("RCE", **options)(logits, target, mask)


INPUTS = {
    "logits are no tensor": (
        call([[0.0]]),
        TypeError,
        "CrossEntropy + SizeL1: logits must be a torch.Tensor, got list.",
    ),
    "target is no tensor": (call(target=[0]), TypeError, "target must be a torch.Tensor, got list."),
    "logits of integers": (
        call(LOGITS.long()),
        TypeError,
        "logits must be float16, bfloat16, float32 or float64, got int64. Pass the network's raw scores.",
    ),
    "logits without a spatial axis": (
        call(LOGITS[:, :, 0, 0]),
        ValueError,
        "logits must have shape (N, K, *S) with at least one spatial axis, got (2, 3). For one image add a batch axis, "
        "logits[None]; for a list of pixels (M, K) pass logits.T[None] and target[None].",
    ),
    "no channel": (call(LOGITS[:, :0]), ValueError, "logits must have at least one channel, got (2, 0, 4, 5)."),
    "one channel with softmax": (
        call(ONE_CHANNEL),
        ValueError,
        "logits have one channel, (2, 1, 4, 5), and softmax over one class is always 1. For binary segmentation with one "
        'channel use activation="sigmoid", or give the network two channels.',
    ),
    "integer one-hot": (
        call(target=torch.zeros(2, 3, 4, 5, dtype=torch.int32)),
        ValueError,
        "target must have shape (N, *S) = (2, 4, 5), got (2, 3, 4, 5) for logits (2, 3, 4, 5). One-hot? Pass it as float "
        "probabilities.",
    ),
    "one-hot with classes last": (
        call(target=torch.zeros(2, 4, 5, 3, dtype=torch.long)),
        ValueError,
        "got (2, 4, 5, 3) for logits (2, 3, 4, 5). One-hot with the classes last? Use target.argmax(-1).",
    ),
    "probabilities with classes last": (
        call(target=torch.zeros(2, 4, 5, 3)),
        ValueError,
        "float target must hold probabilities in the logits' shape (2, 3, 4, 5), got (2, 4, 5, 3). Are the classes last? Use "
        "target.movedim(-1, 1).",
    ),
    "one image": (
        call(LOGITS[0], LABELS[0]),
        ValueError,
        "got (4, 5) for logits (3, 4, 5). One image without a batch axis? Use logits[None] and target[None].",
    ),
    "no batch axis": (
        call(target=LABELS[0]),
        ValueError,
        "got (4, 5) for logits (2, 3, 4, 5). Is the batch axis missing? Use target[None].",
    ),
    "another resolution": (
        call(target=torch.zeros(2, 8, 10, dtype=torch.long)),
        ValueError,
        "got (2, 8, 10) for logits (2, 3, 4, 5). Does the network predict at a lower resolution than the target's? Pass "
        'upsample="linear".',
    ),
    "another batch size": (
        call(target=LABELS[:1]),
        ValueError,
        "target must have shape (N, *S) = (2, 4, 5), got (1, 4, 5) for logits (2, 3, 4, 5).",
    ),
    "labels for sigmoid channels": (
        call(target=LABELS, activation="sigmoid"),
        ValueError,
        "target must have shape (N, C, *S) = (2, 3, 4, 5), got (2, 4, 5) for logits (2, 3, 4, 5). One label per pixel? Use "
        'activation="softmax", or one channel per class in the target.',
    ),
    "complex target": (
        call(target=LABELS.to(torch.complex64)),
        TypeError,
        "target must hold integer labels or floating-point probabilities, got complex64.",
    ),
    "float label map": (
        call(target=LABELS.float()),
        TypeError,
        "target is a float32 label map of shape (2, 4, 5); labels must be integers. Use target.long().",
    ),
    "float label map for one sigmoid channel": (
        call(ONE_CHANNEL, LABELS.float(), activation="sigmoid"),
        TypeError,
        "Use target.long() or target.unsqueeze(1) if it holds probabilities of the one channel.",
    ),
    "probabilities of another shape": (
        call(target=PROBABILITIES[:, :2]),
        ValueError,
        "float target must hold probabilities in the logits' shape (2, 3, 4, 5), got (2, 2, 4, 5).",
    ),
    "ignore_index with probabilities": (
        call(target=PROBABILITIES, ignore_index=255),
        ValueError,
        "ignore_index=255 needs integer labels, but target holds probabilities (float32). Mark the pixels to leave out "
        "with mask=..., a bool tensor that is False there.",
    ),
    "mask of integers": (
        call(mask=LABELS),
        TypeError,
        "mask must be bool, True at the pixels to use, got int64. Use mask.bool().",
    ),
    "mask of another shape": (
        call(mask=torch.ones(2, 4, 4, dtype=torch.bool)),
        ValueError,
        "mask must have shape (N, *S) = (2, 4, 5), got (2, 4, 4) for logits (2, 3, 4, 5).",
    ),
    "target elsewhere": (
        call(target=LABELS.to("meta")),
        ValueError,
        "target is on meta, but the logits are on cpu. Use target.to(logits.device).",
    ),
    "mask elsewhere": (
        call(mask=LABELS.bool().to("meta")),
        ValueError,
        "mask is on meta, but the logits are on cpu. Use mask.to(logits.device).",
    ),
    "label out of range": (
        call(target=LABELS + 255),
        ValueError,
        "target has the label 255, but there are K = 3 classes, so labels must be 0 to 2; ignore_index is None. If "
        "255 marks pixels without a label, pass ignore_index=255.",
    ),
    "a mask of 0 and 255": (
        call(LOGITS[:, :2], (THREE_LABELS > 0) * 255),
        ValueError,
        "so labels must be 0 to 1; ignore_index is None. All labels are 0 or 255, as in a mask that was saved as an image: "
        "pass target // 255.",
    ),
    "255 beside 0 and 1": (
        call(LOGITS[:, :2], torch.where(THREE_LABELS == 2, 255, THREE_LABELS)),
        ValueError,
        "ignore_index is None. If 255 marks pixels without a label, pass ignore_index=255.",
    ),
    "a mask of 0 and 255 for a sigmoid channel": (
        call(ONE_CHANNEL, (THREE_LABELS > 0) * 255, activation="sigmoid"),
        ValueError,
        "pass target // 255.",
    ),
    "negative label": (call(target=LABELS - 7, ignore_index=255), ValueError, "the label -7"),
    "label 2 of a sigmoid channel": (
        call(ONE_CHANNEL, LABELS + 2, activation="sigmoid"),
        ValueError,
        "target has the label 2, but there are K = 2 classes, so labels must be 0 to 1",
    ),
    "rows that do not sum to one": (
        call(target=PROBABILITIES * 2),
        ValueError,
        "target probabilities must be >= 0 and sum to 1 over the classes (within 0.001) at every valid pixel, got "
        "[0.666667, 0.666667, 0.666667], sum 2. Leave pixels without a label out with mask=..., and pass labels as "
        "integers.",
    ),
    "negative probabilities": (
        call(target=torch.tensor([2.0, -0.5, -0.5]).view(1, 3, 1, 1).expand(2, 3, 4, 5)),
        ValueError,
        "target probabilities must be >= 0",
    ),
    "NaN probabilities": (call(target=PROBABILITIES * torch.nan), ValueError, "target probabilities must be >= 0"),
    "shares above one": (
        call(ONE_CHANNEL, ONE_CHANNEL + 255, activation="sigmoid"),
        ValueError,
        "float targets of sigmoid channels must lie between 0 and 1, got 255.",
    ),
}


@pytest.mark.parametrize(("act", "kind", "sentence"), INPUTS.values(), ids=INPUTS)
def test_the_sentence(act, kind, sentence):
    with pytest.raises(kind, match=re.escape(sentence)):
        act()


def test_a_second_derivative_gets_a_sentence():
    logits = LOGITS.clone().requires_grad_()
    loss = sw.loss("RCE")(logits, LABELS)
    (gradient,) = torch.autograd.grad(loss, logits, create_graph=True)
    with pytest.raises(RuntimeError, match="a first derivative only, and a second one was asked for"):
        gradient.sum().backward()
