"""Compile the kernels of a decision down to machine code for a GPU that need not be here; run by test_decide_compiling.

    python compile_decide.py CLASSES

Prints the size of each binary.
"""

import sys

import torch
from binary_size import binary_size

from sizewise.decisions.kernels.labels import FIRST, SHIFTS, TRIAL, WRITE
from sizewise.decisions.kernels.launches import KernelDecision
from sizewise.decisions.streaming import Given


def main() -> None:
    classes = int(sys.argv[1])
    logits, labels = torch.zeros(2, classes, 8, 8), torch.zeros(2, 1, 8, 8, dtype=torch.int64)
    options = {"sigmoid": False, "probabilities": False, "temperature": 1.5, "background": 0}
    given = Given(logits, None, **options)
    decision = KernelDecision(given, labels)
    pointers = ["*fp32", "*fp32", "*i64", "*fp64", "*fp32", "*fp64", "*fp32"]
    for name, mode in (("first", FIRST), ("trial", TRIAL), ("write", WRITE), ("shifts", SHIFTS)):
        print(name, binary_size(decision._labels(mode, 2, True), pointers))
    for first in (True, False):
        print("update", binary_size(decision._update(first, "iou", False, 2, given), ["*fp32", "*fp64"]))


if __name__ == "__main__":
    main()
