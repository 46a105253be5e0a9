"""The engine of a Ray cluster: each run is a task, on machines that share the study's folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sizewise.errors import import_extra
from sizewise.study.engines.engine import StudyWork

if TYPE_CHECKING:
    from sizewise.train.config import Runtime

RETRIES = 5  # of a task whose worker died: the run resumes from its last save
CORES_EACH = 1


@dataclass(frozen=True)
class Engine:
    """Carries out runs on the cluster at ``address``, or on a Ray that is started here.

    Attributes:
        address: of a Ray cluster; without one, Ray is started here.
    """

    address: str = ""

    def threads(self, runtime: "Runtime") -> int:
        """As many as Ray gives cores to a task."""
        return CORES_EACH

    def run(self, work: StudyWork) -> None:
        """Carry out the runs."""
        from sizewise.study.worker import forget_failures, note_failure

        ray: Any = import_extra("ray", extra="ray", reason="the engine ray")
        if not ray.is_initialized():
            ray.init(address=self.address or None, log_to_driver=False, include_dashboard=False)
        forget_failures(work.folder, work.runs)
        gpus = 1 if work.runtime.accelerator != "cpu" and ray.cluster_resources().get("GPU", 0) else 0
        task = ray.remote(num_cpus=CORES_EACH, num_gpus=gpus, max_retries=RETRIES)(carry_out)
        folder = str(work.folder.resolve())
        waiting = {task.remote(folder, run.name, work.runtime): run for run in work.runs}
        try:
            while waiting:
                done, _ = ray.wait(list(waiting), num_returns=1)
                run = waiting.pop(done[0])
                try:
                    ray.get(done[0])
                except ray.exceptions.RayError as error:
                    reason = f"its Ray worker died {RETRIES + 1} times: {error}"
                    note_failure(work.folder / "runs" / run.name, reason)
                work.after_run(run)
        finally:
            if not self.address:
                ray.shutdown()


def carry_out(folder: str, name: str, runtime: "Runtime") -> None:
    """One run, on whichever machine Ray chose."""
    from sizewise.study.grid import plan_runs
    from sizewise.study.study_folder import read_study
    from sizewise.study.worker import Worker

    study = Path(folder)
    worker = Worker(study)
    for run in plan_runs(read_study(study)):
        if run.name == name:
            worker.carry_out(run, runtime)
