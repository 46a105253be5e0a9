"""How many processes carry out a study, and when another one is worth starting: decided from numbers alone.

A run that trains keeps its GPU busy. Between runs, and while it reads, captures, validates and scores, the GPU waits
for the host. Two or three processes on one GPU hide one run's waits behind another's steps; the steps themselves gain
nothing. So another process starts when its memory is sure to fit, and when what is left takes longer than its start.
"""

from dataclasses import dataclass
from typing import Literal

from sizewise.csv_files import read_whole_number
from sizewise.errors import BadInput
from sizewise.parallel import LARGEST_JOBS

Jobs = int | Literal["auto"]

MOST_PER_GPU = 3  # two hide nearly all of each other's waits, three all
CORES_EACH = 2  # one launches kernels, one decodes and scores
MEMORY_FACTOR = 1.5  # what must be free, in units of what one process takes: its peak may come later
STARTING_SECONDS = 30.0  # importing, reading the data and capturing take about half of it


@dataclass(frozen=True)
class Memory:
    """Of a GPU, or of the host, in bytes.

    Attributes:
        free: nobody has it now.
        total: all that the study's processes could have.
        one: what one of them takes.
    """

    free: int
    total: int
    one: int


@dataclass(frozen=True)
class Moment:
    """What is known when the question is asked.

    Attributes:
        cores: that this process may use.
        workers: processes that carry out runs on each GPU, this one included.
        unfinished: runs that are neither finished nor failed.
        seconds_left: that they would take as things are; None while no pace is known.
    """

    cores: int
    workers: tuple[int, ...]
    unfinished: int
    seconds_left: float | None


def parse_jobs(jobs: int | str) -> Jobs:
    """A number of processes, or "auto".

    >>> parse_jobs("auto"), parse_jobs("2")
    ('auto', 2)
    """
    text = str(jobs).strip().lower()
    if text == "auto":
        return "auto"
    number = read_whole_number(text, largest=LARGEST_JOBS)
    if not number:
        raise BadInput(f"`jobs` must be auto or a number from 1 to {LARGEST_JOBS}, got {text:.80}.")
    return number


def gpu_for_another(moment: Moment) -> int | None:
    """The GPU that another process would go to, if its memory allows; None: no other process is worth starting.

    A GPU that has none gets one at once. One that is at work gets another when the pace of its runs is known.

    >>> gpu_for_another(Moment(cores=16, workers=(1,), unfinished=9, seconds_left=600.0))
    0
    >>> gpu_for_another(Moment(cores=16, workers=(1, 0), unfinished=9, seconds_left=None))
    1
    >>> gpu_for_another(Moment(cores=16, workers=(1,), unfinished=1, seconds_left=600.0))  # its process has it
    """
    if not moment.workers or sum(moment.workers) >= min(moment.unfinished, moment.cores // CORES_EACH):
        return None
    gpu = min(range(len(moment.workers)), key=lambda index: moment.workers[index])
    if moment.workers[gpu] == 0:
        return gpu
    if moment.workers[gpu] >= MOST_PER_GPU or moment.seconds_left is None or moment.seconds_left < STARTING_SECONDS:
        return None
    return gpu


def fits(memory: Memory, *, workers: int) -> bool:
    """Whether one more process fits beside ``workers`` alike ones, with room for a later peak.

    A process that has just been started does not hold yet what it will: all are taken as alike.

    >>> gib = 2**30
    >>> fits(Memory(free=90 * gib, total=140 * gib, one=50 * gib), workers=1)
    True
    >>> fits(Memory(free=90 * gib, total=140 * gib, one=50 * gib), workers=2)  # one of the two is still starting
    False
    """
    left = min(memory.free, memory.total - workers * memory.one)
    return left >= MEMORY_FACTOR * memory.one
