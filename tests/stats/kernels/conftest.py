"""Without a GPU the kernels run in Triton's interpreter, which has to be chosen before Triton is imported."""

import os

import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"
