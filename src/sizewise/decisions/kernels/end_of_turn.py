"""The end of a turn: whoever comes last improves the rule of its row, and lets the others go on."""

# mypy: ignore-errors

import triton
import triton.language as tl

from sizewise.decisions.kernels.aims import DICE, SIZE
from sizewise.decisions.kernels.size_update import cut_sections, step_shifts
from sizewise.decisions.kernels.update import update_rule


@triton.jit
def end_turn(
    state,
    sums,
    ticket,
    done,
    members,
    unit,
    turn,
    FIRST: tl.constexpr,
    AIM: tl.constexpr,
    WAITS: tl.constexpr,
    ONE_CLASS: tl.constexpr,
    UPDATES: tl.constexpr,
    TRIALS: tl.constexpr,
    CLOSE: tl.constexpr,
    DAMPING: tl.constexpr,
    MOST_STEP: tl.constexpr,
    HAS_BOUND: tl.constexpr,
    BACKGROUND: tl.constexpr,
    K: tl.constexpr,
    KB: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """``ticket`` counts the programs of a row of the scope, of which there are ``members``; ``done`` its turns."""
    tl.debug_barrier()
    if tl.atomic_add(ticket, 1, sem="acq_rel") == members - 1:
        if AIM == SIZE and K == 2:
            cut_sections(state, sums, unit, turn, FIRST, TRIALS, K, KB, DTYPE)
        elif AIM == SIZE:
            step_shifts(state, sums, unit, turn, FIRST, CLOSE, DAMPING, MOST_STEP, TRIALS, K, KB)
        else:
            dice = AIM == DICE
            update_rule(state, sums, unit, turn, FIRST, dice, ONE_CLASS, UPDATES, TRIALS, HAS_BOUND, BACKGROUND, K, KB)
        if WAITS:
            tl.debug_barrier()
            tl.atomic_xchg(done, turn + 1, sem="release")


@triton.jit
def wait_for(done, turn):
    """Until so many turns are done; what comes next in the program then comes later."""
    while tl.load(done, volatile=True) < turn:
        pass
    tl.atomic_add(done, 0, sem="acquire")
