"""The Ray engine: each run is a task of a cluster whose machines share the study's folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sizewise.errors import import_extra
from sizewise.study.folder import read_study
from sizewise.study.grid import PlannedRun, plan_runs
from sizewise.study.worker import forget_failures, note_failure, work
from sizewise.train.config import Runtime

RETRIES = 5  # of a task whose worker died: the run resumes from its last save


def run_ray(
    folder: Path,
    runs: list[PlannedRun],
    *,
    runtime: Runtime,
    address: str = "",
    after_run: Callable[[PlannedRun], None],
) -> None:
    """Carry out the runs on the cluster at ``address``, or on a Ray that is started here."""
    ray: Any = import_extra("ray", extra="ray", reason="the engine ray")
    if not ray.is_initialized():
        ray.init(address=address or None, log_to_driver=False, include_dashboard=False)
    forget_failures(folder, runs)
    gpus = 1 if runtime.accelerator != "cpu" and ray.cluster_resources().get("GPU", 0) else 0
    task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)(carry_out)
    waiting = {task.remote(str(folder.resolve()), run.name, runtime): run for run in runs}
    try:
        while waiting:
            done, _ = ray.wait(list(waiting), num_returns=1)
            run = waiting.pop(done[0])
            try:
                ray.get(done[0])
            except ray.exceptions.RayError as error:
                note_failure(folder / "runs" / run.name, f"its Ray worker died {RETRIES + 1} times: {error}")
            after_run(run)
    finally:
        if not address:
            ray.shutdown()


def carry_out(folder: str, name: str, runtime: Runtime) -> None:
    """One run, on whichever machine Ray chose."""
    study = Path(folder)
    runs = [run for run in plan_runs(read_study(study)) if run.name == name]
    work(study, runs, runtime=runtime)
