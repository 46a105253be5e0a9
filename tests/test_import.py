"""Importing the package is cheap, brings torch alone, and every public name explains itself."""

import doctest
import inspect
import subprocess
import sys

import sizewise as sw


def test_import_brings_nothing_heavy():
    """Optional libraries are imported where a user asks for them."""
    code = "import sys, torch; before = set(sys.modules); import sizewise; print(*(set(sys.modules) - before))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    added = {name.split(".")[0] for name in result.stdout.split()}
    allowed = {"sizewise", "torch"} | set(sys.stdlib_module_names)
    assert added <= allowed


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
