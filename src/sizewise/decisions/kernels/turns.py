"""A decision as one kernel: turns of a pass over the pixels and an update of the rule, until nothing is left to try.

Each program walks over its tiles of one row, turn after turn. What it adds up goes to integers, so that the order in
which programs come does not matter; the last one of a row of the scope improves the rule, and the others wait for that.
This takes programs that all run at the same time, so it is launched as a cooperative grid. Where that cannot be, each
turn is a launch of its own, and nobody waits. With many classes turn 0 always is: two kernels compile sooner than one.
"""

# mypy: ignore-errors
# ruff: noqa: SIM102

import triton
import triton.language as tl

from sizewise.decisions.kernels.aims import DICE, FIRST, IOU, LATER, NOTHING_SHIFTED, SIZE
from sizewise.decisions.kernels.end_of_turn import end_turn, wait_for
from sizewise.decisions.kernels.first_turn import add_first_turn
from sizewise.decisions.kernels.labels import (
    freed,
    largest_of,
    load_rule,
    powers,
    read_tile,
    ruled,
    shifted_label,
    tile_number,
)
from sizewise.decisions.kernels.state import (
    BEST,
    BEST_WALLED,
    BOUND,
    ENDED,
    FIELDS,
    GAIN,
    GOING,
    OFFSET,
    PER_CLASS,
    RAISED,
    SECTIONS,
    THRESHOLDS,
    WALL,
    WALLED,
    WRITTEN,
)
from sizewise.decisions.kernels.sums import add_chosen, add_sections, hand_on_class, no_counts, no_sums
from sizewise.stats.kernels.tile import LOG2_E, pixel_offsets, row_start

# A new size of image is no reason to compile: what the kernel need know of a number is in ALIGNED, EVEN and WIDE, and
# whether neighbours in memory are 1 apart.
SIZES = (
    *("pixels", "programs", "channels", "rows", "row_period", "width", "height", "depth", "begin", "end"),
    *(f"{tensor}_{stride}" for tensor in "zms" for stride in ("image", "channel", "outer", "middle")),
)


