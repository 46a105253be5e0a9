"""A machine that has srun, as every one of a cluster: a run that does not need it is not told about it."""

from train.tiny_runs import CPU

from sizewise.train.config import RunConfig
from sizewise.train.machine import make_fabric


def test_no_advice_about_srun(tmp_path, monkeypatch, recwarn):
    (tmp_path / "srun").write_text("#!/bin/sh\n")
    (tmp_path / "srun").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    make_fabric(RunConfig(data="synthetic"), CPU)
    assert [str(one.message) for one in recwarn] == []
