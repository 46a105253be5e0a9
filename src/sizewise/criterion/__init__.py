"""What can be called on logits: terms and their weighted sums, and the one step from logits to a loss."""

from sizewise.criterion.criterion import Criterion
from sizewise.criterion.weight_schedule import WeightSchedule
from sizewise.criterion.weighted_sum import Loss, Weights

__all__ = ["Criterion", "Loss", "WeightSchedule", "Weights"]