@triton.jit
def sixteens(number, ALIGNED: tl.constexpr):
    """The number itself, which the compiler then knows to be a multiple of 16."""
    return (number // 16) * 16 if ALIGNED else number


@triton.jit(do_not_specialize=SIZES)
def decide_tiles(
    values,
    mask,
    labels,
    rules,
    sums,
    tickets,
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
    begin,
    end,
    AIM: tl.constexpr,
    PHASES: tl.constexpr,
    WAITS: tl.constexpr,
    RULE: tl.constexpr,
    ONE_CLASS: tl.constexpr,
    UPDATES: tl.constexpr,
    CLOSE: tl.constexpr,
    DAMPING: tl.constexpr,
    MOST_STEP: tl.constexpr,
    TRIALS: tl.constexpr,
    BACKGROUND: tl.constexpr,
    K: tl.constexpr,
    KB: tl.constexpr,
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
    HALF_BOUND: tl.constexpr,
    EVEN: tl.constexpr,
    ALIGNED: tl.constexpr,
    WIDE: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """The turns from ``begin`` to ``end``. Turn 0 is argmax; the one after the last trial writes the labels.

    ``rules`` holds RULE numbers for each row of the scope, see :mod:`state`; row % row_period is that row. ``sums`` is
    0 at first, (turns, scope, FIELDS, KB), and so are ``tickets``, (turns + 1, scope): how many programs have come
    to the end of a turn, and in the last line how many turns are done. ``settings`` are 1/T, the limit below which a
    class is bound, and the number that stands for 1 in ``sums``. HALF_BOUND: that limit is at least ½, so that a class
    above it is the likeliest. PHASES says which code is needed: that of turn 0, of the others, or of all.
    """
    pixels = sixteens(pixels, ALIGNED)
    z_image, z_channel = sixteens(z_image, ALIGNED), sixteens(z_channel, ALIGNED)
    m_image, m_channel = sixteens(m_image, ALIGNED), sixteens(m_channel, ALIGNED)
    s_image, s_channel = sixteens(s_image, ALIGNED), sixteens(s_channel, ALIGNED)
    program = tl.program_id(0)
    row = program // programs
    part = program % programs
    scope = (row % row_period).to(tl.int64)
    state = rules + scope * RULE
    numbers = state + PER_CLASS * K
    z_start = row_start(values, row, z_image, z_channel, channels, SIGMOID)
    m_start = row_start(mask, row, m_image, m_channel, channels, SIGMOID)
    s_start = row_start(labels, row, s_image, s_channel, channels, SIGMOID)
    z_strides = (z_outer, z_middle, z_inner)
    m_strides = (m_outer, m_middle, m_inner)
    CHUNKS: tl.constexpr = (K + CHUNK - 1) // CHUNK
    PARTS: tl.constexpr = BLOCK // VECTOR
    SHIFTED: tl.constexpr = AIM == SIZE or AIM == NOTHING_SHIFTED
    SECTIONED: tl.constexpr = AIM == SIZE and K == 2
    SEARCHES: tl.constexpr = AIM == DICE or AIM == IOU or AIM == SIZE
    PLAIN: tl.constexpr = PROBABILITIES and not TEMPERED
    inverse_temperature = tl.load(settings).to(DTYPE)
    limit = tl.load(settings + 1).to(DTYPE)
    unit = tl.load(settings + 2)
    scale = inverse_temperature * LOG2_E
    tiles = tl.cdiv(pixels, BLOCK)
    if WIDE:
        tiles = tiles.to(tl.int64)
        part = part.to(tl.int64)
    members = (rows // row_period) * programs
    per_turn = tl.full([], row_period, tl.int64) * FIELDS * KB
    done = tickets + tl.full([], end, tl.int64) * row_period + scope
    turn = tl.full([], begin, tl.int32)

    if PHASES != LATER:
        if begin == 0:
            own = sums + scope * FIELDS * KB
            add_first_turn(
                own,
                z_start,
                m_start,
                table,
                pixels,
                tiles,
                part,
                programs,
                width,
                height,
                depth,
                z_channel,
                z_strides,
                m_strides,
                scale,
                limit,
                unit,
                SHIFTED,
                BACKGROUND,
                K,
                KB,
                CHUNK,
                BLOCK,
                VECTOR,
                AXES,
                UPSAMPLED,
                CORNERS,
                SIGMOID,
                PROBABILITIES,
                TEMPERED,
                HAS_MASK,
                HAS_BOUND,
                HALF_BOUND,
                EVEN,
                DTYPE,
            )
            if SEARCHES:
                end_turn(
                    state,
                    own,
                    tickets + scope,
                    done,
                    members,
                    unit,
                    turn,
                    True,
                    AIM,
                    WAITS,
                    ONE_CLASS,
                    UPDATES,
                    TRIALS,
                    CLOSE,
                    DAMPING,
                    MOST_STEP,
                    HAS_BOUND,
                    BACKGROUND,
                    K,
                    KB,
                    DTYPE,
                )
            turn += 1

    if PHASES != FIRST:
        live = turn < end
        while live:
            if WAITS:
                wait_for(done, tl.where(turn > begin, turn, 0))  # what a launch begins with is there
            going = tl.load(numbers + GOING, cache_modifier=".cg") > 0
            ended = tl.load(numbers + ENDED, cache_modifier=".cg")
            written = tl.load(numbers + WRITTEN, cache_modifier=".cg") > 0
            last = tl.load(numbers + RAISED, cache_modifier=".cg") >= UPDATES - 1
            shows = going == 0
            if SEARCHES and not SHIFTED:  # the labels of the last trial are the final ones, if it is the best
                shows = shows | last
            shown_until = tl.where(shows, pixels, 0)
            here = tl.where(going | ((written == 0) & (ended + 1 == turn)), tl.cdiv(tiles - part, programs), 0)
            rule = state + tl.where(going, 0, BEST * K)
            back = turn % 2 == 1
            if SECTIONED:
                thresholds = load_rule(numbers + THRESHOLDS, SECTIONS, 1, DTYPE)
                final = -tl.load(state + (BEST + GAIN) * K + 1, cache_modifier=".cg").to(DTYPE)
                counts = no_sums(SECTIONS - 1, 1, PARTS, tl.int32)
            else:
                gain = load_rule(rule + GAIN * K, K, CHUNK, DTYPE)
                counts = no_counts(K, CHUNK, PARTS)
            insides = no_sums(0 if SHIFTED else CHUNKS, CHUNK, PARTS, DTYPE)
            if not SHIFTED:
                wall = load_rule(rule + WALL * K, K, CHUNK, DTYPE)
                walled = tl.load(numbers + tl.where(going, WALLED, BEST_WALLED), cache_modifier=".cg") > 0
            for place in range(here):
                pixel = tile_number(place, part, programs, tiles, back) * BLOCK + tl.arange(0, BLOCK)[None, :]
                inside = tl.full([1, BLOCK], 1, tl.int1) if EVEN else pixel < pixels
                z, valid = read_tile(
                    pixel,
                    inside,
                    z_start,
                    m_start,
                    table,
                    width,
                    height,
                    depth,
                    z_channel,
                    z_strides,
                    m_strides,
                    K,
                    CHUNK,
                    AXES,
                    UPSAMPLED,
                    CORNERS,
                    SIGMOID,
                    PROBABILITIES,
                    PROBABILITIES and (SHIFTED or TEMPERED),
                    HAS_MASK,
                    DTYPE,
                )
                if SECTIONED:
                    difference = (z[1] - z[0]) * inverse_temperature
                    label = ((difference >= final) if BACKGROUND == 1 else (difference > final)).to(tl.int32)
                    counts = add_sections(counts, difference, valid, thresholds, BACKGROUND == 1, VECTOR)
                else:
                    highest = largest_of(z, CHUNK)
                    if SHIFTED:
                        label = shifted_label(z, highest, inverse_temperature, gain, K, CHUNK, BACKGROUND)
                        value = highest
                    else:
                        e, total = powers(z, highest, scale, CHUNK, PLAIN)
                        label, best, value = ruled(e, total, gain, wall, K, CHUNK, BACKGROUND)
                        if HAS_BOUND:
                            if walled:
                                label, value = freed(
                                    label,
                                    best,
                                    value,
                                    e,
                                    total,
                                    valid,
                                    rule + GAIN * K,
                                    rule + OFFSET * K,
                                    state + BOUND * K,
                                    K,
                                    CHUNK,
                                    BACKGROUND,
                                    DTYPE,
                                )
                        value = tl.where(total == total, value / total, 0.0)
                    counts, insides = add_chosen(counts, insides, tl.where(valid, label, -1), value, K, CHUNK, VECTOR)
                shown = tl.where(valid, label, BACKGROUND if BACKGROUND >= 0 else 0)
                s_offsets = pixel_offsets(pixel, width, height, s_outer, s_middle, s_inner, AXES)
                tl.store(s_start + s_offsets, shown.to(labels.dtype.element_ty), mask=inside & (pixel < shown_until))

            if going:
                own = sums + turn * per_turn + scope * FIELDS * KB
                if SECTIONED:
                    for m in tl.static_range(SECTIONS - 1):
                        found = tl.sum(tl.sum(counts[m], axis=1), axis=0).to(tl.int64)
                        tl.atomic_add(own + m + 1, found, sem="relaxed")
                else:
                    for c in tl.static_range(CHUNKS):
                        hand_on_class(own, counts, (insides,), unit, c, K, KB, CHUNK)
                if SEARCHES:
                    end_turn(
                        state,
                        own,
                        tickets + turn.to(tl.int64) * row_period + scope,
                        done,
                        members,
                        unit,
                        turn,
                        False,
                        AIM,
                        WAITS,
                        ONE_CLASS,
                        UPDATES,
                        TRIALS,
                        CLOSE,
                        DAMPING,
                        MOST_STEP,
                        HAS_BOUND,
                        BACKGROUND,
                        K,
                        KB,
                        DTYPE,
                    )
            turn += 1
            live = going & (turn < end)
