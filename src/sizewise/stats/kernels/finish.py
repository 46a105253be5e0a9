"""The second stage of the forward pass: add up the programs' partial sums in a fixed order, in float64.

It also looks at what the programs found wrong with the target. Then every sum of the call becomes NaN and every count
infinite (a NaN count would look like an image without pixels, and leave the mean), and the record of
:mod:`sizewise.stats.kernels.label_errors` is written, straight into host memory.
"""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors
# ruff: noqa: SIM300

import triton
import triton.language as tl

from sizewise.stats.kernels.tile import COUNT, KEPT_PIXELS, PIXELS, pixel_offsets, row_start

LABELS_RECORD = tl.constexpr(1)
SHARES_RECORD = tl.constexpr(2)
CHANNEL_RECORD = tl.constexpr(3)
ROW_VALUES = tl.constexpr(8)


@triton.jit
def add_programs(
    workspace,
    sums,
    record,
    target,
    strays,
    pixels,
    programs,
    channels,
    rows,
    ignore,
    width,
    height,
    y_image,
    y_channel,
    y_outer,
    y_middle,
    y_inner,
    KINDS: tl.constexpr,
    FIELDS: tl.constexpr,
    K: tl.constexpr,
    CLASSES: tl.constexpr,
    PARTS: tl.constexpr,
    SCAN: tl.constexpr,
    AXES: tl.constexpr,
    SIGMOID: tl.constexpr,
    SHARES: tl.constexpr,
    IGNORE: tl.constexpr,
    UNSIGNED: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """One program for each row, block of classes and field; FIELDS[f] is where the sorted field f goes in the result.

    It reads up to PARTS programs' sums and SCAN cells of what they found in one step: its time is that of the steps.
    """
    program = tl.program_id(0)
    blocks: tl.constexpr = (K + CLASSES - 1) // CLASSES
    block = program % blocks
    row = (program // blocks) % rows
    sorted_field = program // (blocks * rows)
    field = sorted_field * 0
    per_row = sorted_field < 0
    counting = sorted_field < 0
    for f in tl.static_range(len(KINDS)):
        here = sorted_field == f
        field = tl.where(here, FIELDS[f], field)
        if KINDS[f] == PIXELS or KINDS[f] == KEPT_PIXELS:
            per_row = per_row | here
            counting = counting | here
        elif KINDS[f] == COUNT:
            counting = counting | here

    wide_rows = tl.full([], rows, tl.int64)
    cells = wide_rows * programs
    partials = workspace + (cells if DTYPE == tl.float64 else 2 * cells)
    classes = block * CLASSES + tl.arange(0, CLASSES)[:, None]
    known = classes < K
    source = (sorted_field * wide_rows + row) * K + tl.where(per_row, 0, classes)
    total = tl.zeros([CLASSES, PARTS], tl.float64)
    for start in range(0, programs, PARTS):
        part = start + tl.arange(0, PARTS)[None, :]
        total += tl.load(partials + source * programs + part, mask=known & (part < programs), other=0.0).to(tl.float64)
    result = tl.sum(total, axis=1, keep_dims=True)

    cell = workspace.to(tl.pointer_type(tl.int64))
    found = tl.zeros([SCAN], tl.int64)
    for start in range(0, strays, SCAN):
        index = start + tl.arange(0, SCAN)
        value = tl.load(cell + index, mask=index < strays, other=0)
        found = tl.where(value != 0, value, found)
    highest = tl.max(found, axis=0)
    stray = tl.where(highest != 0, highest, tl.min(found, axis=0))

    if stray != 0:
        result = tl.where(counting, float("inf"), float("nan")) + tl.zeros([CLASSES, 1], tl.float64)
        if program == 0:
            tl.store(record + 2, K)
            tl.store(record + 3, IGNORE)
            tl.store(record + 4, ignore)
            tl.store(record + 5, UNSIGNED)
            if SHARES:
                pixel = (stray - 1) % pixels
                bad_row = (stray - 1) // pixels
                place = row_start(target, bad_row, y_image, y_channel, channels, SIGMOID)
                place += pixel_offsets(pixel, width, height, y_outer, y_middle, y_inner, AXES)
                numbers = (record + 6).to(tl.pointer_type(tl.float64))
                if SIGMOID:
                    tl.store(numbers, tl.load(place).to(tl.float64))
                    tl.store(record, CHANNEL_RECORD)
                else:
                    whole = tl.zeros([], tl.float64)
                    for k in range(K):
                        share = tl.load(place + k * tl.full([], y_channel, tl.int64)).to(tl.float64)
                        whole += share
                        if k < ROW_VALUES:
                            tl.store(numbers + k, share)
                    tl.store(numbers + ROW_VALUES, whole)
                    tl.store(record, SHARES_RECORD)
            else:
                tl.store(record + 1, stray)
                tl.store(record, LABELS_RECORD)
    tl.store(sums + (field * wide_rows + row) * K + classes, result.to(DTYPE), mask=known)
