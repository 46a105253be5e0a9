"""The engine of a SLURM cluster, through submitit: an array of jobs, on machines that share the study's folder.

A job that reaches its time limit, or is preempted, is put back into the queue and goes on where its run was saved last.
"""

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sizewise.csv_files import read_whole_number
from sizewise.errors import BadInput, RunFailed, import_extra
from sizewise.study.engines.engine import StudyWork

if TYPE_CHECKING:
    from sizewise.train.config import Runtime

POLL_SECONDS = 2.0
SETTLE_SECONDS = 10.0  # after the last job has ended: a shared folder shows its files late
MOST_TIMEOUTS = 1000  # a job may be put back into the queue so often: each time the run has come further
DEFAULT_MINUTES = 24 * 60
LOGS = "slurm"  # in the study's folder


@dataclass(frozen=True)
class Engine:
    """Carries out runs as jobs of a SLURM cluster.

    Attributes:
        slurm: options of sbatch, as partition=gpu,time=240,gpus-per-node=1,cpus-per-task=8,mem=32G; time is in minutes.
        slurm_workers: jobs that take one run after another, as many as there are GPUs to use; 0: one job for each run.
        cluster: slurm, or local, which tries the same on this machine.
    """

    slurm: str = ""
    slurm_workers: int | str = 0
    cluster: str = "slurm"

    def __post_init__(self) -> None:
        parse_options(self.slurm)
        workers = str(self.slurm_workers)
        if not workers.isdecimal():
            raise BadInput(f"`slurm_workers` must be a number of at least 0, got {workers}.")
        object.__setattr__(self, "slurm_workers", int(workers))
        if self.cluster not in ("slurm", "local"):
            raise BadInput(f"`cluster` must be slurm or local, got {self.cluster!r}.")

    def threads(self, runtime: "Runtime") -> int:
        """As many as a job has cores; on a GPU as torch has them."""
        options = parse_options(self.slurm)
        if runtime.accelerator != "cpu" and any("gpu" in f"{name}={value}" for name, value in options.items()):
            return 0
        return int(options.get("cpus-per-task", "1"))

    def run(self, work: StudyWork) -> None:
        """Submit one array, and wait until its runs are finished or its jobs gone. Ctrl-C takes the jobs back."""
        from sizewise.study.study_folder import run_status
        from sizewise.study.worker import forget_failures, note_failure
        from sizewise.train.run_folder import is_finished

        submitit: Any = import_extra("submitit", extra="slurm", reason="the engine slurm")
        forget_failures(work.folder, work.runs)
        places = {run.name: work.folder / "runs" / run.name for run in work.runs}
        waiting = {run.name: run for run in work.runs if not is_finished(places[run.name], run.decisions)}
        if not waiting:
            return
        jobs = self._submit(submitit, work, list(waiting))
        ended_at: float | None = None
        try:
            while waiting:
                for name, run in list(waiting.items()):
                    if run_status(places[name], run.decisions).word in ("finished", "failed"):
                        work.after_run(waiting.pop(name))
                if waiting and all_ended(jobs, self.cluster):
                    ended_at = ended_at or time.monotonic()
                    if time.monotonic() - ended_at >= SETTLE_SECONDS:
                        break
                time.sleep(POLL_SECONDS if waiting else 0)
        except BaseException:
            for job in jobs:
                job.cancel(check=False)
            raise
        for name, run in waiting.items():
            logs = work.folder / LOGS
            places[name].mkdir(parents=True, exist_ok=True)
            note_failure(places[name], f"its job ended before it did; what it printed is in {logs}")
            work.after_run(run)

    def _submit(self, submitit: Any, work: StudyWork, names: list[str]) -> list[Any]:
        """One array of jobs: a run each, or workers that begin at different runs."""
        options = parse_options(self.slurm)
        minutes = int(options.pop("time", str(DEFAULT_MINUTES)))
        logs = work.folder.resolve() / LOGS
        number = int(self.slurm_workers)
        shares = [[*names[first:], *names[:first]] for first in range(min(number, len(names)))] or [[n] for n in names]
        tasks = [RunTask(str(work.folder.resolve()), share, work.runtime) for share in shares]
        try:
            executor = submitit.AutoExecutor(
                folder=logs, cluster=self.cluster, **{f"{self.cluster}_max_num_timeout": MOST_TIMEOUTS}
            )
            executor.update_parameters(timeout_min=minutes, name="sizewise", tasks_per_node=1, nodes=1)
            if self.cluster == "slurm":
                executor.update_parameters(slurm_additional_parameters=dict(options))
            with executor.batch():
                jobs = [executor.submit(task) for task in tasks]
        except (RuntimeError, OSError, submitit.core.utils.FailedJobError) as error:
            raise RunFailed(
                f"SLURM did not take the jobs: {str(error).strip()} Check the options in `slurm`."
            ) from error
        return jobs


class RunTask:
    """What a job does: its runs one after another, those that others have or had passed over."""

    def __init__(self, folder: str, names: Sequence[str], runtime: "Runtime") -> None:
        self.folder, self.names, self.runtime = folder, list(names), runtime

    def __call__(self) -> None:
        """On whichever machine SLURM chose."""
        from sizewise.study.grid import plan_runs
        from sizewise.study.study_folder import read_study
        from sizewise.study.worker import Worker

        study = Path(self.folder)
        worker, runs = Worker(study), {run.name: run for run in plan_runs(read_study(study))}
        for name in self.names:
            worker.carry_out(runs[name], self.runtime)

    def checkpoint(self) -> Any:
        """Called by submitit before a job goes back into the queue: the same again, from what the runs have saved."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


def all_ended(jobs: Sequence[Any], cluster: str) -> bool:
    """Whether none of the jobs runs or waits any more."""
    left = [job for job in jobs if not job.paths.result_pickle.exists()]
    if not left:
        return True
    if cluster != "slurm":
        return all(job.done() for job in left)
    names = ",".join(sorted({str(job.job_id) for job in left}))
    try:  # sacct, which submitit asks, is not there on every cluster
        asked = subprocess.run(["squeue", "-h", "-j", names], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    if asked.returncode:  # it forgets jobs some minutes after their end
        return "Invalid job id" in asked.stderr
    return not asked.stdout.strip()


def parse_options(text: str) -> dict[str, str]:
    """Options of sbatch by name; raises BadInput where one has no value.

    >>> parse_options("partition=gpu,cpus_per_task=4")
    {'partition': 'gpu', 'cpus-per-task': '4'}
    """
    options = {}
    for word in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = word.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise BadInput(f"`slurm` must be options as partition=gpu,time=240, got {word!r}.")
        options[name.strip().lstrip("-").replace("_", "-")] = value.strip()
    for name in ("time", "cpus-per-task"):
        if name in options and not read_whole_number(options[name], largest=10**9):
            unit = " of minutes" if name == "time" else ""
            raise BadInput(f"`slurm`: {name} must be a whole number{unit} above 0, got {options[name]!r:.80}.")
    return options
