"""Decisions as one Triton kernel for CUDA tensors, without the host ever waiting.

- :mod:`turns` is the kernel: a pass over the pixels, an update of the rule, and again; :mod:`first_turn` is argmax.
- :mod:`labels` chooses the labels of a tile by a rule, :mod:`sums` adds them up.
- :mod:`end_of_turn` lets the last program of an image improve its rule, by :mod:`update` or :mod:`size_update`, which
  keep their numbers where :mod:`state` says.
- :mod:`launches` prepares the launch for each form of input.
"""
