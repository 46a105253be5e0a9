"""The kernels for sums per cell must also become machine code, which needs no GPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", minversion="3.4", reason="the kernels are written in Triton, 3.4 or later")


def compile_cells(folder, *what):
    script = Path(__file__).parent / "compile_cells.py"
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, str(script), *what],
        env=environment | {"TRITON_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [line.split() for line in done.stdout.splitlines()]


@pytest.mark.parametrize(("classes", "activation"), [("3", "softmax"), ("2", "sigmoid")])
def test_the_kernels_compile_for_a_gpu(classes, activation, tmp_path):
    sizes = {kernel: int(size) for kernel, size in compile_cells(tmp_path, classes, activation)}
    assert set(sizes) == {"sums", "gradient", "both", "formula"}
    assert min(sizes.values()) > 1000


def test_the_compiler_has_little_to_look_at(tmp_path):
    """With 19 classes there were 7,200 lines and 270 accesses, which took 25 s."""
    ((_, lines, accesses),) = compile_cells(tmp_path, "19", "size")
    assert 1000 < int(lines) < 6500
    assert 18 < int(accesses) < 110
