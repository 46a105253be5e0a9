"""How a lane's sums reach the table of cells: as integers, where it leaves a cell and at the end of its strip."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors
# ruff: noqa: RET505, SIM102

import triton
import triton.language as tl

from sizewise.stats.kernels.cell_tuples import number_at, value_at
from sizewise.stats.kernels.cell_values import anywhere, is_cell
from sizewise.stats.kernels.tile import COUNT, FOCAL, OVERLAP, PIXELS

SHARE_BITS = tl.constexpr(32)
LOSS_UNIT = tl.constexpr(float(1 << 20))


@triton.jit
def of_label(KIND: tl.constexpr):
    """Whether a sum is 0 without a pixel of its class, as long as the target is labels."""
    return KIND == COUNT or KIND == OVERLAP or KIND == FOCAL


@triton.jit
def whole_number(value, KIND: tl.constexpr, BITS: tl.constexpr):
    """A lane's sum as an integer of the table; 0 for what is not a number. BITS of a share fit a strip's sum in 31."""
    if KIND != COUNT and KIND != PIXELS:
        value = tl.where(value == value, value, 0.0)
    if KIND == FOCAL:
        return (value * LOSS_UNIT + 0.5).to(tl.int64)
    else:
        return (value * (1 << BITS) + 0.5).to(tl.int32).to(tl.int64) << (SHARE_BITS - BITS)


@triton.jit
def hand_on(
    place,
    plane,
    kept,
    leaves,
    KINDS: tl.constexpr,
    PLANES: tl.constexpr,
    LABELLED: tl.constexpr,
    BITS: tl.constexpr,
):
    """Add what lanes that leave their cell have kept to its sums; LABELLED: only those of the label, or all others."""
    for f in tl.static_range(len(KINDS)):
        if of_label(KINDS[f]) == LABELLED:
            whole = whole_number(kept[f], KINDS[f], BITS)
            tl.atomic_add(place + PLANES[f] * plane, whole, mask=leaves, sem="relaxed")


@triton.jit
def has_label(kept, KINDS: tl.constexpr):
    """Where a lane has a pixel of the class."""
    found = kept[0] < 0
    for f in tl.static_range(len(KINDS)):
        if of_label(KINDS[f]):
            found = found | (kept[f] > 0)
    return found


@triton.jit
def leave_cells(
    table,
    plane,
    cells,
    heres,
    kept,
    most,
    channels,
    KINDS: tl.constexpr,
    PLANES: tl.constexpr,
    REGIONS: tl.constexpr,
    BITS: tl.constexpr,
):
    """Hand on what lanes have kept of ``cells``, a tensor for each neighbour in a thread, that are no longer here.

    ``kept`` has REGIONS times the fields for each neighbour. A thread's neighbours mostly leave the same cell, so their
    sums go out together; what leaves another cell goes alone.
    """
    FIELDS: tl.constexpr = len(KINDS)
    left = tl.zeros(cells[0].shape, tl.int32)
    for g in tl.static_range(len(cells)):
        left = tl.where((cells[g] != heres[g]) & is_cell(cells[g], most) & (left == 0), cells[g], left)
    others = tl.zeros(cells[0].shape, tl.int32)
    for g in tl.static_range(len(cells)):
        others = others | ((cells[g] != heres[g]) & is_cell(cells[g], most) & (cells[g] != left)).to(tl.int32)
    place = table + left * channels * REGIONS
    for r in tl.static_range(REGIONS):
        gone = ()
        for f in tl.static_range(FIELDS):
            one = tl.zeros_like(kept[0])
            for g in tl.static_range(len(cells)):
                leaves = (cells[g] != heres[g]) & (cells[g] == left)
                one += tl.where(leaves, kept[(g * REGIONS + r) * FIELDS + f], 0.0)
            gone = gone + (one,)
        hand_on(place + r, plane, gone, left > 0, KINDS, PLANES, False, BITS)
        labelled = (left > 0) & has_label(gone, KINDS)
        if anywhere(labelled):
            hand_on(place + r, plane, gone, labelled, KINDS, PLANES, True, BITS)
    if len(cells) > 1:
        if anywhere(others > 0):
            for g in tl.static_range(len(cells)):
                leaves = (cells[g] != heres[g]) & (cells[g] != left) & is_cell(cells[g], most)
                for r in tl.static_range(REGIONS):
                    alone = ()
                    for f in tl.static_range(FIELDS):
                        alone = alone + (kept[(g * REGIONS + r) * FIELDS + f],)
                    place = table + cells[g] * channels * REGIONS + r
                    hand_on(place, plane, alone, leaves, KINDS, PLANES, False, BITS)
                    hand_on(place, plane, alone, leaves, KINDS, PLANES, True, BITS)


@triton.jit
def end_strip(
    table,
    plane,
    cells,
    kept,
    most,
    channels,
    KINDS: tl.constexpr,
    PLANES: tl.constexpr,
    REGIONS: tl.constexpr,
    BITS: tl.constexpr,
):
    """Hand on all that lanes have kept: a thread's neighbours join its last one or go alone, then lanes form runs."""
    FIELDS: tl.constexpr = len(KINDS)
    LAST: tl.constexpr = len(cells) - 1
    LANES: tl.constexpr = cells[0].shape[1]
    lane = tl.arange(0, LANES)[None, :]
    cell = cells[LAST]
    after = tl.gather(cell, tl.minimum(lane + 1, LANES - 1), 1)
    turns = cell != after
    ends = (turns | (lane == LANES - 1)) & is_cell(cell, most)
    gives = turns & is_cell(after, most)
    sums = ()
    for r in tl.static_range(REGIONS):
        for f in tl.static_range(FIELDS):
            start = table + PLANES[f] * plane + r
            whole = tl.zeros([1, LANES], tl.int64)
            for g in tl.static_range(len(cells)):
                one = whole_number(kept[(g * REGIONS + r) * FIELDS + f], KINDS[f], BITS)
                if g < LAST:
                    goes = (cells[g] != cell) & is_cell(cells[g], most) & (one > 0)
                    tl.atomic_add(start + cells[g] * channels * REGIONS, one, mask=goes, sem="relaxed")
                whole += tl.where(cells[g] == cell, one, 0)
            sums = sums + (tl.where(is_cell(cell, most), whole, 0),)
    # A loop, and not one after the other: it runs once in a strip, and is compiled once for all fields.
    for place in range(REGIONS * FIELDS):
        whole = value_at(sums, place)
        start = table + number_at(PLANES, place % FIELDS) * plane + place // FIELDS
        if anywhere(whole > 0):
            running = tl.cumsum(whole, axis=1)
            for side in range(2):  # to the cell of a run, and from the next one
                number = tl.where(side == 0, cell, after)
                change = tl.where(side == 0, running, -running)
                here = tl.where(side == 0, ends.to(tl.int32), gives.to(tl.int32)) > 0
                tl.atomic_add(start + number * channels * REGIONS, change, mask=here, sem="relaxed")
