"""Where a run is carried out: device, precision, processes."""

import contextlib
import logging
import os
import warnings
from collections.abc import Iterator
from dataclasses import replace

import torch
from lightning_fabric import Fabric
from lightning_fabric.plugins import MixedPrecision, Precision
from lightning_fabric.plugins.environments import ClusterEnvironment, LightningEnvironment

from sizewise.errors import BadInput
from sizewise.parallel import available_cores
from sizewise.train.config import RunConfig, Runtime

LARGEST_THREADS = 1024  # beyond, OpenMP ends the program


def settle_precision(config: RunConfig, runtime: Runtime) -> RunConfig:
    """The settings with "auto" replaced by what the device has.

    >>> settle_precision(RunConfig(data="synthetic"), Runtime(accelerator="cpu")).precision
    'float32'
    """
    if config.precision != "auto":
        return config
    has_bfloat16 = _accelerator(runtime) == "cuda" and torch.cuda.is_bf16_supported()
    return replace(config, precision="bfloat16" if has_bfloat16 else "float32")


def make_fabric(config: RunConfig, runtime: Runtime) -> Fabric:
    """Device, precision and processes. Those that ``torchrun`` started are taken as they are; else they start here."""
    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # it tells users which precision they asked for
    runtime = _as_launched(runtime)
    accelerator = _accelerator(runtime)
    _check(config, runtime, accelerator)
    if runtime.deterministic:
        _be_deterministic()
    elif accelerator == "cuda":
        torch.backends.cudnn.benchmark = True
        torch.set_float32_matmul_precision("high")
    with warnings.catch_warnings():  # on a cluster's machines it advises srun, which a single run does not need
        warnings.filterwarnings("ignore", message="The `srun` command is available")
        try:
            fabric = Fabric(
                accelerator=accelerator,
                devices=runtime.devices,
                num_nodes=runtime.nodes,
                plugins=[_precision(settle_precision(config, runtime).precision, accelerator), *_surroundings(runtime)],
            )
        except (RuntimeError, ValueError) as error:
            if "SLURM_NTASKS" not in os.environ:
                raise
            asked = f"`devices={runtime.devices}` and `nodes={runtime.nodes}`"
            raise BadInput(f"{asked} do not fit the tasks of this SLURM job: {error}") from error
    fabric.launch()
    return fabric


def _surroundings(runtime: Runtime) -> list[ClusterEnvironment]:
    """One process is one process wherever it runs: in a job of several tasks Fabric would look for the others."""
    alone = runtime.devices * runtime.nodes == 1 and "TORCHELASTIC_RUN_ID" not in os.environ
    return [LightningEnvironment()] if alone else []


def _precision(word: str, accelerator: str) -> Precision:
    if word == "float32":
        return Precision()
    return MixedPrecision("bf16-mixed" if word == "bfloat16" else "16-mixed", accelerator)  # the latter scales the loss


@contextlib.contextmanager
def cpu_threads(threads: int) -> Iterator[None]:
    """Torch with so many threads within the block; 0: as it has them. Sums on a CPU depend on their number.

    >>> with cpu_threads(1):
    ...     torch.get_num_threads()
    1
    """
    check_threads(threads)
    before = torch.get_num_threads()
    if threads:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def check_threads(threads: int) -> None:
    """Refuse a number that torch would not take, or would end the program at."""
    if not 0 <= threads <= LARGEST_THREADS:
        raise BadInput(f"`threads` must be from 0 to {LARGEST_THREADS}, got {threads}.")


def free_threads() -> int:
    """CPU threads for what starts now: torch's own number, but no more than the cores that other programs leave free.

    Threads wait for each other at the end of every operation, so one that has no core of its own holds up all.
    ``OMP_NUM_THREADS``, where it is set, is the user's word.

    >>> 1 <= free_threads() <= torch.get_num_threads()
    True
    """
    usual = torch.get_num_threads()
    if "OMP_NUM_THREADS" in os.environ or not hasattr(os, "getloadavg"):
        return usual
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)  # of the whole machine, of which this process may have a part
    return max(1, min(usual, round(available_cores() * (1 - busy))))


@contextlib.contextmanager
def ending_together(fabric: Fabric) -> Iterator[None]:
    """When the first process fails, those that it started end too: else they would wait for it in a collective."""
    try:
        yield
    except BaseException:
        for process in getattr(fabric.strategy.launcher, "procs", ()):
            process.kill()
        raise


def _accelerator(runtime: Runtime) -> str:
    if runtime.accelerator not in ("auto", "cpu", "cuda"):
        raise BadInput(f"`accelerator` must be auto, cpu or cuda, got {runtime.accelerator!r}.")
    if runtime.accelerator == "cuda" and not torch.cuda.is_available():
        raise BadInput("`accelerator=cuda` was asked for, but torch finds no CUDA GPU here. Use `accelerator=cpu`.")
    return "cuda" if runtime.accelerator != "cpu" and torch.cuda.is_available() else "cpu"


def _as_launched(runtime: Runtime) -> Runtime:
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return runtime
    return replace(
        runtime, devices=int(os.environ["LOCAL_WORLD_SIZE"]), nodes=int(os.environ.get("GROUP_WORLD_SIZE", "1"))
    )


def _check(config: RunConfig, runtime: Runtime, accelerator: str) -> None:
    check_threads(runtime.threads)
    if not runtime.save_seconds >= 0:  # also where it is no number
        raise BadInput(f"`save_seconds` must be at least 0, got {runtime.save_seconds:g}.")
    if runtime.compile not in ("auto", "on", "off"):
        raise BadInput(f"`compile` must be auto, on or off, got {runtime.compile!r}.")
    if runtime.compile == "on" and runtime.devices * runtime.nodes > 1:
        raise BadInput("`compile=on` is for one device. Ask for one, or leave it out to train uncompiled on several.")
    if min(runtime.devices, runtime.nodes) < 1 or runtime.workers < 0:
        raise BadInput(
            f"`devices` and `nodes` must be at least 1 and `workers` at least 0, got {runtime.devices}, "
            f"{runtime.nodes} and {runtime.workers}."
        )
    if accelerator == "cuda" and runtime.devices > torch.cuda.device_count():
        raise BadInput(f"`devices={runtime.devices}`, but this machine has {torch.cuda.device_count()} GPUs.")
    if runtime.nodes > 1 and not {"TORCHELASTIC_RUN_ID", "SLURM_NTASKS", "MASTER_ADDR"} & set(os.environ):
        raise BadInput(
            f"`nodes={runtime.nodes}`: start the command on each machine with torchrun, which tells them of each other."
        )
    ranks = runtime.devices * runtime.nodes
    if config.batch_size % ranks:
        raise BadInput(f"`batch_size={config.batch_size}` is shared by {ranks} devices; make it a multiple.")


def _be_deterministic() -> None:
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
