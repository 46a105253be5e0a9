"""A study on a real SLURM of one machine: an array of jobs, one of them preempted, and the same bits as without."""

import os
import subprocess
from pathlib import Path

import pytest
from sampling import EXHAUSTIVE
from study.engines.real_slurm import running_slurm, why_not
from study.tiny_study import SETTINGS, tiny_study

from sizewise.errors import RunFailed
from sizewise.study.compare import compare
from sizewise.study.engines import slurm_engine
from sizewise.study.engines.engine import make_engine
from sizewise.study.study_words import parse_study
from sizewise.train.config import Runtime

pytest.importorskip("submitit", reason="submitit is not installed: pip install '.[slurm]'")
TESTS = Path(__file__).parents[2]
if not EXHAUSTIVE:
    pytest.skip("a SLURM is started: with SIZEWISE_EXHAUSTIVE=1", allow_module_level=True)
if why_not():
    pytest.skip(why_not(), allow_module_level=True)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    try:
        with running_slurm(tmp_path_factory.mktemp("slurm")) as environment:
            yield environment
    except RuntimeError as error:
        pytest.skip(str(error))


def run_study(folder, options):
    config = parse_study({"data": "synthetic", "losses": "CE", "seeds": "2", "settings": SETTINGS})
    runtime = Runtime(accelerator="cpu", save_seconds=0)
    return compare(config, folder=folder, runtime=runtime, engine=make_engine("slurm", options))


@pytest.mark.filterwarnings("ignore")  # of submitit
def test_an_array_one_of_whose_jobs_is_preempted(slurm, tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", slurm["SLURM_CONF"])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setattr(slurm_engine, "POLL_SECONDS", 0.2)
    sent = []
    original = slurm_engine.all_ended

    def preempting(jobs, cluster):
        """The first job whose run has saved something gets the signal of its time limit."""
        begun = [file.parent for file in (tmp_path / "study").glob("runs/*/last.pt")]
        if begun and not sent:
            for job in jobs:
                done = subprocess.run(["scancel", "--signal=USR2", str(job.job_id)], capture_output=True, text=True)
                if not done.returncode and not done.stderr:
                    sent.append(str(job.job_id))
                    break
        return original(jobs, cluster)

    monkeypatch.setattr(slurm_engine, "all_ended", preempting)
    assert run_study(tmp_path / "study", {"slurm": "partition=test,time=10,cpus-per-task=1"}) == ([], [])
    logs = "".join(file.read_text() for file in (tmp_path / "study" / "slurm").glob("*_log.*"))
    assert sent
    assert "Caught signal SIGUSR2" in logs
    assert "Requeued" in logs
    tiny_study(tmp_path / "whole", losses="CE", seeds="2")
    assert (tmp_path / "study" / "results.csv").read_bytes() == (tmp_path / "whole" / "results.csv").read_bytes()


@pytest.mark.filterwarnings("ignore")
def test_workers_take_one_run_after_another(slurm, tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", slurm["SLURM_CONF"])
    monkeypatch.setattr(slurm_engine, "POLL_SECONDS", 0.2)
    assert run_study(tmp_path / "study", {"slurm": "partition=test,time=10", "slurm_workers": 1}) == ([], [])
    assert len(list((tmp_path / "study" / "slurm").glob("*_submitted.pkl"))) == 1


@pytest.mark.filterwarnings("ignore")
def test_options_that_slurm_refuses_are_a_sentence(slurm, tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", slurm["SLURM_CONF"])
    with pytest.raises(RunFailed, match=r"SLURM did not take the jobs.*invalid partition"):
        run_study(tmp_path / "study", {"slurm": "partition=nowhere"})
