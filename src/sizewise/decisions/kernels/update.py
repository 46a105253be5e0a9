"""After a pass: judge the rule that was tried by its sums, and find the next.

The mathematics is that of :mod:`sizewise.decisions.rule` and :mod:`sizewise.decisions.search`, in float64, by the last
program of each row of the scope that comes to its end.
"""

# mypy: ignore-errors

import triton
import triton.language as tl

from sizewise.decisions.kernels.state import (
    BEST,
    BEST_WALLED,
    BOUND,
    ENDED,
    EXPECTED,
    FULL_GAIN,
    FULL_OFFSET,
    GAIN,
    GOING,
    OFFSET,
    PER_CLASS,
    RAISED,
    SCORE,
    SHARE,
    WALL,
    WALLED,
    WRITTEN,
)


@triton.jit
def fresh(place, known):
    """Numbers that another program has just written."""
    return tl.load(place, mask=known, other=0, cache_modifier=".cg")


@triton.jit
def or_one(divisor):
    """The divisor with 1 in place of 0."""
    return tl.where(divisor == 0, 1.0, divisor)


@triton.jit
def update_rule(
    state,
    sums,
    unit,
    turn,
    FIRST: tl.constexpr,
    DICE: tl.constexpr,
    ONE_CLASS: tl.constexpr,
    UPDATES: tl.constexpr,
    TRIALS: tl.constexpr,
    HAS_BOUND: tl.constexpr,
    BACKGROUND: tl.constexpr,
    K: tl.constexpr,
    KB: tl.constexpr,
):
    """Judge the trial and prepare the next; ``sums`` are those of this turn, KB of each field."""
    k = tl.arange(0, KB)
    known = k < K
    numbers = state + PER_CLASS * K
    scored = known & (k != BACKGROUND)
    chosen = fresh(sums + k, known).to(tl.float64)
    inside = fresh(sums + KB + k, known).to(tl.float64) / unit
    bound = tl.zeros([KB], tl.float64)
    if FIRST:
        expected = fresh(sums + 2 * KB + k, known).to(tl.float64) / unit
        if HAS_BOUND:
            above = fresh(sums + 3 * KB + k, known) > 0
            unlikely = scored & (above == 0)
            # Without a background every pixel needs a class: if none is left there, none is bound.
            every = tl.sum(unlikely.to(tl.int32), axis=0) == K
            bound = (unlikely & (every == 0)).to(tl.float64)
        tl.store(state + EXPECTED * K + k, expected, mask=known)
        tl.store(state + BOUND * K + k, bound, mask=known)
    else:
        expected = fresh(state + EXPECTED * K + k, known)
        if HAS_BOUND:
            bound = fresh(state + BOUND * K + k, known)
    total = chosen + expected
    there = scored & (total > 0)
    if DICE:
        ratio = 2 * inside / or_one(total)
        gain = 2 / or_one(total)
    else:
        ratio = inside / or_one(total - inside)
        gain = total / (or_one(total - inside) * or_one(total - inside))
    score = tl.sum(tl.where(there, ratio, 0.0), axis=0)
    gain = tl.where(there, gain, 0.0)
    offset = gain * inside / or_one(total)
    walled = tl.max(bound, axis=0)

    if FIRST:
        old_gain = tl.where(known, 1.0, 0.0)
        old_offset = tl.zeros([KB], tl.float64)
        tl.store(state + BEST * K + k, old_gain, mask=known)
        new_gain, new_offset = gain, offset
        best, share, raised, goes_on, written = score, 1.0, 0.0, 1.0, 0.0
    else:
        best = tl.load(numbers + SCORE, cache_modifier=".cg")
        share = tl.load(numbers + SHARE, cache_modifier=".cg")
        raised = tl.load(numbers + RAISED, cache_modifier=".cg")
        better = score > best
        worse = score < best
        tried_gain, tried_offset = fresh(state + GAIN * K + k, known), fresh(state + OFFSET * K + k, known)
        old_gain = tl.where(better, tried_gain, fresh(state + (BEST + GAIN) * K + k, known))
        old_offset = tl.where(better, tried_offset, fresh(state + (BEST + OFFSET) * K + k, known))
        new_gain = tl.where(better, gain, fresh(state + FULL_GAIN * K + k, known))
        new_offset = tl.where(better, offset, fresh(state + FULL_OFFSET * K + k, known))
        if better:
            tl.store(state + (BEST + GAIN) * K + k, old_gain, mask=known)
            tl.store(state + (BEST + OFFSET) * K + k, old_offset, mask=known)
            tl.store(state + (BEST + WALL) * K + k, tl.where(bound > 0, float("inf"), old_offset), mask=known)
            tl.store(numbers + BEST_WALLED, walled)
        best = tl.where(better, score, best)
        share = tl.where(better, 1.0, tl.where(worse, share / 2, share))
        raised += better.to(tl.float64)
        written = (better & (raised >= UPDATES)).to(tl.float64)
        goes_on = (better & (raised < UPDATES) & (turn < TRIALS)).to(tl.float64)
        if not ONE_CLASS:
            goes_on = tl.where(worse & (turn < TRIALS), 1.0, goes_on)
    tl.store(state + FULL_GAIN * K + k, new_gain, mask=known)
    tl.store(state + FULL_OFFSET * K + k, new_offset, mask=known)
    old_scale, new_scale = or_one(tl.sum(old_gain, axis=0)), or_one(tl.sum(new_gain, axis=0))
    mixed = (1 - share) * old_gain / old_scale + share * new_gain / new_scale
    offset = (1 - share) * old_offset / old_scale + share * new_offset / new_scale
    tl.store(state + GAIN * K + k, mixed, mask=known)
    tl.store(state + OFFSET * K + k, offset, mask=known)
    tl.store(state + WALL * K + k, tl.where(bound > 0, float("inf"), offset), mask=known)
    tl.store(numbers + GOING, goes_on)
    tl.store(numbers + SCORE, best)
    tl.store(numbers + SHARE, share)
    tl.store(numbers + RAISED, raised)
    tl.store(numbers + WRITTEN, written)
    tl.store(numbers + WALLED, walled)
    tl.store(numbers + ENDED, turn.to(tl.float64))
