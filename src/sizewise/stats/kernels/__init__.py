"""The one pass as Triton kernels for CUDA tensors: one read forward, one read and one write backward.

The specification is :mod:`sizewise.stats.reference`; these kernels take the same arguments and give the same sums.

- :mod:`tile` reads one tile of pixels and takes its softmax; the kernels share it.
- :mod:`forward` adds up tiles into one partial sum per program, :mod:`finish` adds up the programs in a fixed order.
- :mod:`backward` writes the gradient.
- :mod:`layout` brings any strides into at most three axes, :mod:`shapes` chooses block sizes, :mod:`plan` and
  :mod:`call` prepare the launches once for each kind of call, and :mod:`launch` is what the operator calls.
- :mod:`label_errors` reports bad target values without making the host wait.
"""
