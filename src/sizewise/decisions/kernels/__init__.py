"""Decisions as Triton kernels for CUDA tensors, without the host ever waiting.

- :mod:`labels` walks over the pixels once: it chooses labels by a rule, and adds up or writes them.
- :mod:`update` adds up the programs' sums and improves the rule, one program for each image.
- :mod:`passes` launches both, as often as a decision may need them: what comes after its end returns at once.
"""
