"""How large a region is, and how much too large or too small it was predicted."""

from sizewise.metrics.overlap import Counts


def true_proportion(counts: Counts) -> float | None:
    """The share of the image that the true region covers, T / |Ω|; None when no pixel is valid.

    >>> true_proportion(Counts(intersection=2, predicted=3, target=5, valid=100))
    0.05
    """
    return counts.target / counts.valid if counts.valid else None


def size_error(counts: Counts) -> float | None:
    """Predicted minus true proportion of the image, (P − T) / |Ω|, signed; None when no pixel is valid.

    >>> size_error(Counts(intersection=2, predicted=3, target=5, valid=100))
    -0.02
    """
    return (counts.predicted - counts.target) / counts.valid if counts.valid else None


def relative_size_error(counts: Counts) -> float | None:
    """The error in units of the true size, (P − T) / T, signed: −1 is a missed region; None when T = 0.

    >>> relative_size_error(Counts(intersection=2, predicted=3, target=5, valid=100))
    -0.4
    """
    return (counts.predicted - counts.target) / counts.target if counts.target else None
