"""Lets every test import ``oracle`` and ``sampling`` from this folder, and keeps each worker to its own core."""

import torch

torch.set_num_threads(1)
