"""What the target says of the pixels of a piece: which of them count, their labels, their classes' shares."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors
# ruff: noqa: RET505

import triton
import triton.language as tl

from sizewise.stats.kernels.raw_access import read


@triton.jit
def piece_masks(start, inside, xs, x_there, ys, y_there, plane, outer, middle, inner, HAS_MASK: tl.constexpr):
    """For each pixel of a piece, row by row, whether it is there and the mask keeps it."""
    kept = ()
    for y in tl.static_range(len(ys)):
        line = plane.to(tl.int64) * outer + ys[y].to(tl.int64) * middle
        for x in tl.static_range(len(xs)):
            there = inside & x_there[x] & (y_there[y].to(tl.int32) + 0 * xs[x] != 0)
            if HAS_MASK:
                there = there & (tl.load(start + (line + xs[x].to(tl.int64) * inner)) != 0)
            kept = kept + (there,)
    return kept


@triton.jit
def piece_labels(
    start,
    kept,
    xs,
    ys,
    plane,
    ignore,
    outer,
    middle,
    inner,
    K: tl.constexpr,
    HAS_IGNORE: tl.constexpr,
    LABEL: tl.constexpr,
):
    """Each pixel's label, −1 for none; whether it is valid; and the label again where it is no class."""
    labels = ()
    valid = ()
    odd = ()
    for y in tl.static_range(len(ys)):
        line = plane.to(tl.int64) * outer + ys[y].to(tl.int64) * middle
        for x in tl.static_range(len(xs)):
            there = kept[y * len(xs) + x]
            label = read(start + (line + xs[x].to(tl.int64) * inner), there, True).to(LABEL)
            if HAS_IGNORE:
                there = there & (label != ignore)
            known = (label >= 0) & (label < K)
            odd = odd + (tl.where(there & ~known, label, 0),)  # never 0, which is a label of every problem
            labels = labels + (tl.where(there & known, label, -1).to(tl.int32),)
            valid = valid + (there,)
    return labels, valid, odd


@triton.jit
def class_shares(start, y_channel, classes, places, valid, K: tl.constexpr, SIGMOID: tl.constexpr, DTYPE: tl.constexpr):
    """The shares of a chunk of classes, (CHUNK, LANES); 0 at pixels that are not valid."""
    if SIGMOID:
        share = tl.load(start + (places + classes.to(tl.int64) * 0), mask=valid, other=0.0).to(DTYPE)
        return tl.where(valid, tl.where(classes == 1, share, 1.0 - share), 0.0)
    else:
        offsets = places + classes * tl.full([], y_channel, tl.int64)
        return tl.load(start + offsets, mask=valid & (classes < K), other=0.0).to(DTYPE)


@triton.jit
def wrong_shares(
    start,
    y_channel,
    valid,
    xs,
    ys,
    plane,
    outer,
    middle,
    inner,
    K: tl.constexpr,
    CHUNK: tl.constexpr,
    SIGMOID: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """For each pixel whether its shares are no probabilities: below 0, or not 1 in all."""
    wrong = ()
    for y in tl.static_range(len(ys)):
        line = plane.to(tl.int64) * outer + ys[y].to(tl.int64) * middle
        for x in tl.static_range(len(xs)):
            places = line + xs[x].to(tl.int64) * inner
            there = valid[y * len(xs) + x]
            if SIGMOID:
                share = tl.load(start + places, mask=there, other=0.0).to(DTYPE)
                wrong = wrong + (there & ~((share >= 0) & (share <= 1)),)
            else:
                total = tl.zeros(there.shape, DTYPE)
                lowest = tl.zeros(there.shape, DTYPE)
                for first in range(0, K, CHUNK):
                    classes = first + tl.arange(0, CHUNK)[:, None]
                    share = class_shares(start, y_channel, classes, places, there, K, SIGMOID, DTYPE)
                    total += tl.sum(share, axis=0, keep_dims=True)
                    lowest = tl.minimum(lowest, tl.min(share, axis=0, keep_dims=True))
                wrong = wrong + (there & ~((tl.abs(total - 1) <= 1e-3) & (lowest >= 0)),)
    return wrong
