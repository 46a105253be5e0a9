"""Compile the kernel of a decision for a GPU that need not be here; run by test_decide_compiling.

python compile_decide.py CLASSES   down to machine code; prints the size of each binary
python compile_decide.py size      of the code for 19 classes, as far as its first stage: lines, and accesses to tensors
python compile_decide.py forms     what each shape of tile and dtype says in Triton, as far as its first stage
"""

import sys
from itertools import product

import torch
from binary_size import accepted, binary_size, code_size

from sizewise.decisions.kernels.aims import DICE, IOU, NOTHING, NOTHING_SHIFTED, SIZE
from sizewise.decisions.kernels.launches import KernelDecision, decision_shape
from sizewise.decisions.streaming import Given

POINTERS = {torch.bfloat16: "*bf16", torch.float16: "*fp16", torch.float32: "*fp32", torch.float64: "*fp64"}
MOST_CLASSES = 300


def prepared(classes: int, dtype: torch.dtype = torch.float32, classes_last: bool = False, **options):
    """A decision about such logits, and the kinds of its kernel's pointers."""
    logits, labels = torch.zeros(2, classes, 8, 8, dtype=dtype), torch.zeros(2, 1, 8, 8, dtype=torch.int64)
    if options.get("sigmoid"):
        labels = torch.zeros(2, classes, 8, 8, dtype=torch.bool)
    if classes_last:
        logits = logits.to(memory_format=torch.channels_last)
    reading = {"sigmoid": False, "probabilities": False, "temperature": 1.5, "background": 0} | options
    mask = torch.ones(2, 1, 8, 8, dtype=torch.bool) if reading.pop("mask", False) else None
    decision = KernelDecision(Given(logits, mask, **reading), labels)
    decision.together = 1
    values = POINTERS[dtype]
    kept = values if mask is None else "*i1"
    shown = "*i1" if reading["sigmoid"] else "*i64"
    return decision, [values, kept, shown, "*fp64", "*i64", "*i64", "*fp64", values]


def every_form():
    """The fewest classes that give each combination of unrolled or not, pixels in a thread, and dtype."""
    forms = {}
    for classes, last, dtype in product(range(2, MOST_CLASSES), (False, True), POINTERS):
        shape = decision_shape(classes, last, dtype.itemsize)
        forms.setdefault((shape.chunk > 1, shape.vector, dtype), (classes, dtype, last))
    return list(forms.values())


def accept_forms() -> None:
    """All aims in turn over all forms, with and without a mask; and what sigmoid and probabilities are."""
    aims = ((DICE, 10), (SIZE, 31), (IOU, 10), (NOTHING, 1), (NOTHING_SHIFTED, 1))
    cases = [(form, aims[place % len(aims)], {"mask": place % 2 == 1}) for place, form in enumerate(every_form())]
    cases += [(form, (DICE, 10), {}) for form in every_form() if form[0] > 2 and form[1] != torch.float16]
    for dtype, probabilities in product((torch.bfloat16, torch.float64), (False, True)):
        cases.append(((2, dtype, False), (DICE, 10), {"sigmoid": True, "probabilities": probabilities}))
        cases.append(((3, dtype, True), (SIZE, 31), {"probabilities": probabilities, "mask": True}))
    for form, (aim, turns), options in cases:
        decision, pointers = prepared(*form, **options)
        begin = 1 if aim is NOTHING_SHIFTED else 0
        if begin == 0 and turns > 1 and decision.apart:
            begin, turns = 1, turns - 1
        launch = decision._launch(aim, False, aim is DICE or aim is IOU, form[0] % 2 == 0, begin, begin + turns)
        accepted(launch, pointers)
        print("form", decision.shape.chunk, decision.shape.vector, form[1])


def main() -> None:
    if sys.argv[1] == "forms":
        accept_forms()
        return
    if sys.argv[1] == "size":
        decision, pointers = prepared(19)
        for name, aim, begin, end in (("turn-0", DICE, 0, 1), ("dice", DICE, 1, 10), ("size", SIZE, 1, 31)):
            print(name, *code_size(decision._launch(aim, False, aim is DICE, True, begin, end), pointers))
        return
    decision, pointers = prepared(int(sys.argv[1]))
    first = 1 if decision.apart else 0
    for name, aim, begin, end in (
        ("dice", DICE, first, 10),
        ("turn-0", DICE, 0, 1),
        ("size", SIZE, first, 31),
        ("argmax", NOTHING, 0, 1),
    ):
        print(name, binary_size(decision._launch(aim, False, aim is DICE, True, begin, end), pointers))


if __name__ == "__main__":
    main()
