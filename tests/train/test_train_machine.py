"""Device, precision, processes."""

import logging
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from sizewise.errors import BadInput
from sizewise.train.config import RunConfig, Runtime
from sizewise.train.machine import cpu_threads, ending_together, free_threads, make_fabric, settle_precision

CONFIG = RunConfig(data="synthetic")
CPU = Runtime(accelerator="cpu")


def test_the_cpu_is_float32_unless_told_otherwise():
    assert settle_precision(CONFIG, CPU).precision == "float32"
    assert settle_precision(replace(CONFIG, precision="bfloat16"), CPU).precision == "bfloat16"
    fabric = make_fabric(CONFIG, CPU)
    assert fabric.device == torch.device("cpu")
    with make_fabric(replace(CONFIG, precision="bfloat16"), CPU).autocast():
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16
    assert logging.getLogger("lightning_fabric").level == logging.WARNING


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu_here():
    with pytest.raises(
        BadInput, match=r"`accelerator=cuda` was asked for, but torch finds no CUDA GPU here. Use `accelerator=cpu`"
    ):
        make_fabric(CONFIG, Runtime(accelerator="cuda"))


@pytest.mark.parametrize(
    ("runtime", "message"),
    [
        ({"accelerator": "gpu"}, "`accelerator` must be auto, cpu or cuda, got 'gpu'"),
        ({"devices": 0}, "`devices` and `nodes` must be at least 1"),
        ({"devices": 3}, "`batch_size=8` is shared by 3 devices; make it a multiple"),
        ({"nodes": 2}, "`nodes=2`: start the command on each machine with torchrun"),
        ({"workers": -1}, "`workers` at least 0"),
    ],
)
def test_machines_that_make_no_sense(runtime, message, monkeypatch):
    for name in ("MASTER_ADDR", "SLURM_NTASKS", "TORCHELASTIC_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(BadInput, match=message):
        make_fabric(CONFIG, replace(CPU, **runtime))


@pytest.mark.parametrize("tasks", ["4", "four"])
def test_a_single_process_in_a_job_of_several_tasks_is_one_process(monkeypatch, tasks):
    """As where sbatch got --ntasks=4 for the cores, and the command stands in the script without srun."""
    monkeypatch.setenv("SLURM_NTASKS", tasks)
    monkeypatch.setenv("SLURM_PROCID", "0")
    fabric = make_fabric(CONFIG, CPU)
    assert (fabric.world_size, fabric.is_global_zero) == (1, True)


def test_processes_that_do_not_fit_the_tasks_of_a_job_get_a_sentence(monkeypatch):
    monkeypatch.setenv("SLURM_NTASKS", "4")
    monkeypatch.delenv("SLURM_NTASKS_PER_NODE", raising=False)
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    with pytest.raises(BadInput, match=r"`devices=2` and `nodes=1` do not fit the tasks of this SLURM job: You set"):
        make_fabric(CONFIG, replace(CPU, devices=2))


def test_a_failure_of_the_first_process_ends_those_it_started():
    killed = []
    processes = [SimpleNamespace(kill=lambda: killed.append(1)) for _ in range(3)]
    fabric = SimpleNamespace(strategy=SimpleNamespace(launcher=SimpleNamespace(procs=processes)))
    with ending_together(fabric):
        pass
    assert not killed
    with pytest.raises(KeyboardInterrupt), ending_together(fabric):
        raise KeyboardInterrupt
    assert killed == [1, 1, 1]
    alone = SimpleNamespace(strategy=SimpleNamespace(launcher=None))
    with pytest.raises(BadInput), ending_together(alone):
        raise BadInput("x")


@pytest.mark.parametrize(("load", "threads"), [(0.0, 4), (1.0, 3), (3.6, 1), (40.0, 1)])
def test_threads_are_the_cores_that_others_leave_free(monkeypatch, load, threads):
    """Four cores, all of them ours: a load of 1 leaves three."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    monkeypatch.setattr("sizewise.train.machine.available_cores", lambda: 4)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    assert free_threads() == threads
    monkeypatch.setattr("os.cpu_count", lambda: 64)  # a part of a large machine that has much to do
    assert free_threads() >= threads
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert free_threads() == 4


@pytest.mark.parametrize("threads", [-1, 100_000_000])
def test_a_number_of_threads_that_no_machine_has(threads):
    with pytest.raises(BadInput, match=f"`threads` must be from 0 to 1024, got {threads}"):
        make_fabric(RunConfig(data="synthetic"), Runtime(accelerator="cpu", threads=threads))
    with pytest.raises(BadInput, match="`threads` must be"), cpu_threads(threads):
        pass


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_seconds_between_saves(seconds):
    with pytest.raises(BadInput, match=f"`save_seconds` must be at least 0, got {seconds:g}"):
        make_fabric(RunConfig(data="synthetic"), Runtime(accelerator="cpu", save_seconds=seconds))
