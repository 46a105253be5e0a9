"""One pass of a decision: labels by the scores a (p − t), or log p + b, and their sums; or the labels themselves."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors
# ruff: noqa: RET505

import triton
import triton.language as tl

from sizewise.stats.kernels.forward import fold, pieces
from sizewise.stats.kernels.interpolation import corners_of, interpolated_classes
from sizewise.stats.kernels.tile import (
    LOG2_E,
    class_numbers,
    load_classes,
    pixel_offsets,
    row_start,
    subtract_maximum,
    sum_classes,
)

FIRST = tl.constexpr(0)  # argmax, with the expected sizes and the largest probabilities
TRIAL = tl.constexpr(1)  # the rule that is being tried
WRITE = tl.constexpr(2)  # the best rule, as labels
SHIFTS = tl.constexpr(3)  # log p + b: numbers of pixels alone
WRITE_SHIFTS = tl.constexpr(4)


@triton.jit
def load_rule(start, K: tl.constexpr, CHUNK: tl.constexpr, DTYPE: tl.constexpr):
    """One number for each class, as a tuple of values that broadcast over (CHUNK, BLOCK)."""
    chunks = ()
    for c in tl.static_range((K + CHUNK - 1) // CHUNK):
        if CHUNK == 1:
            chunks = chunks + (tl.load(start + c).to(DTYPE),)
        else:
            classes = c * CHUNK + tl.arange(0, CHUNK)[:, None]
            chunks = chunks + (tl.load(start + classes, mask=classes < K, other=0.0).to(DTYPE),)
    return chunks


@triton.jit
def first_largest(scores, K: tl.constexpr, CHUNK: tl.constexpr, BACKGROUND: tl.constexpr):
    """The class with the largest score at each pixel, (1, BLOCK); of equals the background, then the lowest id."""
    if CHUNK == 1:
        FROM: tl.constexpr = BACKGROUND if BACKGROUND >= 0 else 0
        best = scores[FROM]
        label = tl.full(best.shape, FROM, tl.int32)
        for c in tl.static_range(K):
            if c != FROM:
                better = scores[c] > best
                best = tl.where(better, scores[c], best)
                label = tl.where(better, c, label)
        return label
    else:
        best = scores[0]
        for c in tl.static_range(1, len(scores)):
            best = tl.maximum(best, scores[c])
        best = tl.max(best, axis=0, keep_dims=True)
        # NaN is never the largest; a pixel of NaN alone gets what ties get
        label = tl.full(best.shape, K, tl.int32)
        for c in tl.static_range(len(scores)):
            numbers = class_numbers(c, CHUNK)
            order = tl.where(numbers == BACKGROUND, -1, numbers)
            here = tl.where((scores[c] == best) & (numbers < K), order, K)
            label = tl.minimum(label, tl.min(here, axis=0, keep_dims=True).to(tl.int32))
        return tl.where((label < 0) | (label >= K), BACKGROUND if BACKGROUND >= 0 else 0, label)


@triton.jit
def add_chosen(counts, sums, labels, number, values, VECTOR: tl.constexpr):
    """Pixels of one label, and the sum of their probabilities, from one comparison."""
    for v in tl.static_range(VECTOR):
        hit = labels[v] == number
        counts = tl.where(hit, counts + 1.0, counts)
        sums = tl.where(hit, sums + values[v], sums)
    return counts, sums


@triton.jit
def set_bit(bits, condition, NUMBER: tl.constexpr):
    """Bit NUMBER of int32 numbers, where the condition holds."""
    if NUMBER < 31:
        return tl.where(condition, bits | (1 << NUMBER), bits)
    else:
        return tl.where(condition, bits | -2147483648, bits)


@triton.jit
def either(one, other):
    """The bits of both."""
    return one | other


@triton.jit
def at_class(chunks, label, CHUNK: tl.constexpr):
    """Each pixel's value at its label, (1, BLOCK)."""
    picked = tl.where(label == class_numbers(0, CHUNK), chunks[0], 0.0)
    for c in tl.static_range(1, len(chunks)):
        picked = tl.where(label == class_numbers(c, CHUNK), chunks[c], picked)
    return sum_classes(picked, CHUNK)


