"""What a decision searches for, and which of its turns a launch has, as the kernel knows them."""

import triton.language as tl

DICE = tl.constexpr(0)
IOU = tl.constexpr(1)
SIZE = tl.constexpr(2)
NOTHING = tl.constexpr(3)  # a single pass, by a rule that is given
NOTHING_SHIFTED = tl.constexpr(4)

ALL = tl.constexpr(0)
FIRST = tl.constexpr(1)
LATER = tl.constexpr(2)
