"""What a study asks of an engine, and how engines are found.

An engine is a module with a dataclass ``Engine``: its fields are the engine's options, described in its docstring, and
become options of ``sizewise compare``. A file ``NAME_engine.py`` in this folder is found by its name; from outside,
``ENGINES["mine"] = "my_package.my_engine"`` adds one. Heavy imports belong into the methods: a command's help lists
the options of all engines.
"""

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sizewise.errors import BadInput

if TYPE_CHECKING:
    from sizewise.study.grid import PlannedRun
    from sizewise.train.config import Runtime

_ENDING = "_engine"


@dataclass(frozen=True)
class StudyWork:
    """What there is to do.

    Attributes:
        folder: of the study; every worker must reach it.
        runs: in the order in which they are to be taken; those that are finished are passed over by workers.
        runtime: where and how each run is carried out.
        after_run: is to be called after each run that was carried out or failed.
    """

    folder: Path
    runs: "list[PlannedRun]"
    runtime: "Runtime"
    after_run: "Callable[[PlannedRun], None]"


class Engine(Protocol):
    """Carries out the runs of a study; ``sizewise.study.worker`` does a single one."""

    def threads(self, runtime: "Runtime") -> int:
        """CPU threads that each run gets; 0: as torch has them. A study keeps the number that it began with."""
        ...

    def run(self, work: StudyWork) -> None:
        """Carry out what is not finished. A run that fails leaves failed.json, and the others go on."""
        ...


ENGINES: dict[str, str] = {
    found.name.removesuffix(_ENDING): f"{__package__}.{found.name}"
    for found in pkgutil.iter_modules([str(Path(__file__).parent)])
    if found.name.endswith(_ENDING)
}


def engine_class(name: str) -> Any:
    """The dataclass of an engine.

    >>> [field.name for field in fields(engine_class("local"))]
    ['jobs']
    """
    if name not in ENGINES:
        from sizewise.checks import closest

        known = tuple(ENGINES)
        raise BadInput(f"`engine` must be one of {', '.join(known)}, got {name!r}.{closest(name, known)}")
    return import_module(ENGINES[name]).Engine


def make_engine(name: str, options: dict[str, Any]) -> Engine:
    """The engine of that name; an option that belongs to another one is an error.

    >>> make_engine("local", {"jobs": 2})
    Engine(jobs=2)
    """
    kind = engine_class(name)
    has = [field.name for field in fields(kind)]
    for option in options:
        if option not in has:
            listed = ", ".join(f"`{one}`" for one in has) or "no options"
            raise BadInput(f"the engine {name} does not take `{option}`; it takes {listed}.")
    return kind(**options)