@triton.jit
def label_tiles(
    values,
    mask,
    labels,
    rules,
    workspace,
    settings,
    table,
    pixels,
    programs,
    channels,
    rows,
    row_period,
    width,
    height,
    z_image,
    z_channel,
    z_outer,
    z_middle,
    z_inner,
    m_image,
    m_channel,
    m_outer,
    m_middle,
    m_inner,
    s_image,
    s_channel,
    s_outer,
    s_middle,
    s_inner,
    depth,
    MODE: tl.constexpr,
    GAIN: tl.constexpr,
    THRESHOLD: tl.constexpr,
    BOUND: tl.constexpr,
    GOING: tl.constexpr,
    LAST: tl.constexpr,
    RULE: tl.constexpr,
    BACKGROUND: tl.constexpr,
    K: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK: tl.constexpr,
    VECTOR: tl.constexpr,
    AXES: tl.constexpr,
    UPSAMPLED: tl.constexpr,
    CORNERS: tl.constexpr,
    SIGMOID: tl.constexpr,
    PROBABILITIES: tl.constexpr,
    TEMPERED: tl.constexpr,
    HAS_MASK: tl.constexpr,
    HAS_BOUND: tl.constexpr,
    EVEN: tl.constexpr,
    WIDE: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """``rules`` is the state of :mod:`update`, RULE numbers for each row of the scope; row % row_period is that row.

    GAIN, THRESHOLD, BOUND and GOING are where those numbers stand. A trial after LAST updates is the last one if it is
    better than those: it writes its labels, so that the final pass need not. ``settings`` are 1/T and the limit below
    which a class is bound. The workspace takes (fields, rows, K, programs) partial sums: V and I; in the first pass G
    too, and whether p is anywhere above the limit; with shifts V alone. ``table`` and ``depth`` are for logits that are
    UPSAMPLED.
    """
    program = tl.program_id(0)
    row = program // programs
    part = program % programs
    state = rules + (row % row_period).to(tl.int64) * RULE
    z_start = row_start(values, row, z_image, z_channel, channels, SIGMOID)
    m_start = row_start(mask, row, m_image, m_channel, channels, SIGMOID)
    s_start = row_start(labels, row, s_image, s_channel, channels, SIGMOID)
    CHUNKS: tl.constexpr = (K + CHUNK - 1) // CHUNK
    PARTS: tl.constexpr = BLOCK // VECTOR
    UNROLLED: tl.constexpr = CHUNK == 1
    WRITES: tl.constexpr = MODE == WRITE or MODE == WRITE_SHIFTS
    SHIFTED: tl.constexpr = MODE == SHIFTS or MODE == WRITE_SHIFTS

    if MODE != FIRST:
        gain = load_rule(state + GAIN, K, CHUNK, DTYPE)
        if not SHIFTED:
            threshold = load_rule(state + THRESHOLD, K, CHUNK, DTYPE)
            if HAS_BOUND:
                bound = load_rule(state + BOUND, K, CHUNK, DTYPE)
    counts = ()
    insides = ()
    expected = ()
    highest = ()
    if not WRITES:
        for _c in tl.static_range(CHUNKS):
            counts = counts + (tl.zeros([CHUNK, PARTS], DTYPE),)
            if not SHIFTED:
                insides = insides + (tl.zeros([CHUNK, PARTS], DTYPE),)
            if MODE == FIRST:
                expected = expected + (tl.zeros([CHUNK, PARTS], DTYPE),)
                if not UNROLLED:
                    highest = highest + (tl.zeros([CHUNK, PARTS], DTYPE),)
    likely = tl.zeros([1, BLOCK], tl.int32)  # a bit for each class that is above the limit somewhere
    temperature = tl.load(settings).to(DTYPE)
    limit = tl.load(settings + 1).to(DTYPE)

    tiles = tl.cdiv(pixels, BLOCK)
    if MODE == TRIAL:
        tiles = tl.where(tl.load(state + GOING) > 0, tiles, 0)  # nothing is left to try
        shown_until = tl.where(tl.load(state + GOING + 3) >= LAST, pixels, 0)
    if MODE == WRITE:
        tiles = tl.where(tl.load(state + GOING + 4) > 0, 0, tiles)  # the last trial was the best
    first = part.to(tl.int64) if WIDE else part
    for tile in range(first, tiles, programs):
        pixel = tile * BLOCK + tl.arange(0, BLOCK)[None, :]
        inside = tl.full([1, BLOCK], 1, tl.int1) if EVEN else pixel < pixels
        if UPSAMPLED:
            around = corners_of(
                pixel, inside, table, width, height, depth, z_outer, z_middle, z_inner, AXES, CORNERS, DTYPE
            )
            z = interpolated_classes(z_start, z_channel, around, -float("inf"), K, CHUNK, SIGMOID, DTYPE)
        else:
            z_offsets = pixel_offsets(pixel, width, height, z_outer, z_middle, z_inner, AXES)
            z = load_classes(z_start, z_channel, z_offsets, inside, -float("inf"), K, CHUNK, SIGMOID, DTYPE)
        valid = inside
        if HAS_MASK:
            m_offsets = pixel_offsets(pixel, width, height, m_outer, m_middle, m_inner, AXES)
            valid = inside & (tl.load(m_start + m_offsets, mask=inside, other=0) != 0)
        if PROBABILITIES and SIGMOID:
            z = (1.0 - z[1], z[1])
        if PROBABILITIES and not TEMPERED and not SHIFTED:
            p = ()
            for c in tl.static_range(CHUNKS):
                numbers = class_numbers(c, CHUNK)
                p = p + (tl.where(valid & (numbers < K), z[c], 0.0),)
        else:
            if PROBABILITIES:
                logs = ()
                for c in tl.static_range(CHUNKS):
                    logs = logs + (tl.where(class_numbers(c, CHUNK) < K, tl.log(z[c]), -float("inf")),)
                z = logs
            shifted = subtract_maximum(z, valid, CHUNK, HAS_MASK)
            if TEMPERED:
                cooled = ()
                for c in tl.static_range(CHUNKS):
                    cooled = cooled + (shifted[c] * temperature,)
                shifted = cooled
            if not SHIFTED:
                e = ()
                for c in tl.static_range(CHUNKS):
                    e = e + (tl.exp2(shifted[c]),)
                total = e[0]
                for c in tl.static_range(1, CHUNKS):
                    total = total + e[c]
                inverse = 1.0 / sum_classes(total, CHUNK)
                p = ()
                for c in tl.static_range(CHUNKS):
                    p = p + (e[c] * inverse,)

        scores = ()
        if MODE == FIRST:
            scores = p
        elif SHIFTED:
            for c in tl.static_range(CHUNKS):
                scores = scores + (shifted[c] + gain[c] * LOG2_E,)
        else:
            if HAS_BOUND:
                likeliest = first_largest(p, K, CHUNK, BACKGROUND)
            for c in tl.static_range(CHUNKS):
                numbers = class_numbers(c, CHUNK)
                score = gain[c] * (p[c] - threshold[c])
                if HAS_BOUND:
                    barrier = tl.where(bound[c] > 0, float("inf"), 0.0).to(DTYPE)
                    score = tl.where(likeliest != numbers, score - barrier, score)
                if not UNROLLED:
                    score = tl.where(numbers < K, score, -float("inf"))
                scores = scores + (score,)
        label = first_largest(scores, K, CHUNK, BACKGROUND)

        if WRITES or MODE == TRIAL:
            shown = tl.where(valid, label, BACKGROUND if BACKGROUND >= 0 else 0)
            s_offsets = pixel_offsets(pixel, width, height, s_outer, s_middle, s_inner, AXES)
            written = inside if WRITES else inside & (pixel < shown_until)
            tl.store(s_start + s_offsets, shown.to(labels.dtype.element_ty), mask=written)
        if not WRITES:
            label = tl.where(valid, label, -1)
            new_counts = ()
            new_insides = ()
            new_expected = ()
            new_highest = ()
            if not SHIFTED:
                chosen = at_class(p, label, CHUNK)
                if UNROLLED:
                    chosen_pieces = pieces(chosen, VECTOR)
            if UNROLLED:
                label_pieces = pieces(label, VECTOR)
            for c in tl.static_range(CHUNKS):
                if UNROLLED and not SHIFTED:
                    one, two = add_chosen(counts[c], insides[c], label_pieces, c, chosen_pieces, VECTOR)
                    new_counts = new_counts + (one,)
                    new_insides = new_insides + (two,)
                else:
                    hit = label == class_numbers(c, CHUNK)
                    new_counts = new_counts + (counts[c] + fold(hit.to(DTYPE), VECTOR),)
                    if not SHIFTED:
                        new_insides = new_insides + (insides[c] + fold(tl.where(hit, p[c], 0.0), VECTOR),)
                if MODE == FIRST:
                    there = tl.where(valid, p[c], 0.0)
                    new_expected = new_expected + (expected[c] + fold(there, VECTOR),)
                    if UNROLLED:
                        likely = set_bit(likely, there > limit, c)
                    else:
                        folded = tl.max(tl.reshape(there, [CHUNK, PARTS, VECTOR]), axis=2)
                        new_highest = new_highest + (tl.maximum(highest[c], folded),)
            counts = new_counts
            insides = new_insides
            expected = new_expected
            highest = new_highest

    if not WRITES:
        wide_rows = tl.full([], rows, tl.int64)
        partials = workspace + part
        per_field = wide_rows * K * programs
        if MODE == FIRST and UNROLLED:
            bits = tl.reduce(likely, 1, either)
        for c in tl.static_range(CHUNKS):
            classes = c * CHUNK + tl.arange(0, CHUNK)
            place = (row.to(tl.int64) * K + classes) * programs
            known = classes < K
            tl.store(partials + place, tl.sum(counts[c], axis=1), mask=known)
            if not SHIFTED:
                tl.store(partials + per_field + place, tl.sum(insides[c], axis=1), mask=known)
            if MODE == FIRST:
                tl.store(partials + 2 * per_field + place, tl.sum(expected[c], axis=1), mask=known)
                if UNROLLED:
                    tl.store(partials + 3 * per_field + place, ((bits >> c) & 1).to(DTYPE), mask=known)
                else:
                    above = tl.max(highest[c], axis=1) > limit
                    tl.store(partials + 3 * per_field + place, above.to(DTYPE), mask=known)
