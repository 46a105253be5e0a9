"""The interpreter takes more than the compiler does: the kernels must also become machine code, which needs no GPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sampling import sample

pytest.importorskip("triton", minversion="3.4", reason="the kernels are written in Triton, 3.4 or later")


@pytest.mark.parametrize("name", sample(["RCE", "WCE", "LogDiceFL", "DBCE", "RFL-KL"], 1, seed=1))
def test_the_kernels_of_a_loss_compile_for_a_gpu(name, tmp_path):
    script = Path(__file__).parent / "compile_kernels.py"
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, str(script), name, "3"],
        env=environment | {"TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    sizes = {kernel: int(size) for kernel, size in (line.split() for line in done.stdout.splitlines())}
    layouts = ("lines", "half-lines", "runs", "half-runs", "half-chunks")
    by_words = {f"{layout}-{kernel}" for layout in layouts for kernel in ("sums", "gradient")}
    others = {"sums", "finish", "formula", "gradient", "upsampled-sums", "upsampled-gradient"}
    assert set(sizes) == by_words | others
    assert min(sizes.values()) > 1000
