"""What ``sizewise compare`` does: plan, run what is missing, join the results, report."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from sizewise.checks import check_word
from sizewise.errors import BadInput
from sizewise.study.config import StudyConfig
from sizewise.study.folder import open_study, run_state, write_groups, write_results
from sizewise.study.grid import PlannedRun, plan_runs
from sizewise.study.packing import parse_jobs
from sizewise.study.screen import Screen
from sizewise.train.config import Runtime

ENGINES = ("local", "ray")


class Outcome(NamedTuple):
    """The runs that did not end well here: those that failed, and those that another process is still working on."""

    failed: list[PlannedRun]
    elsewhere: list[PlannedRun]


def compare(
    config: StudyConfig,
    *,
    folder: Path,
    command: str,
    runtime: Runtime | None = None,
    engine: str = "local",
    jobs: int | str = "auto",
    address: str = "",
) -> Outcome:
    """Carry out a study, or what is missing of it, and join the results.

    Args:
        config: what to compare.
        folder: the study folder; a study there is added to.
        command: the command line, for the report.
        runtime: where and how each run is carried out.
        engine: "local" or "ray".
        jobs: processes of the local engine; "auto": one on a CPU, up to three on a GPU, where their memory fits.
        address: of a Ray cluster; empty: Ray is started here.
    """
    try:
        check_word("compare", "`engine`", engine, ENGINES)
    except ValueError as error:
        raise BadInput(str(error)) from error
    wanted = parse_jobs(jobs)
    runs = plan_runs(config)  # wrong input is found before anything is written
    config = open_study(folder, config, command=command)
    runs = plan_runs(config)
    runtime = runtime or Runtime()
    with Screen(folder, runs) as screen:
        start: Callable[..., None]
        if engine == "ray":
            from sizewise.study.ray_engine import run_ray

            start = partial(run_ray, address=address)
        else:
            from sizewise.study.local import run_local

            start = partial(run_local, jobs=wanted)
        try:
            start(folder, runs, runtime=runtime, after_run=screen.after_run)
        except KeyboardInterrupt:
            print(f"{folder} keeps what was done. Give the same command again to go on.", file=sys.stderr)
            raise
    words = {run.name: run_state(folder / "runs" / run.name).word for run in runs}
    failed = [run for run in runs if words[run.name] == "failed"]
    elsewhere = [run for run in runs if words[run.name] in ("begun", "waiting")]
    if "finished" in words.values() or not elsewhere:
        write_results(folder, runs)
        write_groups(folder, runs)
    return Outcome(failed, elsewhere)
