"""Options that follow from a dataclass: a setting is written down once, with its type and its description."""

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Annotated, Any, get_origin

import typer

from sizewise.train.config import RunConfig
from sizewise.train.setting_words import LOSS_OPTIONS, plain_type, setting_types

FLAGS = {"data_name": "--name", "merge": "--merge", "deep_supervision": "--deep-supervision"}  # not --NAME, or switches


def setting_options() -> list[inspect.Parameter]:
    """An option for each setting of a run; None where it was not given."""
    helps = attribute_help(RunConfig) | {name: text for name, (_, text) in LOSS_OPTIONS.items()}
    return [option(name, plain_type(kind), helps[name]) for name, kind in setting_types().items()]


def shared_options() -> list[inspect.Parameter]:
    """The options of ``train`` that all runs of a study share: those that it does not list values of."""
    from sizewise.study.study_words import OWN

    return [one for one in setting_options() if one.name not in OWN]


def engine_options() -> list[inspect.Parameter]:
    """The options of all engines of studies; each is handed to the one that is chosen."""
    from sizewise.study.engines.engine import ENGINES, engine_class

    found: dict[str, inspect.Parameter] = {}
    for engine in ENGINES:
        helps = attribute_help(engine_class(engine))
        found |= {one.name: option(one.name, str, helps[one.name]) for one in fields(engine_class(engine))}
    return list(found.values())


def option(name: str, kind: Any, text: str) -> inspect.Parameter:
    """One option: numbers as numbers, everything else as words for ``sizewise.train.setting_words`` to read."""
    kind = str if get_origin(kind) is tuple else kind
    flags = [FLAGS[name]] if name in FLAGS else []
    return _parameter(name, Annotated[kind | None, typer.Option(*flags, help=text)], default=None)


def takes(
    *, before: Iterable[inspect.Parameter] = (), after: Iterable[inspect.Parameter] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """For a command with ``**given``: it has these options as well, before and after its own."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = inspect.get_annotations(command, eval_str=True)
        own = [
            _parameter(one.name, hints[one.name], default=one.default)
            for one in inspect.signature(command).parameters.values()
            if one.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        parameters = [*before, *own, *after]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        return command

    return decorate


def attribute_help(kind: type) -> dict[str, str]:
    """What the docstring of a dataclass says of each attribute, up to its first full stop.

    >>> attribute_help(RunConfig)["seed"]
    'of initialisation, data order and augmentation'
    """
    _, _, section = (inspect.getdoc(kind) or "").partition("Attributes:\n")
    entries = re.findall(r"^    (\w+): (.*(?:\n        .*)*)", section, flags=re.MULTILINE)
    texts = {name: " ".join(text.split()) for name, text in entries}
    return {name: re.split(r"\.(?= |$)", text)[0].replace("``", "`") for name, text in texts.items()}


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
