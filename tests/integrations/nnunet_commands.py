"""Runs nnU-Net's own commands, one after another in one process: ``nnunet_commands.py '[["nnUNetv2_train", …], …]'``.

A process of its own, because nnU-Net reads some of its environment on import; one for all, because the imports take
seconds. For the same reason its worker processes are forked from one that has imported everything, not spawned.
"""

import json
import multiprocessing
import sys
from importlib.metadata import entry_points
from pathlib import Path
from time import perf_counter

import nnunet_imports  # noqa: F401  what the commands and their workers need
import torch


def make_network_small() -> None:
    """``make_network_small PLANS``: edit the plans, as users do; the planned network is slow without a GPU."""
    path = Path(sys.argv[1])
    plans = json.loads(path.read_text())
    plans["configurations"]["3d_fullres"]["architecture"]["arch_kwargs"]["features_per_stage"] = [4, 8, 8, 8]
    path.write_text(json.dumps(plans))


def draw_fewer_voxels() -> None:
    """For the intensity statistics of its plans nnU-Net draws 10⁸ voxels with replacement; ours have 2·10⁵."""
    from nnunetv2.experiment_planning.dataset_fingerprint.fingerprint_extractor import DatasetFingerprintExtractor

    extractor = DatasetFingerprintExtractor.__init__

    def init(self, *arguments, **options) -> None:
        extractor(self, *arguments, **options)
        self.num_foreground_voxels_for_intensitystats = 1e5

    DatasetFingerprintExtractor.__init__ = init


def set_threads_once() -> None:
    """For a GPU, training and prediction each set torch's inter-op threads to 1, which torch allows once a process."""
    torch.set_num_interop_threads(1)
    torch.set_num_interop_threads = lambda number: None


def run(line: list[str]) -> None:
    start = perf_counter()
    sys.argv = line
    if line[0] == "make_network_small":
        make_network_small()
    else:
        next(entry for entry in entry_points(group="console_scripts") if entry.name == line[0]).load()()
    print(f"{line[0]} took {perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    get_context = multiprocessing.get_context
    multiprocessing.get_context = lambda method=None: get_context("forkserver" if method == "spawn" else method)
    multiprocessing.set_forkserver_preload(["nnunet_imports"])
    draw_fewer_voxels()
    set_threads_once()
    for words in json.loads(sys.argv[1]):
        run(words)
