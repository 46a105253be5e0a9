"""Where the numbers of a row stand, in float64, while its rule is being searched: K of each kind, then some for all."""

import triton.language as tl

# The rule that is tried: a, a t, and a t with a wall that no pixel passes where a class is bound; or b in place of a.
GAIN = tl.constexpr(0)
OFFSET = tl.constexpr(1)
WALL = tl.constexpr(2)
# The best one so far stands as far behind.
BEST = tl.constexpr(3)
# The full update a, a t; where sizes are matched, the slope and the last step.
FULL_GAIN = tl.constexpr(6)
FULL_OFFSET = tl.constexpr(7)
EXPECTED = tl.constexpr(8)
BOUND = tl.constexpr(9)
BEFORE = tl.constexpr(9)  # V of the last pass, where sizes are matched and no class is bound
PER_CLASS = tl.constexpr(10)

GOING = tl.constexpr(0)  # whether there is another rule to try
SCORE = tl.constexpr(1)  # F, or the error in the sizes, of the best rule
SHARE = tl.constexpr(2)
RAISED = tl.constexpr(3)  # updates that raised F
WRITTEN = tl.constexpr(4)  # whether the labels of the best rule are written
WALLED = tl.constexpr(5)  # whether any class of the tried rule is bound
BEST_WALLED = tl.constexpr(6)
ENDED = tl.constexpr(7)  # the turn after which nothing was left to try
THRESHOLDS = tl.constexpr(8)  # two classes whose sizes are matched: SECTIONS values of −b
LOWEST = tl.constexpr(24)  # and the integers between which those of b lie
HIGHEST = tl.constexpr(25)
NUMBERS = tl.constexpr(26)

# The sums of a turn, as integers: pixels, p inside, p in all, and programs that met a p above the limit.
FIELDS = tl.constexpr(4)
SECTIONS = tl.constexpr(16)
