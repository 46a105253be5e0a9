"""The engine of one machine: this process, and others that help where that is faster."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sizewise.parallel import available_cores
from sizewise.study.engines.engine import StudyWork
from sizewise.study.engines.packing import parse_jobs

if TYPE_CHECKING:
    from sizewise.train.config import Runtime


@dataclass(frozen=True)
class Engine:
    """Carries out runs in this process and, with ``jobs``, in others beside it.

    Small networks leave most of a second core idle: two runs with a core each take less time than one after the other
    with two. With "auto" this process works alone on a CPU; on a GPU, others join it as
    :mod:`sizewise.study.engines.packing` decides.

    Attributes:
        jobs: processes on this machine, or auto: 1, or up to 3 on a GPU where their memory fits.
    """

    jobs: int | str = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "jobs", parse_jobs(self.jobs))

    def threads(self, runtime: "Runtime") -> int:
        """On a CPU what is asked for, else an equal share of the cores; one process alone takes those that are free."""
        import torch

        from sizewise.train.machine import free_threads

        if runtime.accelerator != "cpu" and torch.cuda.is_available():
            return 0
        if runtime.threads:
            return runtime.threads
        return free_threads() if self.jobs in ("auto", 1) else max(1, available_cores() // int(self.jobs))

    def run(self, work: StudyWork) -> None:
        """Carry out the runs; see ``sizewise.study.engines.crew``."""
        from sizewise.study.engines.crew import Crew
        from sizewise.study.worker import forget_failures

        forget_failures(work.folder, work.runs)
        Crew(work, parse_jobs(self.jobs)).run()
