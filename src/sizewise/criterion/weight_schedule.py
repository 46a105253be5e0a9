"""λ over training: a factor on the weights of a criterion that depends on the share of steps done."""

from collections.abc import Callable

from sizewise.checks import check_number
from sizewise.criterion.weighted_sum import Loss


class WeightSchedule:
    """Sets the λ of a loss to λ₀ · factor(t), t the share of training done, from 0 to 1.

    λ₀ is what the loss has when the schedule is made. The first term keeps its weight: it is what the others are added
    to. The weights are written in place, so a captured CUDA graph and a compiled step see them.

    Args:
        criterion: a loss of several terms.
        factor: a function of t. :meth:`constant`, :meth:`ramp` and :meth:`step` make the usual ones.

    >>> import sizewise as sw
    >>> criterion = sw.loss("RCE", weight=0.5)
    >>> schedule = sw.WeightSchedule.ramp(criterion, 0.1, 0.3)
    >>> steps = 10
    >>> for step in range(steps):
    ...     schedule.at(step / steps)  # then forward, backward, update
    ...     if step in (1, 2, 3):
    ...         print(round(float(criterion.weights["SizeL1"]), 3))
    0.0
    0.25
    0.5
    """

    def __init__(self, criterion: Loss, factor: Callable[[float], float]) -> None:
        if not isinstance(criterion, Loss) or len(criterion.weights) < 2:
            raise ValueError(
                f"WeightSchedule: the loss must have a second term, whose weight λ is scheduled, got {criterion!r}. "
                "Take one as RCE or CrossEntropy() + SizeL1()."
            )
        if not callable(factor):
            raise TypeError(
                f"WeightSchedule: factor must be a function of the share of training done, got {type(factor).__name__}."
                " For the usual ones use WeightSchedule.ramp, .step or .constant."
            )
        self.criterion, self.factor = criterion, factor
        self.weights = {name: float(criterion.weights[name]) for name in criterion.weights.names[1:]}

    def at(self, share: float) -> None:
        """Set the weights for the share of training done, step / steps."""
        factor = self.factor(check_number("WeightSchedule", "share", share, minimum=0))
        for name, weight in self.weights.items():
            self.criterion.weights[name] = weight * factor

    @classmethod
    def constant(cls, criterion: Loss) -> "WeightSchedule":
        """λ₀ all the time."""
        return cls(criterion, lambda share: 1.0)

    @classmethod
    def ramp(cls, criterion: Loss, start: float, end: float) -> "WeightSchedule":
        """λ₀ · clip((t − start) / (end − start), 0, 1): without the term at first, then growing, then λ₀."""
        start = check_number("WeightSchedule", "start", start, minimum=0)
        end = check_number("WeightSchedule", "end", end, minimum=0)
        if not start < end <= 1:
            raise ValueError(
                f"WeightSchedule: a ramp goes from start to end, with 0 <= start < end <= 1, got {start:g} and {end:g}."
            )
        return cls(criterion, lambda share: min(1.0, max(0.0, (share - start) / (end - start))))

    @classmethod
    def step(cls, criterion: Loss, at: float) -> "WeightSchedule":
        """0 before the share ``at`` of training, λ₀ from there on."""
        at = check_number("WeightSchedule", "at", at, minimum=0)
        return cls(criterion, lambda share: float(share >= at))
