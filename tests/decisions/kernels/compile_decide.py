"""Compile the kernel of a decision down to machine code for a GPU that need not be here; run by test_decide_compiling.

    python compile_decide.py CLASSES

Prints the size of each binary.
"""

import sys

import torch
from binary_size import binary_size

from sizewise.decisions.kernels.aims import DICE, NOTHING, SIZE
from sizewise.decisions.kernels.launches import KernelDecision
from sizewise.decisions.streaming import Given


def main() -> None:
    classes = int(sys.argv[1])
    logits, labels = torch.zeros(2, classes, 8, 8), torch.zeros(2, 1, 8, 8, dtype=torch.int64)
    options = {"sigmoid": False, "probabilities": False, "temperature": 1.5, "background": 0}
    decision = KernelDecision(Given(logits, None, **options), labels)
    decision.together = 1
    pointers = ["*fp32", "*fp32", "*i64", "*fp64", "*i64", "*i64", "*fp64", "*fp32"]
    for name, aim, turns in (("dice", DICE, 10), ("dice", DICE, 1), ("size", SIZE, 31), ("first", NOTHING, 1)):
        print(name, binary_size(decision._launch(aim, False, aim is DICE, True, 0, turns), pointers))


if __name__ == "__main__":
    main()
