"""Size penalties that were tried against L1, each with cross-entropy, for ``--losses size_terms:NAME``.

A penalty earns a place in the package if it keeps sizes nearer than DiceCE does at no loss of DSC.

Strengths. Where a network knows nothing, all logits 0, two classes and a true share t, the gradient of CE on the logits
is (p − y) / |Ω| with p = ½: 0.5 / |Ω| at a pixel, and ½ − t as their sum, which moves all pixels together and with them
the size. That of λ · L1 is λ τ p (1 − p) / |Ω| at every pixel, all of one sign: 2.5 λ with the package's τ = 10, five
times CE's at a pixel and, for t = 0.15, seven times its pull on the size; 0.75 λ with τ = 3, 0.25 λ with τ = 1. Later
CE's gradient shrinks with its errors, and L1's is left to pixels within 1 / τ of undecided. So plain L1 at λ = 1 is
strong at first. The relative penalties have λ = 0.1: they are then twice CE at a pixel, and the log ratio equals it.
"""

import torch
from torch import nn

import sizewise as sw
from sizewise.stats.fields import PIXELS, tempered_size


class Huber(sw.SizeL1):
    """Quadratic within δ of the true proportion: L1 pulls as hard just beside it, and sizes oscillate."""

    delta = 0.01

    def per_region(self, stats, images):
        off = (self.predicted(stats) - self.aimed_at(stats, images)).abs()
        return (off - self.delta / 2).where(off > self.delta, off**2 / (2 * self.delta))


class Relative(sw.SizeL1):
    """|p̂ − t| / (t + ε): a small region's error counts as much as a large one's."""

    epsilon = 0.01

    def per_region(self, stats, images):
        aim = self.aimed_at(stats, images)
        return (self.predicted(stats) - aim).abs() / (aim + self.epsilon)


class RelativeHuber(Relative):
    """Both: quadratic within δ of the relative error."""

    delta = 0.1

    def per_region(self, stats, images):
        off = super().per_region(stats, images)
        return (off - self.delta / 2).where(off > self.delta, off**2 / (2 * self.delta))


class LogRatio(sw.SizeL1):
    """|log((p̂ + ε) / (t + ε))|: twice as large costs what half as large does."""

    epsilon = 0.003

    def per_region(self, stats, images):
        aim = self.aimed_at(stats, images)
        return ((self.predicted(stats) + self.epsilon).log() - (aim + self.epsilon).log()).abs()


class WarmUp(sw.SizeL1):
    """f · L1 with f = clip((s − 0.1) / 0.4, 0, 1) at the share s of training.

    L1 pulls sizes harder than CE from the first step, when they are the sizes of noise: here CE comes first.
    """

    def __init__(self):
        super().__init__()
        self.register_buffer("factor", torch.zeros((), dtype=torch.float64), persistent=False)  # the share sets it

    def at(self, share):
        self.factor.fill_(min(1.0, max(0.0, (share - 0.1) / 0.4)))

    def value(self, stats):
        return self.factor.to(stats.sums) * super().value(stats)


class RisingTemperature(WarmUp):
    """(1 − f) · L1 at τ = 1 + f · L1 at τ = 10, with the warm-up's f.

    At first every pixel feels a pull of half CE's, at the end undecided ones feel plain L1's. τ is a constant of the
    pass over the logits; so both proportions are summed, and the penalty goes from one to the other.
    """

    @property
    def fields(self):
        return (tempered_size(1), *super().fields)

    def per_region(self, stats, images):
        aim, factor = self.aimed_at(stats, images), self.factor.to(stats.sums)
        soft = (stats.tempered_size_at(1) / stats.divisor(PIXELS) - aim).abs()
        return (1 - factor) * soft + factor * (self.predicted(stats) - aim).abs()

    def value(self, stats):
        return sw.SizeL1.value(self, stats)


class Multipliers(nn.Module):
    """μ ≥ 0 of each region. Not one of the package's modules, so the formula is left to torch and may write into it."""

    most, rate, tolerance, limit = 64, 0.02, 0.1, 3.0

    def __init__(self):
        super().__init__()
        self.register_buffer("values", torch.zeros(self.most))  # as many as any set has regions; saved with the run

    @torch.no_grad()
    def ascend(self, off, aim):
        """μ ← clip(μ + rate · (min(Σ |p̂ − t| / Σ (t + 0.01), 1) − tolerance), 0, limit), the sums over the batch."""
        share = (off.sum(0) / (aim + 0.01).sum(0)).clamp(max=1).flatten()
        held = self.values[: share.numel()]
        held.add_(self.rate * (share - self.tolerance)).clamp_(0, self.limit)


class Dual(sw.SizeL1):
    """Σ μ_k |p̂_k − t_k| / K with μ_k from dual ascent: it grows while sizes of class k are a tenth off, else shrinks.

    μ begins at 0, CE alone. While sizes are off by all of themselves it grows by 0.018 a step, to plain L1's λ = 1 in
    55 steps, a tenth of training; a fifth off, in 500. 3, the grid's largest λ, is the most.
    """

    def __init__(self):
        super().__init__()
        self.multipliers = Multipliers()

    def per_region(self, stats, images):
        aim = self.aimed_at(stats, images)
        off = (self.predicted(stats) - aim).abs()
        held = self.multipliers.values[: off[0].numel()].to(off, copy=True).view(off.shape[1:])
        if stats.sums.requires_grad:  # in training; validation looks at the same formula
            self.multipliers.ascend(off, aim)
        return held * off


def huber():
    """CE + Huber."""
    return sw.CrossEntropy() + Huber()


def relative():
    """CE + 0.1 · relative L1 of the classes that are there."""
    return sw.CrossEntropy() + 0.1 * Relative(absent="skip")


def relative_huber():
    """CE + 0.1 · relative Huber of the classes that are there."""
    return sw.CrossEntropy() + 0.1 * RelativeHuber(absent="skip")


def log_ratio():
    """CE + 0.1 · the logarithm of the ratio, of the classes that are there."""
    return sw.CrossEntropy() + 0.1 * LogRatio(absent="skip")


def soft_temperature():
    """CE + L1 of proportions at τ = 3, where more pixels feel the pull."""
    return sw.CrossEntropy() + sw.SizeL1(temperature=3)


def dice_and_size():
    """CE + Dice + relative Huber: Dice's match with sizes under control."""
    return sw.CrossEntropy() + sw.Dice() + 0.1 * RelativeHuber(absent="skip")


def jaccard_and_size():
    """¼ CE + ¾ Jaccard + relative Huber."""
    return 0.25 * sw.CrossEntropy() + 0.75 * sw.Jaccard(absent="skip") + 0.1 * RelativeHuber(absent="skip")


def warm_up():
    """CE + f · L1, f from 0 at a tenth of training to 1 at half of it."""
    return sw.CrossEntropy() + WarmUp()


def rising_temperature():
    """CE + L1 that goes from τ = 1 to τ = 10 between a tenth and half of training."""
    return sw.CrossEntropy() + RisingTemperature()


def dual():
    """CE + L1 with a multiplier for each class, which grows while its sizes are more than a tenth off, to at most 3."""
    return sw.CrossEntropy() + Dual()
