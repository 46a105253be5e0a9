"""Compile the kernels of a decision down to machine code for a GPU that need not be here; run by test_decide_compiling.

    python compile_decide.py CLASSES

Prints the size of each binary.
"""

import sys

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from sizewise.decisions.kernels.labels import FIRST, SHIFTS, TRIAL, WRITE
from sizewise.decisions.kernels.launches import KernelDecision
from sizewise.decisions.streaming import Given

H200 = GPUTarget("cuda", 90, 32)


def binary_size(launch, pointers) -> int:
    """Compile one launch, whose first arguments are ``pointers``, then its numbers, then its constants."""
    signature, constants = {}, {}
    for place, name in enumerate(launch.kernel.arg_names):
        if place < len(pointers):
            signature[name] = pointers[place]
        elif place < len(pointers) + len(launch.numbers):
            signature[name] = "i32"
        else:
            signature[name] = "constexpr"
            constants[(place,)] = launch.constants[name]
    source = ASTSource(launch.kernel, signature, constants)
    options = {"num_warps": launch.warps, "enable_fp_fusion": True}
    return len(triton.compile(source, target=H200, options=options).asm["cubin"])


def main() -> None:
    classes = int(sys.argv[1])
    logits, labels = torch.zeros(2, classes, 8, 8), torch.zeros(2, 1, 8, 8, dtype=torch.int64)
    options = {"sigmoid": False, "probabilities": False, "temperature": 1.5, "background": 0}
    given = Given(logits, None, **options)
    decision = KernelDecision(given, labels)
    pointers = ["*fp32", "*fp32", "*i64", "*fp64", "*fp32", "*fp64"]
    for name, mode in (("first", FIRST), ("trial", TRIAL), ("write", WRITE), ("shifts", SHIFTS)):
        print(name, binary_size(decision._labels(mode, 2, True), pointers))
    for first in (True, False):
        print("update", binary_size(decision._update(first, "iou", False, 2, given), ["*fp32", "*fp64"]))


if __name__ == "__main__":
    main()
