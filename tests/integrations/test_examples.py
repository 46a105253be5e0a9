"""Every example runs as a user would run it, and shows what it promises."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from sampling import EXHAUSTIVE

import sizewise

EXAMPLES = Path(__file__).parents[2] / "examples"
NEEDS = {
    "plain_pytorch": (),
    "smp_training": ("segmentation_models_pytorch",),
    "segformer_trainer": ("transformers", "accelerate"),
    "lightning_training": ("lightning",),
    "monai_training": ("monai", "ignite"),  # last: it makes torch deterministic
}
ONE_AFTER_ANOTHER = """
import contextlib, io, json, runpy, sys
shown = {}
for path in sys.argv[1:]:
    sys.argv = [path]
    with contextlib.redirect_stdout(io.StringIO()) as output:
        runpy.run_path(path, run_name="__main__")
    shown[path] = output.getvalue()
print(json.dumps(shown))
"""


def run(*arguments: str) -> str:
    """Its output; its errors and warnings would show."""
    paths = [str(EXAMPLES), str(Path(sizewise.__file__).parents[1])]  # the sources tested here
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=EXAMPLES.parent,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TRITON_INTERPRET": "0", "PYTHONPATH": os.pathsep.join(paths)},
    )
    assert done.returncode == 0, done.stderr  # all of it: what went wrong stands before the summary of torchrun
    assert "Warning" not in done.stderr, done.stderr[-3000:]
    return done.stdout


def falls(line: str) -> bool:
    before, after = re.search(r"([+-]?[\d.]+) -> ([+-]?[\d.]+)", line).groups()
    return float(after) < float(before)


def check(name: str, shown: str) -> None:
    """What each promises to show."""
    lines = shown.strip().splitlines()
    if name == "plain_pytorch":
        first, last = (float(re.search(r"CrossEntropy ([\d.]+), SizeL1 [\d.]+$", line)[1]) for line in lines)
        assert last < 0.7 * first
    elif name == "smp_training":
        assert [line.split(":")[0] for line in lines] == ["multiclass", "binary", "multilabel"]
        assert all(falls(line) for line in lines)
    elif name == "segformer_trainer":
        assert falls(lines[-1])
    elif name == "lightning_training":
        assert len(lines) == 4
        assert lines[0].startswith("val/term/CrossEntropy")
        assert falls(lines[0])
    else:
        assert float(re.search(r"dsc: large ([\d.]+)", lines[0])[1]) > 0.5
        assert lines[1].startswith("size_error: large ")


def missing(name: str) -> list[str]:
    return [library for library in NEEDS[name] if find_spec(library) is None]


def test_the_examples_one_after_another():
    """In one process, since importing the libraries takes longest."""
    paths = {str(EXAMPLES / f"{name}.py"): name for name in NEEDS if not missing(name)}
    for path, shown in json.loads(run("-c", ONE_AFTER_ANOTHER, *paths)).items():
        check(paths[path], shown)


@pytest.mark.skipif(not EXHAUSTIVE, reason="a process for each takes a while: SIZEWISE_EXHAUSTIVE=1")
@pytest.mark.parametrize("name", NEEDS)
def test_example_by_itself(name):
    if missing(name):
        pytest.skip(f"{', '.join(missing(name))} is not installed")
    check(name, run(str(EXAMPLES / f"{name}.py")))


@pytest.mark.skipif(not EXHAUSTIVE, reason="several processes and a compiler take a while: SIZEWISE_EXHAUSTIVE=1")
@pytest.mark.parametrize("options", [("ddp",), ("fsdp",), ("ddp", "--compile")], ids=" ".join)
def test_plain_pytorch_over_two_processes(options):
    torchrun = ("-m", "torch.distributed.run", "--nproc-per-node", "2")
    shown = run(*torchrun, str(EXAMPLES / "plain_pytorch.py"), "--parallel", *options)
    check("plain_pytorch", shown)


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*NEEDS, "discs"}
