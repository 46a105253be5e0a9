"""Compile the kernels for sums per cell down to machine code for a GPU that need not be here; run by test_cell_compiling.

    python compile_cells.py CLASSES ACTIVATION
    python compile_cells.py CLASSES size

Prints the size of each binary; or that of the code for the sums of CC-DiceCE as far as the compiler's first stage: its
lines, and accesses to tensors.
"""

import sys

import torch
from binary_size import binary_size, code_size

import sizewise as sw
from sizewise.criterion.fused.kernel import FormulaKernel
from sizewise.stats.fields import Kind
from sizewise.stats.kernels.cell_passes import GradientCall, SumsCall


def print_size(classes: int) -> None:
    shape = (2, classes, 16, 16)
    logits, target = torch.zeros(shape), torch.zeros(2, 1, 16, 16, dtype=torch.int64)
    maps = torch.zeros(2, classes - 1, 16, 16, dtype=torch.int16)
    known = sw.loss("CC-DiceCE").snapshot()
    fields = tuple(zip(*known.reading[2:4], strict=True))
    given = ([logits, target, logits, maps], False, range(1, classes), 7, known.cell_reading, fields)
    read = [place for place, field in enumerate(known.cell_fields) if field.kind != Kind.PIXELS]
    sums = SumsCall(*given, read)
    print("sums", *code_size(sums.launch, ["*fp32", "*i64", "*fp32", "*i16", "*i64", "*fp32"]))


def main() -> None:
    if sys.argv[2] == "size":
        print_size(int(sys.argv[1]))
        return
    classes, sigmoid = int(sys.argv[1]), sys.argv[2] == "sigmoid"
    shape = (2, classes, 16, 16)
    logits, maps = torch.zeros(shape), torch.zeros(shape, dtype=torch.int32)
    target = torch.zeros(shape if sigmoid else (2, 1, 16, 16), dtype=torch.int64)
    kinds = [int(one) for one in (Kind.COUNT, Kind.PIXELS, Kind.OVERLAP, Kind.SIZE, Kind.FOCAL, Kind.FOCAL, Kind.SIZE)]
    options = (255, sigmoid, kinds, [0.0, 0.0, 0.0, 1.0, 0.0, 2.0, 10.0])
    of_images = [(int(Kind.COUNT), 0.0), (int(Kind.PIXELS), 0.0), (int(Kind.FOCAL), 0.0), (int(Kind.SIZE), 10.0)]
    sums = SumsCall([logits, target, logits, maps], False, range(classes), 7, options, of_images)
    gradient = GradientCall([logits, target, logits, maps, logits], False, range(classes), 7, options)
    floats, labels, cells = "*fp32", "*i64", "*i32"
    print("sums", binary_size(sums.launch, [floats, labels, floats, cells, labels, floats]))
    pointers = [floats, floats, floats, floats, labels, floats, cells, floats]
    print("gradient", binary_size(gradient.launch, pointers))
    given = ([logits, target, logits, maps, logits], False, range(classes), 7, options)
    both = GradientCall(*given, ((1, 2), (1, 3)), of_images, ((0, 2), (0, 3)), writes=True)
    print("both", binary_size(both.launch, pointers))
    criterion = sw.loss("CC-DiceCE", activation="sigmoid" if sigmoid else "softmax")
    known = criterion.snapshot()
    like = torch.zeros(len(known.fields), 2, classes, *((2,) if sigmoid else ()))
    cell_fields = {"cell_fields": known.cell_fields}
    formula = FormulaKernel(criterion, known.fields, like, one_image=False, has_truth=False, **cell_fields)
    pointers = [floats, floats, labels, floats, floats, floats, "*fp64", *[floats] * len(formula.inputs)]
    print("formula", binary_size(formula.launch(2, 8), pointers))


if __name__ == "__main__":
    main()
