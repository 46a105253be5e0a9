"""Size penalties that were tried against L1, each with cross-entropy at λ = 1, for ``--losses size_terms:NAME``.

A penalty earns a place in the package if it keeps sizes nearer than DiceCE does at no loss of DSC.
"""

import sizewise as sw


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
