"""The forward kernel: each program walks over tiles of one row and leaves one partial sum per field and class."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors
# ruff: noqa: RET505, SIM300

import triton
import triton.language as tl

from sizewise.stats.kernels.tile import (
    COUNT,
    FOCAL,
    KEPT_PIXELS,
    KEPT_SIZE,
    LN_2,
    LOG2_E,
    OVERLAP,
    PIXELS,
    SIZE,
    at_label,
    beside_label,
    class_numbers,
    exponentials,
    load_classes,
    minus_log_over_rest,
    pixel_offsets,
    rest_power,
    row_start,
    subtract_maximum,
    sum_classes,
)


@triton.jit
def fold(values, VECTOR: tl.constexpr):
    """Add up the neighbouring pixels that one thread holds: (CHUNK, BLOCK) to (CHUNK, BLOCK / VECTOR)."""
    return tl.sum(tl.reshape(values, [values.shape[0], values.shape[1] // VECTOR, VECTOR]), axis=2)


@triton.jit
def pieces(values, VECTOR: tl.constexpr):
    """The 1st, 2nd, … of each VECTOR neighbouring pixels, as VECTOR tensors of shape (CHUNK, BLOCK / VECTOR)."""
    rows: tl.constexpr = values.shape[0]
    parts: tl.constexpr = values.shape[1] // VECTOR
    if VECTOR == 1:
        return (values,)
    elif VECTOR == 2:
        return tl.split(tl.reshape(values, [rows, parts, 2]))
    else:
        tl.static_assert(VECTOR == 4)
        even, odd = tl.split(tl.reshape(values, [rows, parts, 2, 2]))
        a, c = tl.split(even)
        b, d = tl.split(odd)
        return (a, b, c, d)


@triton.jit
def add_products(total, values, weights, VECTOR: tl.constexpr):
    """total + Σ over neighbours of values · weights, one fused operation for each."""
    values = pieces(values, VECTOR)
    for v in tl.static_range(VECTOR):
        total += values[v] * weights[v]
    return total


@triton.jit
def add_hits(total, labels, number, values, VECTOR: tl.constexpr):
    """total + Σ over the neighbours of that label; adding under a condition takes one predicated operation."""
    for v in tl.static_range(VECTOR):
        total = tl.where(labels[v] == number, total + values[v], total)
    return total


@triton.jit
def add_minus_logs(counts, nlls, labels, number, logs, shifted, VECTOR: tl.constexpr):
    """Both sums of one class, from one comparison: the pixels of that label, and their −log2 p = log2 Σe − x."""
    shifted = pieces(shifted, VECTOR)
    for v in tl.static_range(VECTOR):
        hit = labels[v] == number
        nlls = tl.where(hit, nlls + (logs[v] - shifted[v]), nlls)
        counts = tl.where(hit, counts + 1.0, counts)
    return counts, nlls


@triton.jit
def focal_value(minus_log, rest, GAMMA: tl.constexpr):
    """−(1 − p)^γ log p."""
    return minus_log if GAMMA == 0.0 else rest_power(rest, GAMMA) * rest * minus_log_over_rest(minus_log, rest)


@triton.jit
def partial_sums(
    logits,
    target,
    mask,
    workspace,
    pixels,
    programs,
    channels,
    rows,
    ignore,
    width,
    height,
    z_image,
    z_channel,
    z_outer,
    z_middle,
    z_inner,
    y_image,
    y_channel,
    y_outer,
    y_middle,
    y_inner,
    m_image,
    m_channel,
    m_outer,
    m_middle,
    m_inner,
    KINDS: tl.constexpr,
    PARAMETERS: tl.constexpr,
    TEMPERATURES: tl.constexpr,
    STARTS: tl.constexpr,
    PAIRED: tl.constexpr,
    K: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK: tl.constexpr,
    VECTOR: tl.constexpr,
    AXES: tl.constexpr,
    SIGMOID: tl.constexpr,
    SHARES: tl.constexpr,
    HAS_MASK: tl.constexpr,
    HAS_IGNORE: tl.constexpr,
    UNLABELLED: tl.constexpr,
    EVEN: tl.constexpr,
    WIDE: tl.constexpr,
    LABEL: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """Fields come in groups of one softmax: TEMPERATURES[f] is above 0 where field f starts a group.

    STARTS[f] is where the sums of field f start among all. PAIRED[f] is 2 where field f is the negative log-likelihood
    and takes the count along, 1 for that count.

    The workspace begins with one int64 for each program, 0 or what a bad target value is found by, then holds the
    partial sums as (fields, rows, K, programs).
    """
    program = tl.program_id(0)
    row = program // programs
    part = program % programs
    z_start = row_start(logits, row, z_image, z_channel, channels, SIGMOID)
    y_start = row_start(target, row, y_image, y_channel, channels, SIGMOID)
    m_start = row_start(mask, row, m_image, m_channel, channels, SIGMOID)
    CHUNKS: tl.constexpr = (K + CHUNK - 1) // CHUNK
    PARTS: tl.constexpr = BLOCK // VECTOR
    UNROLLED: tl.constexpr = CHUNK == 1

    sums = ()
    for f in tl.static_range(len(KINDS)):
        if KINDS[f] == PIXELS or KINDS[f] == KEPT_PIXELS:
            sums = sums + (tl.zeros([1, PARTS], DTYPE),)
        else:
            for _c in tl.static_range(CHUNKS):
                sums = sums + (tl.zeros([CHUNK, PARTS], DTYPE),)
    stray = tl.zeros([1, BLOCK], tl.int64 if SHARES else LABEL)

    first = part.to(tl.int64) if WIDE else part
    for tile in range(first, tl.cdiv(pixels, BLOCK), programs):
        pixel = tile * BLOCK + tl.arange(0, BLOCK)[None, :]
        inside = tl.full([1, BLOCK], 1, tl.int1) if EVEN else pixel < pixels
        y_offsets = pixel_offsets(pixel, width, height, y_outer, y_middle, y_inner, AXES)
        z_offsets = pixel_offsets(pixel, width, height, z_outer, z_middle, z_inner, AXES)
        logit = load_classes(z_start, z_channel, z_offsets, inside, -float("inf"), K, CHUNK, SIGMOID, DTYPE)
        kept = inside
        if HAS_MASK:
            m_offsets = pixel_offsets(pixel, width, height, m_outer, m_middle, m_inner, AXES)
            kept = inside & (tl.load(m_start + m_offsets, mask=inside, other=0) != 0)
        valid = kept
        if SHARES:
            share = load_classes(y_start, y_channel, y_offsets, inside, 0.0, K, CHUNK, SIGMOID, DTYPE)
            if SIGMOID:
                wrong = valid & ~((share[1] >= 0) & (share[1] <= 1))
                share = (1.0 - share[1], share[1])
            else:
                lowest = share[0]
                total_share = share[0]
                for c in tl.static_range(1, CHUNKS):
                    lowest = tl.minimum(lowest, share[c])
                    total_share = total_share + share[c]
                lowest = lowest if CHUNK == 1 else tl.min(lowest, axis=0, keep_dims=True)
                total_share = sum_classes(total_share, CHUNK)
                wrong = valid & ~((tl.abs(total_share - 1) <= 1e-3) & (lowest >= 0))
            stray = tl.where(wrong, row.to(tl.int64) * pixels + pixel + 1, stray)
            if HAS_MASK or (SIGMOID and not EVEN):  # 1 − 0 is not 0 at pixels outside
                chosen = ()
                for c in tl.static_range(CHUNKS):
                    chosen = chosen + (tl.where(valid, share[c], 0.0),)
                share = chosen
        else:
            label = tl.load(y_start + y_offsets, mask=inside, other=0).to(LABEL)
            if HAS_IGNORE:
                valid = kept & (label != ignore)
            known = (label >= 0) & (label < K)
            stray = tl.where(valid & ~known, label, stray)  # never 0, which is a label of every problem
            label = tl.where(valid & known, label, -1).to(tl.int32)
            if UNROLLED:
                labels = pieces(label, VECTOR)
        entering = kept if UNLABELLED else valid
        shifted = subtract_maximum(logit, entering, CHUNK, HAS_MASK or HAS_IGNORE)

        added = ()
        for f in tl.static_range(len(KINDS)):
            if TEMPERATURES[f] > 0:
                e, total = exponentials(shifted, TEMPERATURES[f], CHUNK)
                inverse = 1.0 / total
            if KINDS[f] == PIXELS or KINDS[f] == KEPT_PIXELS:
                counted = valid if KINDS[f] == PIXELS else kept
                added = added + (sums[STARTS[f]] + fold(counted.to(DTYPE), VECTOR),)
            elif PAIRED[f] == 2:
                logs = pieces(tl.log2(total), VECTOR)
                counts = ()
                nlls = ()
                for c in tl.static_range(CHUNKS):
                    one, two = add_minus_logs(
                        sums[STARTS[f - 1] + c], sums[STARTS[f] + c], labels, c, logs, shifted[c], VECTOR
                    )
                    counts = counts + (one,)
                    nlls = nlls + (two,)
                added = added + counts + nlls
            elif PAIRED[f] == 0:
                if KINDS[f] == SIZE or KINDS[f] == KEPT_SIZE:
                    weight = tl.where(valid if KINDS[f] == SIZE else kept, inverse, 0.0)
                    if UNROLLED:
                        weights = pieces(weight, VECTOR)
                if (KINDS[f] == FOCAL or KINDS[f] == OVERLAP) and not SHARES:
                    minus_log = (tl.log2(total) - at_label(shifted, label, CHUNK)) * LN_2
                    if KINDS[f] == OVERLAP:
                        value = tl.exp2(minus_log * -LOG2_E)
                    elif PARAMETERS[f] == 0.0:
                        value = minus_log
                    else:
                        rest = beside_label(e, label, CHUNK) * inverse
                        value = focal_value(minus_log, rest, PARAMETERS[f])
                    if UNROLLED:
                        values = pieces(value, VECTOR)
                elif KINDS[f] == COUNT and UNROLLED and not SHARES:
                    values = pieces(tl.full([1, BLOCK], 1.0, DTYPE), VECTOR)
                for c in tl.static_range(CHUNKS):
                    before = sums[STARTS[f] + c]
                    if UNROLLED and (KINDS[f] == SIZE or KINDS[f] == KEPT_SIZE):
                        after = add_products(before, e[c], weights, VECTOR)
                    elif UNROLLED and not SHARES:
                        after = add_hits(before, labels, c, values, VECTOR)
                    elif KINDS[f] == SIZE or KINDS[f] == KEPT_SIZE:
                        after = before + fold(e[c] * weight, VECTOR)
                    elif SHARES:
                        if KINDS[f] == COUNT:
                            one = share[c]
                        elif KINDS[f] == OVERLAP:
                            one = tl.minimum(e[c] * inverse, share[c])
                        else:
                            minus_log = (tl.log2(total) - shifted[c]) * LN_2
                            rest = tl.maximum(1.0 - e[c] * inverse, 0.0)
                            one = focal_value(minus_log, rest, PARAMETERS[f]) * share[c]
                            one = tl.where(share[c] > 0, one, 0.0)  # 0 · log 0 = 0
                        after = before + fold(one, VECTOR)
                    else:
                        hit = label == class_numbers(c, CHUNK)
                        if KINDS[f] == COUNT:
                            one = hit.to(DTYPE)
                        else:
                            one = tl.where(hit, value, 0.0)
                        after = before + fold(one, VECTOR)
                    added = added + (after,)
        sums = added

    highest = tl.max(tl.max(stray, axis=1), axis=0)
    lowest_stray = tl.min(tl.min(stray, axis=1), axis=0)
    found = tl.where(highest != 0, highest, lowest_stray).to(tl.int64)
    tl.store(workspace.to(tl.pointer_type(tl.int64)) + program, found)
    rows = tl.full([], rows, tl.int64)
    cells = rows * programs
    partials = workspace + (cells if DTYPE == tl.float64 else 2 * cells) + part
    for f in tl.static_range(len(KINDS)):
        place = (f * rows + row) * K
        if KINDS[f] == PIXELS or KINDS[f] == KEPT_PIXELS:
            tl.store(partials + place * programs, tl.sum(tl.sum(sums[STARTS[f]], axis=1), axis=0))
        else:
            for c in tl.static_range(CHUNKS):
                total = tl.sum(sums[STARTS[f] + c], axis=1)
                if PAIRED[f] == 2:
                    total *= LN_2
                if CHUNK == 1:  # numbers: of each tensor's store the compiler would look at the whole kernel
                    tl.store(partials + (place + c) * programs, tl.sum(total, axis=0))
                else:
                    classes = c * CHUNK + tl.arange(0, CHUNK)
                    tl.store(partials + (place + classes) * programs, total, mask=classes < K)
