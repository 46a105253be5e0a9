"""A torchvision that was built for another torch: importable for its layers, and loud where an operator is called."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

pytestmark = pytest.mark.skipif(find_spec("torchvision") is None, reason="torchvision is not installed")


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    assert not done.stderr, done.stderr
    return done.stdout.strip()


def test_smp_is_imported_in_silence_even_after_a_failed_import():
    """In a fresh interpreter whose compiled operators never load: the user tried first, we try again, and it works."""
    code = """
import torch, sys
torch.ops.load_library = lambda path: (_ for _ in ()).throw(OSError("built for another torch"))
try:
    import torchvision
except RuntimeError as error:
    assert "torchvision::nms" in str(error)
    print("failed first")
from sizewise.models.smp import import_smp
smp = import_smp()
import torchvision
try:
    torchvision.ops.nms(torch.zeros(1, 4), torch.zeros(1), 0.5)
except Exception as error:
    print(type(error).__name__)
print(smp.FPN.__name__)
"""
    assert run(code).split("\n") in (
        ["failed first", "NotImplementedError", "FPN"],
        ["failed first", "RuntimeError", "FPN"],
    )


def test_other_errors_of_its_import_are_not_hidden(monkeypatch):
    from sizewise.models import torchvision_ops

    def fail(name):
        raise RuntimeError("something else is broken")

    monkeypatch.delitem(sys.modules, "torchvision", raising=False)
    monkeypatch.setattr(torchvision_ops, "import_module", fail)
    with pytest.raises(RuntimeError, match="something else is broken"):
        torchvision_ops.make_torchvision_importable()
