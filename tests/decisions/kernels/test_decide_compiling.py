"""The interpreter takes more than the compiler does: the kernel must also become machine code, which needs no GPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sampling import sample

pytest.importorskip("triton", minversion="3.4", reason="the kernels are written in Triton, 3.4 or later")


@pytest.mark.parametrize("classes", sample([3, 40, 2, 19], 1, seed=2))
def test_the_kernels_of_a_decision_compile_for_a_gpu(classes, tmp_path):
    script = Path(__file__).parent / "compile_decide.py"
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, str(script), str(classes)],
        env=environment | {"TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    sizes = [int(line.split()[1]) for line in done.stdout.splitlines()]
    assert len(sizes) == 4
    assert min(sizes) > 1000
