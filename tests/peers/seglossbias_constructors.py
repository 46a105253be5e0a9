"""The constructors of the paper's released code, which is no package, on top of its formulas written anew."""

import torch.nn.functional as F
from seglossbias_formulas import channel_proportions, class_proportions, cross_entropy, dice, dice_bias, focal, kl, l1

MODES = ("binary", "multiclass", "multilabel")


def compound(first, second):
    """A constructor of first + alpha * second, each a function of mode, logits and labels; temp is 10 in the formulas."""

    def construct(mode, *, alpha, temp=10, ignore_index=255):
        assert mode in MODES
        assert (temp, ignore_index) == (10, 255)
        return lambda logits, labels: first(mode, logits, labels) + alpha * second(mode, logits, labels)

    return construct


def proportions(mode, logits, labels):
    return (class_proportions if mode == "multiclass" else channel_proportions)(logits, labels)


def entropy(mode, logits, labels):
    if mode == "multiclass":
        return cross_entropy(logits, labels)
    return F.binary_cross_entropy_with_logits(logits, labels.double())


def size_l1(mode, logits, labels):
    return l1(*proportions(mode, logits, labels))


def size_kl(mode, logits, labels):
    predicted, true = proportions(mode, logits, labels)
    return kl(predicted, true) + (kl(1 - predicted, 1 - true) if mode == "binary" else 0)


def size_bias(mode, logits, labels):
    return dice_bias(*proportions(mode, logits, labels))


CrossEntropyWithL1 = compound(entropy, size_l1)
CrossEntropyWithKL = compound(entropy, size_kl)
CrossEntropyWithDB = compound(entropy, size_bias)
FocalWithL1 = compound(lambda mode, logits, labels: focal(logits, labels), size_l1)


def CrossEntropyWithDice(mode, *, alpha, log_dice):
    return compound(entropy, lambda mode, logits, labels: dice(logits, labels, log_dice))(mode, alpha=alpha)


def DiceLoss(mode, *, log_loss):
    assert mode == "multiclass"
    return lambda logits, labels: dice(logits, labels, log_loss)
