"""Every check that needs a GPU, with what it takes there: names, parts that run side by side, seconds, memory.

The seconds are those of the longest part, with a cold compiler on a machine with an H200; who takes longest begins
first. Processes share the GPU, and peaks of memory are counted in each by itself, so checks that measure or fill it can
run beside others as long as all of them fit: ``gib`` is what a check takes at most, its CUDA context included.
"""

import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module

from gpu.processes import Task


@dataclass(frozen=True)
class Check:
    """A function of a module here; one with several parts is told which to do, of how many."""

    module: str
    name: str
    seconds: float
    parts: int = 1
    gib: float = 2

    def tasks(self) -> Iterator[Task]:
        if self.parts == 1:
            yield Task(self.name, partial(carry_out, self, ()), self.seconds, self.gib)
            return
        for part in range(self.parts):
            work = partial(carry_out, self, (part, self.parts))
            yield Task(f"{self.name}/{part + 1}", work, self.seconds, self.gib)


CHECKS = (
    Check("check_sums", "forms", 33, parts=7),
    Check("check_sums", "by_words", 19, parts=3),
    Check("check_sums", "same_bits", 6),
    Check("check_decisions", "deciding", 21, parts=4),
    Check("check_decisions", "deciding_together", 8, parts=2),
    Check("check_decisions", "deciding_captured", 1),
    Check("check_decisions", "deciding_many_elements", 6, gib=24),
    Check("check_upsampled", "upsampled", 40, parts=8),
    Check("check_upsampled", "upsampled_same_bits", 9),
    Check("check_upsampled", "upsampled_node", 20),
    Check("check_upsampled", "upsampled_labels", 25, gib=6),
    Check("check_upsampled", "upsampled_memory", 8),
    Check("check_upsampled", "upsampled_many_pixels", 12, gib=4),
    Check("check_cells", "sums_of_cells", 25, parts=4),
    Check("check_cells", "components", 15, parts=2),
    Check("check_cells", "components_captured", 5),
    Check("check_one_node", "named_losses", 9, parts=4),
    Check("check_one_node", "many_rows_and_classes", 22),
    Check("check_one_node", "weights_and_options", 6),
    Check("check_one_node", "changes", 11),
    Check("check_around", "around_a_node", 4),
    Check("check_around", "graph", 2),
    Check("check_around", "compiled", 16),
    Check("check_users", "everyone", 14),
    Check("check_watching", "watching", 4),
    Check("check_watching", "lightning_logger", 6),
    Check("check_bench", "benchmark", 40),
    Check("check_labels", "bad_labels", 3),
    Check("check_large", "many_elements", 6, gib=16),
    Check("check_large", "memory", 5, gib=4),
)


def carry_out(check: Check, part: tuple[int, ...]) -> None:
    """Run a check, and wait for the GPU: what it still has to do may be what fails."""
    import torch

    function = getattr(import_module(f"gpu.{check.module}"), check.name)
    function(*part)
    torch.cuda.synchronize()


def preload(training: bool) -> None:
    """Import here, once, what processes need; nothing of it may touch the GPU.

    Triton hashes half a gigabyte of its own files before it first compiles, which needs no GPU either.
    """
    for name in ("torch", "triton", "sizewise.criterion.fused.cell_step", "sizewise.decisions.kernels.launches"):
        import_module(name)
    triton = sys.modules["triton"]
    for module in (triton.runtime.cache, triton.compiler.compiler):
        getattr(module, "triton_key", lambda: None)()
    if training:
        with suppress(ImportError):  # which each run of it says for itself
            import_module("monai.networks.nets")
