"""The sums of images in the pass over cells: what each lane adds up of all its pixels, whatever their cells.

Of −log p = log Σe − x a lane keeps the product of its Σe, one for each class: one logarithm at the end takes the place
of one for each pixel. The product stays finite, since Σe is at most K and a lane has few pixels, see
:func:`sizewise.stats.kernels.cell_walk.fits_product`.
"""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors
# ruff: noqa: SIM300

import triton
import triton.language as tl

from sizewise.stats.kernels.cell_values import pixel_value
from sizewise.stats.kernels.tile import LN_2, PIXELS


@triton.jit
def no_sums(KINDS: tl.constexpr, K: tl.constexpr, LANES: tl.constexpr, DTYPE: tl.constexpr):
    """A 0 for each sum: one a class, or one for a number of pixels."""
    sums = ()
    for f in tl.static_range(len(KINDS)):
        for _c in tl.static_range(1 if KINDS[f] == PIXELS else K):
            sums = sums + (tl.zeros([1, LANES], DTYPE),)
    return sums


@triton.jit
def no_products(PRODUCT: tl.constexpr, K: tl.constexpr, LANES: tl.constexpr, DTYPE: tl.constexpr):
    """A 1 for each class, if there are products."""
    products = ()
    for _c in tl.static_range(K if PRODUCT >= 0 else 0):
        products = products + (tl.full([1, LANES], 1.0, DTYPE),)
    return products


@triton.jit
def add_pixel(
    sums,
    shifted,
    e,
    total,
    share,
    label,
    valid,
    KINDS: tl.constexpr,
    PARAMETERS: tl.constexpr,
    STARTS: tl.constexpr,
    PRODUCT: tl.constexpr,
    K: tl.constexpr,
    SELECT: tl.constexpr,
    SHARES: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """All sums with one pixel of each lane more; field PRODUCT has products; SELECT: not all are ``valid``."""
    added = ()
    for f in tl.static_range(len(KINDS)):
        for c in tl.static_range(1 if KINDS[f] == PIXELS else K):
            before = sums[STARTS[f] + c]
            if f == PRODUCT:
                added = added + (tl.where(label == c, before - shifted[c], before),)
            else:
                value = pixel_value(shifted, e, total, share, label, c, KINDS[f], PARAMETERS[f], SHARES, DTYPE)
                if SELECT:
                    value = tl.where(valid, value, 0.0)
                added = added + (before + value,)
    return added


@triton.jit
def multiply_pixel(products, total, label):
    """All products with one pixel of each lane more."""
    multiplied = ()
    for c in tl.static_range(len(products)):
        multiplied = multiplied + (tl.where(label == c, products[c] * total, products[c]),)
    return multiplied


@triton.jit
def store_sums(
    workspace,
    sums,
    products,
    stray,
    program,
    row,
    part,
    rows,
    programs,
    KINDS: tl.constexpr,
    STARTS: tl.constexpr,
    PRODUCT: tl.constexpr,
    K: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """Leave a program's sums, and what it found wrong with the target, for the second stage."""
    highest = tl.max(tl.max(stray, axis=1), axis=0)
    lowest = tl.min(tl.min(stray, axis=1), axis=0)
    tl.store(workspace.to(tl.pointer_type(tl.int64)) + program, tl.where(highest != 0, highest, lowest).to(tl.int64))
    all_rows = tl.full([], rows, tl.int64)
    partials = workspace + all_rows * programs * (1 if DTYPE == tl.float64 else 2) + part
    for f in tl.static_range(len(KINDS)):
        for c in tl.static_range(1 if KINDS[f] == PIXELS else K):
            lanes = sums[STARTS[f] + c]
            if f == PRODUCT:
                lanes = (lanes + tl.log2(products[c])) * LN_2
            tl.store(partials + ((f * all_rows + row) * K + c) * programs, tl.sum(tl.sum(lanes, axis=1), axis=0))
