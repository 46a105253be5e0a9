"""A study as jobs: with submitit's own executor of this machine, and the sentences for what is no option.

``test_real_slurm.py`` has a real SLURM.
"""

import os
import signal
from pathlib import Path

import pytest
import torch
from sampling import EXHAUSTIVE
from study.tiny_study import SETTINGS, tiny_study

from sizewise.errors import BadInput
from sizewise.study.compare import compare
from sizewise.study.engines.engine import make_engine
from sizewise.study.engines.slurm_engine import parse_options
from sizewise.study.study_words import parse_study
from sizewise.train.config import Runtime

submitit = pytest.importorskip("submitit", reason="submitit is not installed: pip install '.[slurm]'")
TESTS = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"slurm": "partition"}, "`slurm` must be options as partition=gpu,time=240, got 'partition'"),
        ({"slurm": "time=long"}, "time must be a whole number of minutes above 0, got 'long'"),
        ({"slurm_workers": "-1"}, "`slurm_workers` must be a number of at least 0, got -1"),
        ({"cluster": "lsf"}, "`cluster` must be slurm or local, got 'lsf'"),
    ],
)
def test_what_is_no_option(options, said):
    with pytest.raises(BadInput, match=said):
        make_engine("slurm", options)


def test_threads_are_the_cores_of_a_job():
    cpu = Runtime(accelerator="cpu")
    assert make_engine("slurm", {}).threads(cpu) == 1
    assert make_engine("slurm", {"slurm": "cpus_per_task=4"}).threads(cpu) == 4
    assert make_engine("slurm", {"slurm": "gres=gpu:1,cpus-per-task=4"}).threads(Runtime()) == 0
    assert parse_options("--mem=4G, qos=high") == {"mem": "4G", "qos": "high"}


def study_by_jobs(folder, **options):
    config = parse_study({"data": "synthetic", "losses": "CE", "seeds": "2", "settings": SETTINGS})
    runtime = Runtime(accelerator="cpu", save_seconds=0)
    engine = make_engine("slurm", {"cluster": "local", **options})
    return compare(config, folder=folder, command="sizewise compare", runtime=runtime, engine=engine)


def task_process(job):
    """The process that trains: the child of submitit's controller, whose pid is the job's name."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            if parent == int(job.job_id):
                return int(entry.name)
    return None


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of submitit
@pytest.mark.parametrize(
    "workers",
    [pytest.param(0, marks=pytest.mark.skipif(not EXHAUSTIVE, reason="40 s: with SIZEWISE_EXHAUSTIVE=1")), 1],
)
def test_a_job_that_is_preempted_goes_on_and_ends_with_the_same_bits(tmp_path, monkeypatch, workers):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    from sizewise.study.engines import slurm_engine

    monkeypatch.setattr(slurm_engine, "POLL_SECONDS", 0.05)
    seen = []
    original = slurm_engine.all_ended

    def preempting(jobs, cluster):
        """The first job gets the signal of a time limit once it has saved something."""
        if not seen and list((tmp_path / "jobs").glob("runs/*/last.pt")):
            for job in jobs:
                process = task_process(job)
                if process is not None and not job.done():
                    os.kill(process, signal.SIGUSR2)
                    seen.append(process)
                    break
        return original(jobs, cluster)

    monkeypatch.setattr(slurm_engine, "all_ended", preempting)
    assert study_by_jobs(tmp_path / "jobs", slurm_workers=workers, slurm="time=5") == ([], [])
    tiny_study(tmp_path / "whole", losses="CE", seeds="2")
    assert (tmp_path / "jobs" / "results.csv").read_bytes() == (tmp_path / "whole" / "results.csv").read_bytes()
    logs = "".join(file.read_text() for file in (tmp_path / "jobs" / "slurm").glob("*_log.*"))
    if seen:  # a job may have been done before the look
        assert "Caught signal SIGUSR2" in logs


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_job_that_dies_is_a_failed_run_with_a_reason(tmp_path, monkeypatch):
    from sizewise.study.engines import slurm_engine

    class Dying(slurm_engine.RunTask):
        def __call__(self):
            os.kill(os.getpid(), signal.SIGKILL)

    Dying.__module__ = __name__
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setattr(slurm_engine, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(slurm_engine, "SETTLE_SECONDS", 0.2)
    monkeypatch.setattr(slurm_engine, "RunTask", Dying)
    torch.set_num_threads(1)
    outcome = study_by_jobs(tmp_path / "jobs", slurm="time=1")
    assert len(outcome.failed) == 2
    reasons = [file.read_text() for file in (tmp_path / "jobs").glob("runs/*/failed.json")]
    assert all("its job ended before it did" in reason for reason in reasons)


def test_without_slurm_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    from sizewise.errors import RunFailed

    config = parse_study({"data": "synthetic", "losses": "CE", "seeds": "1", "settings": SETTINGS})
    with pytest.raises(RunFailed, match="SLURM did not take the jobs"):
        compare(config, folder=tmp_path / "s", runtime=Runtime(accelerator="cpu"), engine=make_engine("slurm", {}))
