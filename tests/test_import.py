"""Importing the package is cheap, brings torch alone, and every public name explains itself."""

import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import sizewise as sw


def test_import_brings_nothing_heavy():
    """Optional libraries are imported where a user asks for them."""
    code = "import sys, torch; before = set(sys.modules); import sizewise; print(*(set(sys.modules) - before))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    added = {name.split(".")[0] for name in result.stdout.split()}
    allowed = {"sizewise", "torch"} | set(sys.stdlib_module_names)
    assert added <= allowed


def test_a_step_of_a_loss_and_a_decision_do_not_wait_for_the_compiler():
    """Importing it takes as long as importing torch does, and few users compile."""
    code = (
        "import sys, torch, sizewise as sw\n"
        "logits, target = torch.randn(2, 3, 8, 8, requires_grad=True), torch.randint(0, 3, (2, 8, 8))\n"
        "for name in sw.loss_names():\n"
        "    sw.loss(name)(logits, target).backward()\n"
        "sw.decide(logits.detach())\n"
        "print('torch._dynamo' in sys.modules)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_every_public_name_has_a_docstring_and_an_example():
    finder = doctest.DocTestFinder()
    without = []
    for name in sw.__all__:
        thing = getattr(sw, name)
        if not inspect.getdoc(thing):
            without.append(f"{name}: no docstring")
        elif not inspect.isabstract(thing) and not any(test.examples for test in finder.find(thing, name)):
            without.append(f"{name}: no example")
    assert not without


def test_every_public_class_is_abstract_or_final():
    """Terms are summed and wrapped, never subclassed from a concrete class."""
    classes = [getattr(sw, name) for name in sw.__all__ if inspect.isclass(getattr(sw, name))]
    concrete = [one for one in classes if not inspect.isabstract(one)]
    assert not [(a, b) for a in concrete for b in concrete if a is not b and issubclass(a, b)]


def test_importing_changes_no_warning_filter_and_nothing_touches_the_umask():
    """Both belong to the program that imports us; the umask cannot even be asked for without changing it."""
    code = (
        "import importlib, pkgutil, warnings, os\n"
        "import sizewise, torch, PIL.Image, nibabel, matplotlib.figure, scipy.stats, scipy.ndimage, surface_distance\n"
        "import numpy, typer, rich.table, monai.inferers, lightning_fabric, torch.utils.tensorboard\n"
        "before = list(warnings.filters)\n"
        "rooms = ('metrics', 'evaluate', 'data', 'models', 'train', 'study', 'report', 'cli')\n"
        "for room in rooms:\n"
        "    for one in pkgutil.walk_packages(importlib.import_module(f'sizewise.{room}').__path__, f'sizewise.{room}.'):\n"
        "        importlib.import_module(one.name)\n"
        "print(warnings.filters == before)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "True", result.stderr
    source = "".join(path.read_text() for path in Path(sw.__file__).parent.rglob("*.py"))
    assert "umask(" not in source
