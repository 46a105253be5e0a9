"""Training with the network compiled: the same run, decided once, kept on resume; a compiler that fails."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from data.layouts.image_folder import write_multiclass_folder
from train.test_train_options import OPTIONS, Killed
from train.test_train_resume import assert_same_result
from train.tiny_runs import CPU, history_without_times, train_tiny

from sizewise.errors import BadInput, RunFailed
from sizewise.train import compiled_network, compiling, loop
from sizewise.train.checkpoint import load_checkpoint, save_checkpoint
from sizewise.train.config import Runtime

pytestmark = pytest.mark.usefixtures("no_curves")
ON, OFF = (replace(CPU, compile=word) for word in ("on", "off"))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_multiclass_folder(tmp_path_factory.mktemp("data"))


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """The shapes of the first image batch of each graph that is compiled; the compiler is one that needs no time."""
    shapes = []

    def backend(graph, inputs):
        shapes.append(
            [tuple(one.shape) for one in inputs if one.dim() == 4 and not isinstance(one, torch.nn.Parameter)]
        )
        return graph.forward

    monkeypatch.setattr(compiled_network, "BACKEND", backend)
    return shapes


def fails(graph, inputs):
    raise RuntimeError("no compiler here\nand a stack")


def train_killed(data, folder, monkeypatch, **given):
    """Train until the end of the first epoch is saved."""
    original = loop.Record.keep

    def killed(self, state, *, last):
        original(self, state, last=last)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(loop.Record, "keep", killed)
        with pytest.raises(Killed):
            train_tiny(data, folder, **given)


@pytest.mark.parametrize("which", ["average", "together", "deep"])
def test_only_the_training_forward_is_compiled_and_nothing_else_changes(data, tmp_path, compiled, which):
    """The stand-in for a compiler computes the same, so all numbers must be the same: nothing was trained by trying."""
    settings = {"augment": "picture"} | OPTIONS[which]
    train_tiny(data, tmp_path / "plain", runtime=OFF, **settings)
    assert compiled == []
    train_tiny(data, tmp_path / "run", runtime=ON, **settings)
    assert_same_result(tmp_path / "run", tmp_path / "plain")
    size = settings.get("size", (16, 16))
    assert {shapes[0] for shapes in compiled if shapes} == {(2, 3, *size)}  # validation and test have other shapes
    assert load_checkpoint(tmp_path / "run" / "last.pt")["compiled"]
    assert not load_checkpoint(tmp_path / "plain" / "last.pt")["compiled"]


def test_a_resumed_run_goes_on_as_it_began(data, tmp_path, monkeypatch, compiled):
    train_tiny(data, tmp_path / "whole", runtime=ON, epochs=2)
    once = len(compiled)
    train_killed(data, tmp_path / "run", monkeypatch, runtime=ON, epochs=2)
    train_tiny(data, tmp_path / "run", runtime=OFF, epochs=2, resume=True)
    assert len(compiled) == 3 * once
    assert_same_result(tmp_path / "run", tmp_path / "whole")
    train_killed(data, tmp_path / "plain", monkeypatch, runtime=OFF, epochs=2)
    train_tiny(data, tmp_path / "plain", runtime=ON, epochs=2, resume=True)
    assert len(compiled) == 3 * once


def test_a_run_of_an_earlier_version_goes_on_uncompiled(data, tmp_path, monkeypatch, compiled):
    train_killed(data, tmp_path / "run", monkeypatch, runtime=OFF, epochs=2)
    saved = load_checkpoint(tmp_path / "run" / "last.pt")
    save_checkpoint(tmp_path / "run" / "last.pt", {k: v for k, v in saved.items() if k not in ("compiled", "checksum")})
    train_tiny(data, tmp_path / "run", runtime=ON, epochs=2, resume=True)
    assert compiled == []


def test_without_a_compiler_a_new_run_is_trained_as_it_is(data, tmp_path, monkeypatch):
    train_tiny(data, tmp_path / "plain", runtime=OFF, epochs=2)
    with monkeypatch.context() as patch:
        patch.setattr(compiled_network, "BACKEND", fails)
        lines = train_tiny(data, tmp_path / "run", runtime=ON, epochs=2)
    (note,) = [line for line in lines if "compiled" in line]
    assert note == "note: the network cannot be compiled and is trained as it is: no compiler here"
    assert history_without_times(tmp_path / "run") == history_without_times(tmp_path / "plain")
    assert not load_checkpoint(tmp_path / "run" / "last.pt")["compiled"]


def test_without_a_compiler_a_compiled_run_does_not_go_on(data, tmp_path, monkeypatch):
    train_killed(data, tmp_path / "run", monkeypatch, runtime=ON, epochs=2)
    monkeypatch.setattr(compiled_network, "BACKEND", fails)
    with pytest.raises(RunFailed, match="was trained with `compile=on`, and the network cannot be compiled here"):
        train_tiny(data, tmp_path / "run", runtime=ON, epochs=2, resume=True)
    assert load_checkpoint(tmp_path / "run" / "last.pt")["epoch"] == 1


@pytest.mark.parametrize(
    ("word", "captured", "deterministic", "seconds", "done"),
    [
        ("auto", True, False, 0.01, ["capture 10"]),  # 1000 steps of 10 ms: 2 s less are not worth a minute
        ("auto", True, False, 1.0, ["capture 10", "forget", "compile", "capture 0"]),
        ("auto", True, True, 1.0, ["capture 0"]),
        ("auto", False, False, 1.0, []),
        ("on", True, True, 0.01, ["compile same bits", "capture 0"]),
        ("on", False, False, 0.01, ["compile"]),
        ("off", True, False, 1.0, ["capture 0"]),
    ],
)
def test_what_happens_before_the_first_step(monkeypatch, word, captured, deterministic, seconds, done):
    calls = []
    made = {True: "compile same bits", False: "compile"}
    monkeypatch.setattr(compiling, "compiled_network", lambda fabric, model, same_bits: made[same_bits])

    class FakeStep:
        replay, fabric, model = None, None, SimpleNamespace(module=None)

        def capture(self, timed=0):
            calls.append(f"capture {timed}")
            self.replay = calls.clear
            return seconds

        def forget_capture(self):
            calls.append("forget")
            self.replay = None

        def take(self, network):
            calls.append(network)

    state = SimpleNamespace(progress=SimpleNamespace(epoch=0), compiled=False)
    setup = SimpleNamespace(step=FakeStep(), state=state, captured=captured)
    runtime = Runtime(compile=word, deterministic=deterministic)
    compiling.get_ready(setup, runtime, steps=1000, log=lambda line: None)
    assert calls == done
    assert state.compiled == any("compile" in one for one in done)


def test_same_bits_need_a_compiler_that_can(monkeypatch):
    monkeypatch.setattr(compiling, "compiles_to_same_bits", lambda: False)
    lines = []
    runtime = Runtime(compile="on", deterministic=True)
    assert not compiling.compile_network(SimpleNamespace(step=None), runtime, begun=False, log=lines.append)
    assert "a later torch" in lines[0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"compile": "yes"}, "`compile` must be auto, on or off, got 'yes'"),
        ({"compile": "on", "devices": 2}, "one device"),
    ],
)
def test_words_that_are_refused(data, tmp_path, given, said):
    with pytest.raises(BadInput, match=said):
        train_tiny(data, tmp_path / "run", runtime=replace(CPU, **given))
