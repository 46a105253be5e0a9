"""What ``sizewise compare`` does: plan, run what is missing, join the results, report."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sizewise.checks import check_word
from sizewise.errors import BadInput
from sizewise.study.config import StudyConfig
from sizewise.study.folder import open_study, run_state, write_groups, write_results
from sizewise.study.grid import PlannedRun, plan_runs
from sizewise.study.screen import Screen
from sizewise.train.config import Runtime

ENGINES = ("local", "ray")


def compare(
    config: StudyConfig,
    *,
    folder: Path,
    command: str,
    runtime: Runtime | None = None,
    engine: str = "local",
    jobs: int = 1,
    address: str = "",
) -> list[PlannedRun]:
    """Carry out a study, or what is missing of it; returns the runs that failed.

    Args:
        config: what to compare.
        folder: the study folder; a study there is added to.
        command: the command line, for the report.
        runtime: where and how each run is carried out.
        engine: "local" or "ray".
        jobs: processes of the local engine.
        address: of a Ray cluster; empty: Ray is started here.
    """
    try:
        check_word("compare", "--engine", engine, ENGINES)
    except ValueError as error:
        raise BadInput(str(error)) from error
    if jobs < 1:
        raise BadInput(f"--jobs must be at least 1, got {jobs}.")
    runs = plan_runs(config)  # wrong input is found before anything is written
    config = open_study(folder, config, command=command)
    runs = plan_runs(config)
    runtime = runtime or Runtime()
    with Screen(folder, runs, jobs=jobs) as screen:
        start: Callable[..., None]
        if engine == "ray":
            from sizewise.study.ray_engine import run_ray

            start = partial(run_ray, address=address)
        else:
            from sizewise.study.local import run_local

            start = partial(run_local, jobs=jobs)
        try:
            start(folder, runs, runtime=runtime, after_run=screen.after_run)
        except KeyboardInterrupt:
            print(f"{folder} keeps what was done. Give the same command again to go on.", file=sys.stderr)
            raise
    write_results(folder, runs)
    write_groups(folder, runs)
    return [run for run in runs if run_state(folder / "runs" / run.name).word != "finished"]
