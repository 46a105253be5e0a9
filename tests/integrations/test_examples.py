"""Every example runs as a user would run it, and shows what it promises."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from sampling import EXHAUSTIVE

EXAMPLES = Path(__file__).parents[2] / "examples"
NEEDS = {
    "plain_pytorch": (),
    "monai_training": ("monai", "ignite"),
    "smp_training": ("segmentation_models_pytorch",),
    "lightning_training": ("lightning",),
    "segformer_trainer": ("transformers", "accelerate"),
}


def run(*arguments: str) -> str:
    """Its output; its errors and warnings would show."""
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=EXAMPLES.parent,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TRITON_INTERPRET": "0"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Warning" not in done.stderr, done.stderr[-3000:]
    return done.stdout


def falls(line: str) -> bool:
    before, after = re.search(r"([+-]?[\d.]+) -> ([+-]?[\d.]+)", line).groups()
    return float(after) < float(before)


@pytest.mark.parametrize("name", NEEDS)
def test_example(name):
    missing = [library for library in NEEDS[name] if find_spec(library) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")
    lines = run(str(EXAMPLES / f"{name}.py")).strip().splitlines()
    if name == "plain_pytorch":
        assert re.fullmatch(r"step 20: CrossEntropy 0\.\d+, SizeL1 0\.\d+", lines[-1])
    elif name == "monai_training":
        large = float(re.search(r"dsc: large ([\d.]+)", lines[0])[1])
        assert large > 0.5
        assert lines[1].startswith("size_error: large ")
    elif name == "smp_training":
        assert [line.split(":")[0] for line in lines] == ["multiclass", "binary", "multilabel"]
        assert all(falls(line) for line in lines)
    elif name == "lightning_training":
        assert lines[0].startswith("val/term/CrossEntropy")
        assert falls(lines[0])
        assert len(lines) == 4
    else:
        assert falls(lines[-1])


@pytest.mark.skipif(not EXHAUSTIVE, reason="several processes and a compiler take a while: SIZEWISE_EXHAUSTIVE=1")
@pytest.mark.parametrize("options", [("ddp",), ("fsdp",), ("ddp", "--compile")], ids=" ".join)
def test_plain_pytorch_over_two_processes(options):
    torchrun = ("-m", "torch.distributed.run", "--nproc-per-node", "2")
    shown = run(*torchrun, str(EXAMPLES / "plain_pytorch.py"), "--parallel", *options)
    assert re.search(r"step 20: CrossEntropy 0\.\d+, SizeL1 0\.\d+", shown)


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*NEEDS, "discs", "two_losses"}
