"""The kernels for sums per cell must also become machine code, which needs no GPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", minversion="3.4", reason="the kernels are written in Triton, 3.4 or later")


@pytest.mark.parametrize(("classes", "activation"), [("3", "softmax"), ("2", "sigmoid")])
def test_the_kernels_compile_for_a_gpu(classes, activation, tmp_path):
    script = Path(__file__).parent / "compile_cells.py"
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, str(script), classes, activation],
        env=environment | {"TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    sizes = {kernel: int(size) for kernel, size in (line.split() for line in done.stdout.splitlines())}
    assert set(sizes) == {"sums", "gradient", "both", "formula"}
    assert min(sizes.values()) > 1000
