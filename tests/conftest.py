"""Lets every test import ``oracle`` and ``sampling`` from this folder, and keeps each worker to its own core."""

import os
import signal

import torch

torch.set_num_threads(1)
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when a kernel is defined: the GPU kernels then run on the CPU
if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # started in the background: processes of the tests would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
