"""Bad target values on a GPU: reported without making the host wait for the device.

The kernels write what they found into pinned host memory, which costs nothing while nothing is wrong. The sums of that
call are NaN; each later call looks at the memory without waiting, and :func:`check` waits first. A replayed CUDA graph
writes the record too.
"""

import ctypes

import torch
from torch import Tensor

from sizewise.stats.target_values import check_probabilities, check_shares, label_sentence

WORDS = 16
LABEL, ROW, SHARE = 1, 2, 3
FIRST_NUMBER = 6
ROW_VALUES = 8


class Record:
    """The record of one device: a tensor for the kernels, and the same memory as plain numbers for the host.

    Words 0 to 5 are int64: what is wrong, the label, K, whether there is an ignore_index, and it, and whether the label
    is a uint64. From there on there are float64: the first values of a row of probabilities, then its sum.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.tensor = torch.zeros(WORDS, dtype=torch.int64, pin_memory=device.type == "cuda")
        self.words = (ctypes.c_int64 * WORDS).from_address(self.tensor.data_ptr())
        self.numbers = (ctypes.c_double * WORDS).from_address(self.tensor.data_ptr())

    def raise_error(self) -> None:
        """Raise what is recorded, and forget it."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)  # the words may still be on their way
        what, label, regions, has_ignore, ignore, unsigned = self.words[:FIRST_NUMBER]
        row = self.numbers[FIRST_NUMBER : FIRST_NUMBER + ROW_VALUES]
        total = self.numbers[FIRST_NUMBER + ROW_VALUES]
        self.words[0] = 0
        if what == LABEL:
            label = label % 2**64 if unsigned else label
            raise ValueError(label_sentence(label, regions, ignore if has_ignore else None))
        if what == SHARE:
            check_shares(torch.tensor(row[:1], dtype=torch.float64), None)
        if what == ROW:
            check_probabilities(shown_row(row, total, regions).view(1, -1, 1), None)
        # Float32 and float64 may disagree on a row that is wrong by a hair.
        raise ValueError(f"target probabilities must be >= 0 and sum to 1 over the classes, got the sum {total:.6g}.")


def shown_row(row: list[float], total: float, regions: int) -> Tensor:
    """The row as far as it is known: its first values, and what is left of the sum as one more."""
    values = row[:regions]
    if regions > ROW_VALUES:
        values = [*values, total - sum(values)]
    return torch.tensor(values, dtype=torch.float64)


_records: dict[torch.device, Record] = {}


def record_of(device: torch.device) -> Record:
    """The record of ``device``, made when first asked for."""
    record = _records.get(device)
    if record is None:
        record = _records[device] = Record(device)
    return record


def check() -> None:
    """Wait for every GPU that was used; raise ``ValueError`` if a call since the last check had a bad target.

    On a GPU a label outside [0, K) makes that call's loss NaN, and the error comes from a later call, when the record
    has reached the host. Call this where waiting is no loss, as at the end of an epoch. On the CPU the error comes at
    once, and there is nothing to do here.

    >>> import sizewise as sw
    >>> sw.check()
    """
    for record in _records.values():
        if record.device.type == "cuda":
            torch.cuda.synchronize(record.device)
        if record.words[0]:
            record.raise_error()
