"""One value of each thread read or written, by an instruction that the compiler leaves as it is.

Triton looks at every load and store of a kernel together with all that they are connected to, several times over. For
the 40 of a tile with its classes one by one that takes longer than everything else the compiler does; here there is
nothing that it could find out. So on NVIDIA's GPUs they are written as machine instructions.
"""

# Triton compiles these functions: arguments are what it makes of them, and every branch needs its own return.
# mypy: ignore-errors
# ruff: noqa: RET505

import triton
import triton.language as tl

from sizewise.stats.kernels.arithmetic import PTX


@triton.jit
def read(places, inside, ALWAYS: tl.constexpr):
    """The values at ``places``, 0 where not ``inside``; ALWAYS says that all are."""
    KIND: tl.constexpr = places.dtype.element_ty
    BITS: tl.constexpr = KIND.primitive_bitwidth
    if not PTX or BITS == 1:
        return tl.load(places, mask=inside, other=0)
    elif BITS == 8:
        if ALWAYS:
            value = tl.inline_asm_elementwise(
                "ld.global.u8 $0, [$1];", "=r,l", [places.to(tl.int64)], dtype=tl.int32, is_pure=True, pack=1
            )
        else:
            value = tl.inline_asm_elementwise(
                "{.reg .pred p; setp.ne.s32 p, $2, 0; mov.b32 $0, 0; @p ld.global.u8 $0, [$1];}",
                "=r,l,r",
                [places.to(tl.int64), inside.to(tl.int32)],
                dtype=tl.int32,
                is_pure=True,
                pack=1,
            )
        return value.to(tl.int8).to(KIND, bitcast=True)
    elif BITS == 16:
        if ALWAYS:
            value = tl.inline_asm_elementwise(
                "ld.global.b16 $0, [$1];", "=h,l", [places.to(tl.int64)], dtype=tl.int16, is_pure=True, pack=1
            )
        else:
            value = tl.inline_asm_elementwise(
                "{.reg .pred p; setp.ne.s32 p, $2, 0; mov.b16 $0, 0; @p ld.global.b16 $0, [$1];}",
                "=h,l,r",
                [places.to(tl.int64), inside.to(tl.int32)],
                dtype=tl.int16,
                is_pure=True,
                pack=1,
            )
        return value.to(KIND, bitcast=True)
    elif BITS == 32:
        if ALWAYS:
            value = tl.inline_asm_elementwise(
                "ld.global.b32 $0, [$1];", "=r,l", [places.to(tl.int64)], dtype=tl.int32, is_pure=True, pack=1
            )
        else:
            value = tl.inline_asm_elementwise(
                "{.reg .pred p; setp.ne.s32 p, $2, 0; mov.b32 $0, 0; @p ld.global.b32 $0, [$1];}",
                "=r,l,r",
                [places.to(tl.int64), inside.to(tl.int32)],
                dtype=tl.int32,
                is_pure=True,
                pack=1,
            )
        return value.to(KIND, bitcast=True)
    else:
        if ALWAYS:
            value = tl.inline_asm_elementwise(
                "ld.global.b64 $0, [$1];", "=l,l", [places.to(tl.int64)], dtype=tl.int64, is_pure=True, pack=1
            )
        else:
            value = tl.inline_asm_elementwise(
                "{.reg .pred p; setp.ne.s32 p, $2, 0; mov.b64 $0, 0; @p ld.global.b64 $0, [$1];}",
                "=l,l,r",
                [places.to(tl.int64), inside.to(tl.int32)],
                dtype=tl.int64,
                is_pure=True,
                pack=1,
            )
        return value.to(KIND, bitcast=True)


@triton.jit
def write(places, value, inside, ALWAYS: tl.constexpr):
    """Write values of 4 or 8 bytes; 16-bit ones are written as words."""
    BITS: tl.constexpr = places.dtype.element_ty.primitive_bitwidth
    if not PTX:
        tl.store(places, value, mask=inside)
    elif BITS == 64:
        if ALWAYS:
            tl.inline_asm_elementwise(
                "st.global.b64 [$1], $2; mov.b32 $0, 0;",
                "=r,l,l",
                [places.to(tl.int64), value.to(tl.int64, bitcast=True)],
                dtype=tl.int32,
                is_pure=False,
                pack=1,
            )
        else:
            tl.inline_asm_elementwise(
                "{.reg .pred p; setp.ne.s32 p, $3, 0; @p st.global.b64 [$1], $2; mov.b32 $0, 0;}",
                "=r,l,l,r",
                [places.to(tl.int64), value.to(tl.int64, bitcast=True), inside.to(tl.int32)],
                dtype=tl.int32,
                is_pure=False,
                pack=1,
            )
    else:
        tl.static_assert(BITS == 32)
        if ALWAYS:
            tl.inline_asm_elementwise(
                "st.global.b32 [$1], $2; mov.b32 $0, 0;",
                "=r,l,r",
                [places.to(tl.int64), value.to(tl.int32, bitcast=True)],
                dtype=tl.int32,
                is_pure=False,
                pack=1,
            )
        else:
            tl.inline_asm_elementwise(
                "{.reg .pred p; setp.ne.s32 p, $3, 0; @p st.global.b32 [$1], $2; mov.b32 $0, 0;}",
                "=r,l,r,r",
                [places.to(tl.int64), value.to(tl.int32, bitcast=True), inside.to(tl.int32)],
                dtype=tl.int32,
                is_pure=False,
                pack=1,
            )
