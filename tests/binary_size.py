"""Kernels compiled down to machine code for a GPU that need not be here."""

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

H200 = GPUTarget("cuda", 90, 32)


def binary_size(launch, pointers) -> int:
    """Compile one launch, whose first arguments are ``pointers``, then its numbers, then its constants."""
    signature, constants = {}, {}
    for place, name in enumerate(launch.kernel.arg_names):
        if place < len(pointers):
            signature[name] = pointers[place]
        elif place < len(pointers) + len(launch.numbers):
            signature[name] = "i32"
        else:
            signature[name] = "constexpr"
            constants[(place,)] = launch.constants[name]
    source = ASTSource(launch.kernel, signature, constants)
    options = {"num_warps": launch.warps, "enable_fp_fusion": True}
    return len(triton.compile(source, target=H200, options=options).asm["cubin"])
