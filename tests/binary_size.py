"""Kernels compiled for a GPU that need not be here: down to machine code, or as far as the compiler's first stage."""

import re
from unittest.mock import patch

import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend
from triton.compiler import ASTSource

ACCESS = re.compile(r"\btt\.(load|store|atomic_rmw)\b.*: .*tensor<")
H200 = GPUTarget("cuda", 90, 32)


class FirstStageDone(Exception):
    """The source has become Triton's own code: what it asserts holds, and its shapes and types fit."""


def compiled(launch, pointers):
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
    return triton.compile(source, target=H200, options=options)


def binary_size(launch, pointers) -> int:
    """The bytes of its machine code."""
    return len(compiled(launch, pointers).asm["cubin"])


def accepted(launch, pointers) -> str:
    """What its source says in Triton's own code, or raise what the compiler says against it; a tenth of the time."""
    found = []

    def stop(module, *_args, **_options):
        found.append(str(module))
        raise FirstStageDone

    with patch.object(CUDABackend, "make_ttgir", staticmethod(stop)):
        try:
            compiled(launch, pointers)
        except FirstStageDone:
            return found[0]
    raise AssertionError("the compiler went past its first stage")


def code_size(launch, pointers) -> tuple[int, int]:
    """The lines of that code, and how many of them read or write tensors.

    The compiler looks at each of the latter together with all that it is connected to, from each line of that anew, so
    its time grows with their number and the square of the former.
    """
    lines = accepted(launch, pointers).splitlines()
    return len(lines), sum(bool(ACCESS.search(line)) for line in lines)
