"""The terms that losses are summed from, one file each."""

from sizewise.terms.cross_entropy import BalancedCrossEntropy, CrossEntropy
from sizewise.terms.dice import Dice, LogDice
from sizewise.terms.dice_bias import DiceBias
from sizewise.terms.focal import Focal
from sizewise.terms.generalized_dice import GeneralizedDice
from sizewise.terms.jaccard import Jaccard
from sizewise.terms.size_barrier import SizeBarrier
from sizewise.terms.size_bounds import SizeBounds
from sizewise.terms.size_kl import SizeKL
from sizewise.terms.size_l1 import SizeL1
from sizewise.terms.tversky import Tversky

__all__ = [
    "BalancedCrossEntropy",
    "CrossEntropy",
    "Dice",
    "DiceBias",
    "Focal",
    "GeneralizedDice",
    "Jaccard",
    "LogDice",
    "SizeBarrier",
    "SizeBounds",
    "SizeKL",
    "SizeL1",
    "Tversky",
]
