"""What stays is made in a thread of its own, and every tensor that the kernels' half keeps is made that way."""

import ast
import threading
from pathlib import Path

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from sizewise.stats.kernels.kept_tensors import kept_tensor, numbers_on

PACKAGE = Path(__file__).parents[3] / "src" / "sizewise"
ROOMS = ("stats/kernels", "criterion/fused", "decisions/kernels")
FACTORIES = {"empty", "zeros", "ones", "full", "tensor", "as_tensor", "arange", "cat", "to", "new_empty", "new_zeros"}
KEEPERS = {"kept_tensor", "numbers_on"}
CPU = torch.device("cpu")


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls += 1
        return func(*args, **(kwargs or {}))


def test_it_is_made_in_another_thread_out_of_reach_of_modes():
    threads = []

    def make():
        threads.append(threading.get_ident())
        return torch.zeros(2)

    with torch.inference_mode(), Seen() as seen:
        made = kept_tensor(CPU, make)
    assert threads != [threading.get_ident()]
    assert seen.calls == 0
    assert not made.is_inference()


def test_what_fails_there_fails_here():
    with pytest.raises(ZeroDivisionError):
        kept_tensor(CPU, lambda: torch.full((), 1 / 0))


def test_numbers_are_the_same_tensor_every_time_and_one_for_each_kind():
    one = numbers_on(CPU, torch.float64, 3.0, 0.25)
    assert one is numbers_on(CPU, torch.float64, 3.0, 0.25)
    assert one.tolist() == [3.0, 0.25]
    assert numbers_on(CPU, torch.float32, 3.0, 0.25).dtype == torch.float32
    assert numbers_on(CPU, torch.bool, True, False).tolist() == [True, False]


def test_numbers_of_a_capture_are_not_kept(monkeypatch):
    """Stand-ins for a GPU on which a graph is being captured: the tensor is made here, and anew."""
    kept: dict = {}
    monkeypatch.setattr("sizewise.stats.kernels.kept_tensors._numbers", kept)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    plain = torch.empty
    monkeypatch.setattr(torch, "empty", lambda size, dtype, device: plain(size, dtype=dtype))
    device = torch.device("cuda", 0)
    assert numbers_on(device, torch.float64, 7.0) is not numbers_on(device, torch.float64, 7.0)
    assert kept == {}


def called(node):
    """The names of all functions that are called below a node."""
    names = [one.func for one in ast.walk(node) if isinstance(one, ast.Call)]
    return {one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in names}


def kept_badly(source):
    """Lines that keep a tensor which was not made apart: as an attribute, in a module's store, or in a cache."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign) and node.value is not None:
            places = [one for target in node.targets for one in getattr(target, "elts", [target])]
            owned = [one for one in places if isinstance(one, ast.Attribute) and ast.unparse(one.value) == "self"]
            stored = [one for one in places if isinstance(one, ast.Subscript) and ast.unparse(one.value)[0] == "_"]
            on_device = any(word.arg == "device" for word in ast.walk(node.value) if isinstance(word, ast.keyword))
            made = called(node.value)
            if (owned or stored) and on_device and made & FACTORIES and not made & KEEPERS:
                found.append(node.lineno)
        if isinstance(node, ast.FunctionDef) and any("cache" in ast.unparse(one) for one in node.decorator_list):
            tensor = node.returns is not None and "Tensor" in ast.unparse(node.returns)
            if tensor and not called(node) & KEEPERS:
                found.append(node.lineno)
    return found


def test_every_tensor_that_the_kernels_keep_is_made_apart():
    files = [path for room in ROOMS for path in (PACKAGE / room).glob("*.py")]
    found = {path.name: lines for path in files if (lines := kept_badly(path.read_text(encoding="utf-8")))}
    assert len(files) > 40
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "class A:\n def __init__(self, d):\n  self.one = torch.ones(1, device=d)",
        "def f(d):\n _kept[d] = torch.tensor([1], device=d).view(1)",
        "@lru_cache(maxsize=3)\ndef f(d) -> Tensor:\n return torch.zeros(1).to(d)",
    ],
)
def test_the_check_finds_one(source):
    assert kept_badly(source)
    assert not kept_badly(source.replace("torch.ones(1, device=d)", "kept_tensor(d, lambda: torch.ones(1, device=d))")
                          .replace("torch.tensor([1], device=d).view(1)", "numbers_on(d, 1)")
                          .replace("torch.zeros(1).to(d)", "kept_tensor(d, lambda: torch.zeros(1).to(d))"))  # fmt: skip
