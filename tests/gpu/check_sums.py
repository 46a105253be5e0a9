"""Kernels of both passes over the logits, compiled, against float64: every two options together; the same bits."""

import torch
from kernel_cases import FIELD_SETS, Case, build, judge
from sampling import covering

from sizewise.stats.kernels import passes

FORMS = [
    Case(shape, dtype, target, sigmoid, mask, ignore_index, layout, fields)
    for shape in ((2, 3, 67, 65), (2, 19, 40, 64), (1, 16, 9, 16, 33), (2, 150, 30, 31))
    for dtype in ("float32", "bfloat16", "float16", "float64")
    for target in ("uint8", "int64", "int16", "shares float32")
    for sigmoid in (False, True)
    for mask in (False, True)
    for ignore_index in (None, 1)
    for layout in ("contiguous", "channels_last", "crop", "shifted")
    for fields in FIELD_SETS
    if not (ignore_index is not None and target.startswith("shares")) and not (sigmoid and shape[1] > 19)
]
WORDS = (
    ((2, 19, 40, 66), "float32", "contiguous", "rce"),
    ((2, 19, 40, 66), "bfloat16", "contiguous", "dice"),
    ((2, 19, 41, 66), "float16", "contiguous", "rce"),
    ((2, 19, 40, 66), "float32", "channels_last", "dice"),
    ((2, 21, 40, 66), "bfloat16", "channels_last", "rce"),
    ((1, 27, 40, 66), "bfloat16", "channels_last", "dice"),
    ((1, 150, 40, 66), "bfloat16", "contiguous", "dice"),
)


def forms(part: int, parts: int) -> None:
    """Every two values of the options meet in some case."""
    worst = (0.0, 0.0)
    for case in covering(FORMS)[part::parts]:
        errors = judge(case, passes, "cuda")
        if case.dtype == "float32":
            worst = max(worst[0], errors[0]), max(worst[1], errors[1])
    print(f"  worst float32 error: sums {worst[0]:.1e}, gradient {worst[1]:.1e}")


def by_words(part: int, parts: int) -> None:
    """Every form that the kernels by words take by default, with an end that is no whole tile, and the same bits."""
    for shape, dtype, layout, fields in WORDS[part::parts]:
        case = Case(shape, dtype, "uint8", mask=dtype == "float32", ignore_index=255, layout=layout, fields=fields)
        judge(case, passes, "cuda")
        arguments = build(case, "cuda")
        sums = [passes.region_sums(*arguments) for _ in range(2)]
        gradients = [passes.region_gradient(sums[0], *arguments) for _ in range(2)]
        assert torch.equal(*sums), case
        assert torch.equal(*gradients), case


def same_bits() -> None:
    arguments = build(Case((4, 19, 256, 256), fields="rce"), "cuda")
    sums = [passes.region_sums(*arguments) for _ in range(5)]
    gradients = [passes.region_gradient(sums[0], *arguments) for _ in range(5)]
    assert all(torch.equal(sums[0], one) for one in sums)
    assert all(torch.equal(gradients[0], one) for one in gradients)
