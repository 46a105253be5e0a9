"""Compile the kernels of a loss down to machine code for a GPU that need not be here; run by test_compiling.py.

    python compile_kernels.py LOSS CLASSES

Prints the size of each binary.
"""

import sys

import torch
from binary_size import binary_size

import sizewise as sw
from sizewise.criterion.fused.kernel import FormulaKernel
from sizewise.stats.kernels.call import BackwardCall, ForwardCall
from sizewise.stats.kernels.upsampled_call import UpsampledBackwardCall
from sizewise.stats.kernels.word_gradient import word_gradient
from sizewise.stats.kernels.word_sums import word_sums


def main() -> None:
    criterion, classes = sw.loss(sys.argv[1]), int(sys.argv[2])
    snapshot = criterion.snapshot()
    fields = [(int(field.kind), field.parameter) for field in snapshot.fields]
    logits, target = torch.zeros(2, classes, 8, 8), torch.zeros(2, 1, 8, 8, dtype=torch.int64)
    like = torch.zeros(len(fields), 2, classes)
    formula = FormulaKernel(criterion, snapshot.fields, like, one_image=False, has_truth=True)
    forward = ForwardCall(logits, target, None, None, False, fields)
    backward = BackwardCall(logits, target, None, logits, None, False, fields, formula.planes)
    floats, doubles, labels = "*fp32", "*fp64", "*i64"
    weights = [doubles] * len(formula.inputs)
    print("sums", binary_size(forward.partial_sums, [floats, labels, floats, floats]))
    print("finish", binary_size(forward.add_programs, [floats, floats, labels, labels]))
    print("formula", binary_size(formula.launch(2), [*[floats] * 6, doubles, *weights]))
    print("gradient", binary_size(backward.gradient_tiles, [floats, floats, floats, labels, floats, floats]))
    small = torch.zeros(2, classes, 2, 2)
    forward = ForwardCall(small, target, None, None, False, fields, "linear")
    upsampled = UpsampledBackwardCall(small, target, None, small, None, False, fields, formula.planes, "linear")
    tables = ["*i32"] * 3
    print("upsampled-sums", binary_size(forward.partial_sums, [floats, labels, floats, floats, *tables]))
    pointers = [floats, floats, floats, labels, floats, floats, *tables]
    print("upsampled-gradient", binary_size(upsampled.gradient_cells, pointers))
    by_words(fields, formula.planes, target.to(torch.uint8))


def by_words(fields, planes, target) -> None:
    """The kernels by words, for all forms of input that they take by default."""
    floats, halves, labels = "*fp32", "*bf16", "*u8"
    for name, classes, dtype, memory in (
        ("lines", 7, torch.float32, torch.contiguous_format),
        ("half-lines", 7, torch.bfloat16, torch.contiguous_format),
        ("runs", 7, torch.float32, torch.channels_last),
        ("half-runs", 7, torch.bfloat16, torch.channels_last),
        ("half-chunks", 40, torch.bfloat16, torch.contiguous_format),
    ):
        logits = torch.zeros(2, classes, 8, 8, dtype=dtype).to(memory_format=memory)
        own = floats if dtype == torch.float32 else halves
        forward = ForwardCall(logits, target, None, 255, False, fields)
        assert forward.partial_sums.kernel is word_sums
        print(f"{name}-sums", binary_size(forward.partial_sums, [own, labels, own, floats]))
        backward = BackwardCall(logits, target, None, logits, 255, False, fields, planes)
        assert backward.gradient_tiles.kernel is word_gradient
        print(f"{name}-gradient", binary_size(backward.gradient_tiles, [floats, floats, own, labels, own, own]))


if __name__ == "__main__":
    main()
