"""The interpreter takes more than the compiler does: the kernel must also become machine code, which needs no GPU."""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
import torch
from sampling import sample

pytest.importorskip("triton", minversion="3.4", reason="the kernels are written in Triton, 3.4 or later")

from sizewise.decisions.kernels.launches import decision_shape


def compile_decide(what, folder):
    script = Path(__file__).parent / "compile_decide.py"
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, str(script), what],
        env=environment | {"TRITON_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [line.split() for line in done.stdout.splitlines()]


@pytest.mark.parametrize("classes", sample([3, 40, 2, 19], 1, seed=2))
def test_the_kernels_of_a_decision_compile_for_a_gpu(classes, tmp_path):
    sizes = [int(size) for _, size in compile_decide(str(classes), tmp_path)]
    assert len(sizes) == 4
    assert min(sizes) > 1000


def test_the_compiler_accepts_every_shape_of_tile_and_dtype(tmp_path):
    seen = {(chunk != "1", vector, dtype) for _, chunk, vector, dtype in compile_decide("forms", tmp_path)}
    for classes, last, dtype in product((2, 9, 19, 33, 150), (False, True), (torch.bfloat16, torch.float64)):
        shape = decision_shape(classes, last, dtype.itemsize)
        assert (shape.chunk > 1, str(shape.vector), str(dtype)) in seen


def test_the_compiler_has_little_to_look_at(tmp_path):
    """One kernel with single additions for each class had 4,300 lines and 186 accesses, and took 9 s."""
    sizes = {name: (int(lines), int(accesses)) for name, lines, accesses in compile_decide("size", tmp_path)}
    assert set(sizes) == {"turn-0", "dice", "size"}
    for lines, accesses in sizes.values():
        assert 500 < lines < 3200
        assert 19 < accesses < 60
