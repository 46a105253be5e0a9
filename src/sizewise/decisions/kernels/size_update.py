"""After a pass of a decision that matches sizes: how far V is from G, and the next shifts b to try.

The mathematics is that of :mod:`sizewise.decisions.size_matching`, with one difference: two classes are tried with
fifteen shifts at a time, since a pass that reads the logits may as well count for all of them.
"""

# mypy: ignore-errors
# ruff: noqa: RET505, SIM300

import triton
import triton.language as tl

from sizewise.decisions.kernels.state import (
    BEFORE,
    BEST,
    ENDED,
    EXPECTED,
    FULL_GAIN,
    FULL_OFFSET,
    GAIN,
    GOING,
    HIGHEST,
    LOWEST,
    PER_CLASS,
    SCORE,
    SECTIONS,
    THRESHOLDS,
)
from sizewise.decisions.kernels.update import fresh, or_one


@triton.jit
def step_shifts(
    state,
    sums,
    unit,
    turn,
    FIRST: tl.constexpr,
    CLOSE: tl.constexpr,
    DAMPING: tl.constexpr,
    MOST_STEP: tl.constexpr,
    TRIALS: tl.constexpr,
    K: tl.constexpr,
    KB: tl.constexpr,
):
    """Several classes: a secant step for each in log V."""
    k = tl.arange(0, KB)
    known = k < K
    numbers = state + PER_CLASS * K
    chosen = fresh(sums + k, known).to(tl.float64)
    if FIRST:
        expected = fresh(sums + 2 * KB + k, known).to(tl.float64) / unit
        tl.store(state + EXPECTED * K + k, expected, mask=known)
        shift = tl.zeros([KB], tl.float64)
        slope = tl.full([KB], 1.0, tl.float64)
    else:
        expected = fresh(state + EXPECTED * K + k, known)
        shift = fresh(state + GAIN * K + k, known)
        slope = fresh(state + FULL_GAIN * K + k, known)
    close = CLOSE * tl.sum(expected, axis=0) + K / 2
    error = tl.sum(tl.where(known, tl.abs(chosen - expected), 0.0), axis=0)
    if FIRST:
        best = error
    else:
        best = tl.load(numbers + SCORE, cache_modifier=".cg")
        step = fresh(state + FULL_OFFSET * K + k, known)
        before = fresh(state + BEFORE * K + k, known)
        seen = tl.log((chosen + 0.5) / (before + 0.5)) / or_one(step)
        moved = (tl.abs(step) > 1e-9) & (seen > 0.02)
        secant = tl.minimum(tl.maximum(tl.sqrt(slope * tl.where(moved, seen, 1.0)), 0.05), 20.0)
        slope = tl.where(moved, secant, 1.5 * slope)
        better = error < best
        if better:
            tl.store(state + BEST * K + k, shift, mask=known)
        best = tl.where(better, error, best)
    step = DAMPING * tl.log((expected + 0.5) / (chosen + 0.5)) / slope
    step = tl.minimum(tl.maximum(step, -MOST_STEP), MOST_STEP)
    tl.store(state + GAIN * K + k, shift + step, mask=known)
    tl.store(state + FULL_GAIN * K + k, slope, mask=known)
    tl.store(state + FULL_OFFSET * K + k, step, mask=known)
    tl.store(state + BEFORE * K + k, chosen, mask=known)
    tl.store(numbers + SCORE, best)
    tl.store(numbers + GOING, ((best > close) & (turn < TRIALS)).to(tl.float64))
    tl.store(numbers + ENDED, turn.to(tl.float64))


@triton.jit
def ordered_value(order, DTYPE: tl.constexpr):
    """The float with so many others between it and 0: floats of one sign are ordered as their bits are."""
    if DTYPE == tl.float64:
        LEAST: tl.constexpr = -9223372036854775808
        return tl.where(order < 0, LEAST - order, order).to(tl.float64, bitcast=True)
    else:
        NARROW: tl.constexpr = -2147483648
        return tl.where(order < 0, NARROW - order, order).to(tl.int32).to(tl.float32, bitcast=True).to(tl.float64)


@triton.jit
def cut_sections(
    state,
    sums,
    unit,
    turn,
    FIRST: tl.constexpr,
    TRIALS: tl.constexpr,
    K: tl.constexpr,
    KB: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """Two classes: V of class 1 grows with b, whose interval is cut in sixteen until V is met or nothing is between."""
    numbers = state + PER_CLASS * K
    whole = numbers.to(tl.pointer_type(tl.int64))
    m = tl.arange(0, SECTIONS)
    if FIRST:
        target = tl.load(sums + 2 * KB + 1, cache_modifier=".cg").to(tl.float64) / unit
        found = tl.load(sums + 1, cache_modifier=".cg").to(tl.float64)
        # the largest numbers of each sign
        END: tl.constexpr = 9218868437227405311 if DTYPE == tl.float64 else 2139095039
        low = tl.where(found <= target, 0, tl.full([], -END, tl.int64))
        high = tl.where(found >= target, 0, tl.full([], END, tl.int64))
        best = tl.abs(found - target)
        tl.store(state + EXPECTED * K + 1, target)
    else:
        target = tl.load(state + EXPECTED * K + 1, cache_modifier=".cg")
        low = tl.load(whole + LOWEST, cache_modifier=".cg")
        high = tl.load(whole + HIGHEST, cache_modifier=".cg")
        best = tl.load(numbers + SCORE, cache_modifier=".cg")
        tried = between(low, high, m)
        inner = m > 0
        found = fresh(sums + m, inner).to(tl.float64)
        error = tl.where(inner, tl.abs(found - target), float("inf"))
        closest = tl.min(error, axis=0)
        nearest = tl.min(tl.where(error == closest, tried, high), axis=0)
        if closest < best:
            tl.store(state + (BEST + GAIN) * K + 1, ordered_value(nearest, DTYPE))
        best = tl.minimum(best, closest)
        low = tl.max(tl.where(inner & (found <= target), tried, low), axis=0)
        high = tl.min(tl.where(inner & (found >= target), tried, high), axis=0)
    tl.store(numbers + THRESHOLDS + m, -ordered_value(between(low, high, m), DTYPE))
    tl.store(whole + LOWEST, low)
    tl.store(whole + HIGHEST, high)
    tl.store(numbers + SCORE, best)
    tl.store(numbers + GOING, ((best >= 0.5) & (high > low + 1) & (turn < TRIALS)).to(tl.float64))
    tl.store(numbers + ENDED, turn.to(tl.float64))


@triton.jit
def between(low, high, m):
    """The integers m sixteenths of the way, without overflow."""
    rest = (low & 15) * (16 - m) + (high & 15) * m
    return (low >> 4) * (16 - m) + (high >> 4) * m + (rest >> 4)
