"""Where the kernels of the tests run: on a GPU, else in Triton's interpreter; importing it skips where neither can be."""

import pytest
import torch

from sizewise.stats.kernels.backend import OLDEST_TRITON

triton = pytest.importorskip("triton", reason="the kernels are written in Triton, which is not installed")
ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
if not ON_GPU and isinstance(triton.language.sum, triton.JITFunction):
    pytest.skip("Triton was imported before TRITON_INTERPRET=1 was set", allow_module_level=True)
if tuple(int(number) for number in triton.__version__.split(".")[:2]) < OLDEST_TRITON:
    pytest.skip(f"Triton {triton.__version__} is older than the kernels need", allow_module_level=True)
