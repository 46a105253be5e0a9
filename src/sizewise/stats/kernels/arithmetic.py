"""Inverse and logarithm of a sum of exponentials, without the cases that cannot occur.

The largest of the exponentials is 1, so that the sum of K of them lies between 1 and K, or is NaN: neither 0 nor
infinite nor subnormal, which the general functions look for in half of their instructions.
"""

# Triton compiles these functions: arguments are what it makes of them, and every branch needs its own return.
# mypy: ignore-errors
# ruff: noqa: RET505

import os

import torch
import triton
import triton.language as tl

# The interpreter rounds the product of a multiply-add; the difference of two large logits would lose its digits.
FUSED = tl.constexpr(os.environ.get("TRITON_INTERPRET", "0") != "1")
# Whether a kernel may hold instructions of NVIDIA's.
PTX = tl.constexpr(FUSED.value and torch.version.hip is None)

LOG2_E = tl.constexpr(1.4426950408889634)
LN_2 = tl.constexpr(0.6931471805599453)
BELOW_SQUARE_ROOT = tl.constexpr(0x3F3504F3)  # the bits of 1/√2


@triton.jit
def inverse_of(total):
    """1 / x for x neither 0 nor tiny nor huge, within one unit in the last place."""
    if PTX and total.dtype == tl.float32:
        return tl.inline_asm_elementwise(
            "rcp.approx.ftz.f32 $0, $1;", "=f,f", [total], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        return 1.0 / total


@triton.jit
def log2_of(total):
    """log2 x for x from 1 to 2^24, within 2^-23 of its value: log2 2^n m = n + f log2 e + f² P(f), f = m − 1.

    P is the best polynomial of degree 8 for m from 1/√2 to √2. NaN stays NaN by way of the last product.
    """
    if total.dtype == tl.float32:
        bits = total.to(tl.int32, bitcast=True)
        power = (bits - BELOW_SQUARE_ROOT) & -8388608
        f = (bits - power).to(tl.float32, bitcast=True) - 1.0
        p = f * -0.1131226122379303 + 0.18739813566207886
        p = p * f - 0.19033965468406677
        p = p * f + 0.20436426997184753
        p = p * f - 0.23968198895454407
        p = p * f + 0.2885815501213074
        p = p * f - 0.360694020986557
        p = p * f + 0.48089799284935
        p = p * f - 0.7213473916053772
        return power.to(tl.float32) * 1.1920928955078125e-07 + (f * LOG2_E + p * f * f) + total * 0.0
    else:
        return tl.log2(total)
