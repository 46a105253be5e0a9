"""Tensors that are made once and stay: numbers and tables that kernels read.

Such a tensor is made when a call first needs it, and calls come from anywhere: from a step under
``torch.compile(mode="reduce-overhead")``, whose warm-up takes every allocation of its thread for the memory of its
graphs and refuses what outlives the step; from ``torch.inference_mode()``; from under a dispatch mode. All of these
belong to a thread. So what stays is made in a thread of its own, which none of them reaches.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

_numbers: dict[tuple, Tensor] = {}


def kept_tensor(device: torch.device, make: Callable[[], Tensor]) -> Tensor:
    """What ``make`` returns, made apart from all that is going on in this thread, and ready on every stream.

    Not while a CUDA graph is captured: the new thread waits for the device, which a capture forbids.

    >>> with torch.inference_mode():
    ...     kept_tensor(torch.device("cpu"), lambda: torch.zeros(1)).is_inference()
    False
    """

    def work() -> Tensor:
        tensor = make()
        if device.type == "cuda":
            torch.cuda.current_stream(device).synchronize()
        return tensor

    with ThreadPoolExecutor(1, thread_name_prefix="sizewise-keeps") as apart:
        return apart.submit(work).result()


def numbers_on(device: torch.device, dtype: torch.dtype, *numbers: float) -> Tensor:
    """Some numbers where kernels can read them; the same tensor every time.

    >>> numbers_on(torch.device("cpu"), torch.float64, 1.0, 0.5)
    tensor([1.0000, 0.5000], dtype=torch.float64)
    """
    key = (device, dtype, *numbers)
    tensor = _numbers.get(key)
    if tensor is not None:
        return tensor

    def make() -> Tensor:
        made = torch.empty(len(numbers), dtype=dtype, device=device)
        for place, number in enumerate(numbers):
            made[place].fill_(number)  # a copy from the host would make it wait
        return made

    if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
        return make()  # its value, and its memory, belong to the graph alone
    tensor = _numbers[key] = kept_tensor(device, make)
    return tensor
