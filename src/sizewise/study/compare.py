"""A study: plan, run what is missing, join the results."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from sizewise.study.engines.engine import Engine, StudyWork, make_engine
from sizewise.study.grid import PlannedRun, plan_runs
from sizewise.study.outlook import Outlook, look_ahead
from sizewise.study.screen import Screen
from sizewise.study.study_config import StudyConfig
from sizewise.study.study_folder import open_study, read_study, run_status, study_threads, write_groups, write_results
from sizewise.train.config import Runtime
from sizewise.train.datasets import OpenDatasets
from sizewise.train.run_folder import is_finished


class Outcome(NamedTuple):
    """The runs that did not end well here: those that failed, and those that another process is still working on."""

    failed: list[PlannedRun]
    elsewhere: list[PlannedRun]


def compare(
    config: StudyConfig,
    *,
    folder: Path,
    command: str = "",
    runtime: Runtime | None = None,
    engine: Engine | None = None,
    datasets: OpenDatasets | None = None,
) -> Outcome:
    """Carry out a study, or what is missing of it, and join the results.

    Args:
        config: what to compare.
        folder: the study folder; a study there is added to.
        command: the command line, for the report.
        runtime: where and how each run is carried out.
        engine: what carries out the runs; None: this machine. See ``sizewise.study.engines``.
        datasets: those that are open already.
    """
    runtime, engine, datasets = runtime or Runtime(), engine or make_engine("local", {}), datasets or OpenDatasets()
    runs = plan_runs(config, datasets)  # wrong input is found before anything is written
    study = open_study(folder, config, command=command, threads=engine.threads(runtime))
    runs = runs if study.has_runs_of(config) else plan_runs(study, datasets)
    runtime = replace(runtime, threads=study_threads(folder))
    with Screen(folder, runs) as screen:
        try:
            engine.run(StudyWork(folder, runs, runtime, screen.after_run))
        except KeyboardInterrupt:
            print(f"{folder} keeps what was done. Give the same command again to go on.", file=sys.stderr)
            _join(folder, runs)  # a report of what is there can be made meanwhile
            raise
    words = {run.name: run_status(folder / "runs" / run.name, run.decisions).word for run in runs}
    failed = [run for run in runs if words[run.name] == "failed"]
    elsewhere = [run for run in runs if words[run.name] in ("begun", "waiting")]
    now = read_study(folder)  # another process may have added to it meanwhile
    _join(folder, runs if now.has_runs_of(study) else plan_runs(now, datasets))
    return Outcome(failed, elsewhere)


def outlook(
    config: StudyConfig, *, folder: Path, datasets: OpenDatasets | None = None, timed_on: Runtime | None = None
) -> list[Outlook]:
    """What the study, with what ``folder`` holds of it already, can show; nothing is written.

    Args:
        config: the study.
        folder: where it is, or will be.
        datasets: those that are open already.
        timed_on: where a few steps are timed, to say how long it will take; None: nowhere.
    """
    if (folder / "study.json").exists():
        config = read_study(folder).joined(config)
    return look_ahead(plan_runs(config, datasets), folder, timed_on=timed_on)


def _join(folder: Path, runs: list[PlannedRun]) -> None:
    """Write the tables of the runs that are finished as one; where none is there is nothing to write."""
    if any(is_finished(folder / "runs" / run.name) for run in runs):
        write_results(folder, runs)
        write_groups(folder, runs)
