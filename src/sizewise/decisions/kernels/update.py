"""After a pass: add up the programs' sums in a fixed order, judge the rule that was tried, and find the next.

The mathematics is that of :mod:`sizewise.decisions.rule` and :mod:`sizewise.decisions.search`, in float64, with one
program for each row of the scope.
"""

# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def field_sum(
    partials, row, rows, programs, member_step, members, field, K: tl.constexpr, KB: tl.constexpr, PARTS: tl.constexpr
):
    """One field's sum over the programs of all rows that belong together, (KB,) in float64."""
    classes = tl.arange(0, KB)[:, None]
    total = tl.zeros([KB, PARTS], tl.float64)
    per_field = tl.full([], rows, tl.int64) * K * programs
    for member in range(members):
        start = field * per_field + ((row + member * member_step).to(tl.int64) * K) * programs
        for first in range(0, programs, PARTS):
            part = first + tl.arange(0, PARTS)[None, :]
            known = (classes < K) & (part < programs)
            total += tl.load(partials + start + classes * programs + part, mask=known, other=0.0).to(tl.float64)
    return tl.sum(total, axis=1)


@triton.jit
def or_one(divisor):
    """The divisor with 1 in place of 0."""
    return tl.where(divisor == 0, 1.0, divisor)


@triton.jit
def update_rule(
    workspace,
    rules,
    rows,
    programs,
    member_step,
    members,
    FIRST: tl.constexpr,
    DICE: tl.constexpr,
    ONE_CLASS: tl.constexpr,
    UPDATES: tl.constexpr,
    BACKGROUND: tl.constexpr,
    K: tl.constexpr,
    KB: tl.constexpr,
    PARTS: tl.constexpr,
    RULE: tl.constexpr,
):
    """Judge the trial and prepare the next.

    The state of a row holds K numbers each of the trial's gain, threshold and bound; the best rule's gain, threshold
    and bound; the full update's gain and threshold; and G. Then: whether it goes on, F, the share, updates so far, and
    whether the labels of the best rule are written already: those of the last trial, if it is better.
    """
    row = tl.program_id(0)
    k = tl.arange(0, KB)
    known = k < K
    state = rules + row.to(tl.int64) * RULE
    trial_gain, trial_threshold, bound_at = state + k, state + K + k, state + 2 * K + k
    best_gain, best_threshold, best_bound = state + 3 * K + k, state + 4 * K + k, state + 5 * K + k
    full_gain, full_threshold, expected_at = state + 6 * K + k, state + 7 * K + k, state + 8 * K + k
    numbers = state + 9 * K
    scored = known & (k != BACKGROUND)

    going = 1.0
    if not FIRST:
        going = tl.load(numbers)
    if going > 0:
        chosen = field_sum(workspace, row, rows, programs, member_step, members, 0, K, KB, PARTS)
        inside = field_sum(workspace, row, rows, programs, member_step, members, 1, K, KB, PARTS)
        if FIRST:
            expected = field_sum(workspace, row, rows, programs, member_step, members, 2, K, KB, PARTS)
            above = field_sum(workspace, row, rows, programs, member_step, members, 3, K, KB, PARTS) > 0
            bound = scored & (above == 0)
            # Without a background every pixel needs a class: if none is left there, none is bound.
            every = tl.sum(bound.to(tl.int32), axis=0) == K
            bound = (bound & (every == 0)).to(tl.float64)
            tl.store(expected_at, expected, mask=known)
            tl.store(bound_at, bound, mask=known)
        else:
            expected = tl.load(expected_at, mask=known, other=0.0)
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
        threshold = tl.where(there, inside / or_one(total), 0.0)

        if FIRST:
            one = tl.where(known, 1.0, 0.0)
            tl.store(best_gain, one, mask=known)
            tl.store(best_threshold, tl.zeros([KB], tl.float64), mask=known)
            tl.store(best_bound, tl.zeros([KB], tl.float64), mask=known)
            old_gain, old_threshold = one, tl.zeros([KB], tl.float64)
            new_gain, new_threshold = gain, threshold
            best, share, raised, goes_on, written = score, 1.0, 0.0, 1.0, 0.0
        else:
            best = tl.load(numbers + 1)
            share = tl.load(numbers + 2)
            raised = tl.load(numbers + 3)
            better = score > best
            worse = score < best
            old_gain = tl.where(
                better, tl.load(trial_gain, mask=known, other=0.0), tl.load(best_gain, mask=known, other=0.0)
            )
            old_threshold = tl.where(
                better, tl.load(trial_threshold, mask=known, other=0.0), tl.load(best_threshold, mask=known, other=0.0)
            )
            new_gain = tl.where(better, gain, tl.load(full_gain, mask=known, other=0.0))
            new_threshold = tl.where(better, threshold, tl.load(full_threshold, mask=known, other=0.0))
            if better:
                tl.store(best_gain, old_gain, mask=known)
                tl.store(best_threshold, old_threshold, mask=known)
                tl.store(best_bound, tl.load(bound_at, mask=known, other=0.0), mask=known)
            best = tl.where(better, score, best)
            share = tl.where(better, 1.0, tl.where(worse, share / 2, share))
            raised += better.to(tl.float64)
            written = (better & (raised >= UPDATES)).to(tl.float64)
            goes_on = (better & (raised < UPDATES)).to(tl.float64)
            if not ONE_CLASS:
                goes_on = tl.where(worse, 1.0, goes_on)
        tl.store(full_gain, new_gain, mask=known)
        tl.store(full_threshold, new_threshold, mask=known)
        old_scale, new_scale = or_one(tl.sum(old_gain, axis=0)), or_one(tl.sum(new_gain, axis=0))
        mixed_gain = (1 - share) * old_gain / old_scale + share * new_gain / new_scale
        offset = (1 - share) * old_gain * old_threshold / old_scale + share * new_gain * new_threshold / new_scale
        tl.store(trial_gain, mixed_gain, mask=known)
        tl.store(trial_threshold, offset / or_one(mixed_gain), mask=known)
        tl.store(numbers, goes_on)
        tl.store(numbers + 1, best)
        tl.store(numbers + 2, share)
        tl.store(numbers + 3, raised)
        tl.store(numbers + 4, written)
