"""Every sentence that wrong options get: it names the argument, what was wanted, what was given, and the likely fix."""

import re

import pytest
import torch

import sizewise as sw

LOGITS = torch.zeros(2, 3, 4, 5)
LABELS = torch.zeros(2, 4, 5, dtype=torch.long)

OPTIONS = {
    "unknown loss": (
        lambda: sw.loss("DiceBCE"),
        ValueError,
        "there is no loss 'DiceBCE'; the names are CE, WCE, FL, Dice, LogDice, DiceCE, LogDiceCE, DiceFL, LogDiceFL, DBCE, "
        "RCE-L1, RCE-KL, RFL-L1, RFL-KL, JaccardCE, CC-Dice, CC-DiceCE, RCE, RFL. Did you mean 'DiceCE'?",
    ),
    "loss name in lower case": (lambda: sw.loss("rce"), ValueError, "Did you mean 'RCE'?"),
    "option that no term has": (
        lambda: sw.loss("CE", temperature=5.0),
        TypeError,
        "loss 'CE': no term of it has the option 'temperature'; it takes class_weight, classes, scope.",
    ),
    "λ of one term": (
        lambda: sw.loss("CE", weight=0.5),
        TypeError,
        "loss 'CE': weight is λ, which weighs a second term, and this loss has one term only. Write 0.5 * CrossEntropy() to "
        "scale it.",
    ),
    "λ as a tensor": (
        lambda: sw.loss("RCE", weight=torch.ones(3)),
        TypeError,
        "loss 'RCE': weight is λ, one number >= 0 for a whole term, got Tensor. Weights per class go into class_weight=...",
    ),
    "λ as a list": (
        lambda: sw.loss("DiceCE", weight=[1, 2]),
        TypeError,
        "got list. Weights per class go into class_weight",
    ),
    "negative λ": (lambda: sw.loss("RCE", weight=-1), ValueError, "weight must be a number >= 0, got -1."),
    "negative factor": (lambda: -0.5 * sw.Dice(), ValueError, "Dice: weight must be a number >= 0, got -0.5."),
    "λ that is NaN": (lambda: float("nan") * sw.Dice(), ValueError, "weight must be a number >= 0, got nan."),
    "unknown scope": (
        lambda: sw.Dice(scope="imge"),
        ValueError,
        "Dice: scope must be one of 'image', 'batch', 'global', got 'imge'. Did you mean 'image'?",
    ),
    "unknown classes": (
        lambda: sw.Dice(classes="foregrund"),
        ValueError,
        "Dice: classes must be one of 'all', 'foreground', got 'foregrund'. Did you mean 'foreground'?",
    ),
    "classes of another type": (
        lambda: sw.Dice(classes=3),
        TypeError,
        'Dice: classes must be "all", "foreground" or a list of class ids, got 3.',
    ),
    "no class": (lambda: sw.Dice(classes=[]), ValueError, "classes must be distinct ids >= 0, at least one, got []."),
    "a class twice": (lambda: sw.Dice(classes=[1, 1]), ValueError, "classes must be distinct ids >= 0"),
    "a class between two": (
        lambda: sw.Dice(classes=[1.5]),
        TypeError,
        'Dice: classes must be "all", "foreground" or a list of class ids, got [1.5].',
    ),
    "classes as a mask": (lambda: sw.Dice(classes=[False, True]), TypeError, "list of class ids, got [False, True]."),
    "classes as a tensor mask": (lambda: sw.Dice(classes=torch.tensor([False, True])), TypeError, "list of class ids"),
    "a class too high": (
        lambda: sw.Dice(classes=[3])(LOGITS, LABELS),
        ValueError,
        "Dice: classes has the id 3, but there are 3 classes.",
    ),
    "unknown absent": (lambda: sw.Dice(absent="drop"), ValueError, "Dice: absent must be one of 'include', 'skip'"),
    "unknown reduction": (
        lambda: sw.SizeL1(class_reduction="max"),
        ValueError,
        "class_reduction must be one of 'sum', 'mean'",
    ),
    "unknown activation": (
        lambda: sw.Loss(sw.Dice(), activation="softmaxx"),
        ValueError,
        "Loss: activation must be one of 'softmax', 'sigmoid', got 'softmaxx'. Did you mean 'softmax'?",
    ),
    "ignore_index of another type": (
        lambda: sw.loss("CE", ignore_index="255"),
        TypeError,
        "ignore_index must be an integer or None, got '255'.",
    ),
    "ignore_index beyond int64": (
        lambda: sw.loss("CE", ignore_index=2**64 - 1),
        ValueError,
        "Loss: ignore_index must fit into int64, got 18446744073709551615. Mark the pixels to leave out with mask=...",
    ),
    "ignore_index of another type set later": (
        lambda: setattr(loss := sw.loss("CE"), "ignore_index", 2.5) or loss(LOGITS, LABELS),
        TypeError,
        "CrossEntropy: ignore_index must be an integer or None, got 2.5.",
    ),
    "smooth that float32 takes for zero": (
        lambda: sw.loss("DBCE", smooth=1e-300),
        ValueError,
        "DiceBias: smooth must be a number >= 1.17549e-38, got 1e-300.",
    ),
    "smooth of zero": (lambda: sw.Dice(smooth=0), ValueError, "Dice: smooth must be a number > 0, got 0."),
    "negative temperature": (
        lambda: sw.SizeL1(temperature=-1),
        ValueError,
        "SizeL1: temperature must be a number > 0, got -1.",
    ),
    "temperature of another type": (
        lambda: sw.SizeL1(temperature="10"),
        TypeError,
        "SizeL1: temperature must be a number > 0, got str '10'.",
    ),
    "negative gamma": (lambda: sw.Focal(gamma=-2), ValueError, "Focal: gamma must be a number >= 0, got -2."),
    "infinite alpha": (
        lambda: sw.Tversky(alpha=float("inf")),
        ValueError,
        "Tversky: alpha must be a number >= 0, got inf.",
    ),
    "barrier of zero": (lambda: sw.SizeBarrier(0, 1, t=0), ValueError, "SizeBarrier: t must be a number > 0, got 0."),
    "class weights of the wrong length": (
        lambda: sw.CrossEntropy(class_weight=[1.0, 2.0])(LOGITS, LABELS),
        ValueError,
        "CrossEntropy: class_weight must have shape (3,), one weight per class, got (2,).",
    ),
    "sigmoid class weights of the wrong length": (
        lambda: sw.loss("CE", class_weight=[1.0, 2.0, 3.0], activation="sigmoid")(LOGITS, LOGITS),
        ValueError,
        "class_weight must have shape (2,) or (3, 2), one weight per class, got (3,).",
    ),
    "class weights that are a number": (
        lambda: sw.Dice(class_weight=2.0),
        ValueError,
        "Dice: class_weight must have shape (K,), (2,) or (C, 2), got ().",
    ),
    "negative class weights": (
        lambda: sw.Dice(class_weight=[1.0, -1.0]),
        ValueError,
        "Dice: every entry of class_weight must be finite and >= 0, got [1.0, -1.0].",
    ),
    "class weights of words": (
        lambda: sw.Dice(class_weight="balanced"),
        TypeError,
        "Dice: class_weight must be numbers, a list or a tensor, got str 'balanced'.",
    ),
    "unknown size target": (
        lambda: sw.SizeL1(target="groundtruth"),
        ValueError,
        "SizeL1: target must be one of 'ground_truth', got 'groundtruth'. Did you mean 'ground_truth'?",
    ),
    "proportions above one": (
        lambda: sw.SizeL1(target=[10.0, 90.0]),
        ValueError,
        "SizeL1: every entry of target must be between 0 and 1, got [10.0, 90.0].",
    ),
    "proportions with three axes": (
        lambda: sw.SizeL1(target=torch.zeros(1, 1, 1)),
        ValueError,
        "SizeL1: target must have shape (K,) or (N, K) (sigmoid: (C,) or (N, C)), got (1, 1, 1).",
    ),
    "proportions that do not sum to one": (
        lambda: sw.SizeL1(target=[0.5, 0.2, 0.2])(LOGITS, LABELS),
        ValueError,
        "SizeL1: target proportions must sum to 1 over the classes, got sums from 0.9 to 0.9.",
    ),
    "proportions of other classes": (
        lambda: sw.SizeL1(target=[0.5, 0.5])(LOGITS, LABELS),
        ValueError,
        "SizeL1: target must have one entry per class, shape (3,), or one row per image, (2, 3), got (2,).",
    ),
    "all pixels without a prior": (
        lambda: sw.SizeL1(pixels="all"),
        ValueError,
        'SizeL1: pixels="all" counts pixels that have no label, so it needs target= as a tensor of proportions; the ground '
        "truth is known on valid pixels only.",
    ),
    "unknown pixels": (lambda: sw.SizeBounds(0, 1, pixels="al"), ValueError, "Did you mean 'all'?"),
    "bounds that cross": (
        lambda: sw.SizeBounds(0.5, 0.2),
        ValueError,
        "SizeBounds: lower must be <= upper for every class, got lower=0.5 and upper=0.2.",
    ),
    "bounds with three axes": (
        lambda: sw.SizeBounds(torch.zeros(1, 1, 1), 1.0),
        ValueError,
        "SizeBounds: lower must be a number, (K,) or (N, K), got (1, 1, 1).",
    ),
    "a loss of something else": (
        lambda: sw.Loss("RCE"),
        TypeError,
        "Loss: criterion must be a term or a sum of terms, as CrossEntropy() + 0.1 * Dice(), got str. For a named loss use "
        "sizewise.loss(name).",
    ),
    "a sum of two readings": (
        lambda: sw.Loss(sw.Dice(), ignore_index=0) + sw.Loss(sw.CrossEntropy(), ignore_index=255),
        ValueError,
        "Loss: the two sides read their input differently, ignore_index=0 and ignore_index=255.",
    ),
    "a weight of no term": (
        lambda: sw.loss("RCE").weights.__setitem__("SizeL2", 1.0),
        KeyError,
        "there is no term 'SizeL2'; the terms are CrossEntropy, SizeL1. Did you mean 'SizeL1'?",
    ),
    "a negative weight set later": (
        lambda: sw.loss("RCE").weights.__setitem__("SizeL1", -1.0),
        ValueError,
        "weights['SizeL1']: weight must be a number >= 0, got -1.0.",
    ),
    "a total of too few terms": (
        lambda: sw.loss("RCE").total({}),
        ValueError,
        "CrossEntropy + SizeL1: total() needs the value of each term, CrossEntropy, SizeL1, got none.",
    ),
    "unknown field": (
        lambda: sw.region_stats(LOGITS, LABELS, fields=("counts",)),
        ValueError,
        "region_stats: fields must be one of 'count', 'nll', 'focal', 'overlap', 'size', 'tempered_size', 'kept_size', got "
        "'counts'. Did you mean 'count'?",
    ),
    "statistics without the field": (
        lambda: sw.Dice().from_stats(sw.region_stats(LOGITS, LABELS, fields=("nll",))),
        ValueError,
        "RegionStats: overlap was asked for, but these statistics hold count, pixels, nll. Take them with "
        "criterion.stats(logits, target), or name the fields, temperature and gamma in region_stats(...).",
    ),
    "statistics of another temperature": (
        lambda: sw.SizeL1(temperature=5).from_stats(sw.region_stats(LOGITS, LABELS)),
        ValueError,
        "RegionStats: tempered_size(temperature=5) was asked for",
    ),
    "several temperatures": (
        lambda: sw.region_stats(LOGITS, LABELS, temperature=[5, 10]).tempered_size,
        ValueError,
        "RegionStats: there are several (5, 10); choose one with tempered_size_at(temperature).",
    ),
}


@pytest.mark.parametrize(("act", "kind", "sentence"), OPTIONS.values(), ids=OPTIONS)
def test_the_sentence(act, kind, sentence):
    with pytest.raises(kind, match=re.escape(sentence)):
        act()
