"""From words, as flags and YAML files have them, to settings, with a sentence for each that makes no sense."""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from sizewise.errors import BadInput
from sizewise.json_files import check_kinds
from sizewise.train.config import RunConfig, check_words

LOSS_OPTIONS: dict[str, tuple[type, str]] = {  # options of ``sizewise.loss`` that are settings of a run
    "temperature": (float, "τ of size terms"),
    "gamma": (float, "exponent of focal losses"),
    "smooth": (float, "ε of Dice-type terms, in pixels"),
    "class_reduction": (str, "sum or mean over classes"),
    "scope": (str, "image, batch or global statistics"),
    "classes": (str, "all or foreground: which classes the loss counts"),
}
ANSWERS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@cache
def setting_types() -> dict[str, Any]:
    """The type of each setting by name; ``loss_options`` are here one by one.

    >>> setting_types()["epochs"], setting_types()["gamma"]
    (<class 'int'>, <class 'float'>)
    """
    hints = get_type_hints(RunConfig)
    types = {
        field.name: hints[field.name]
        for field in fields(RunConfig)
        if field.name not in ("loss_options", "definitions")
    }
    return types | {name: kind for name, (kind, _) in LOSS_OPTIONS.items()}


def plain_type(hint: Any) -> Any:
    """The type of a setting without its None, and str for one of a few words.

    >>> plain_type(float | None), plain_type(Literal["a", "b"])
    (<class 'float'>, <class 'str'>)
    """
    if get_origin(hint) is Literal:
        return str
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    return kinds[0] if len(kinds) == 1 and get_origin(hint) is not tuple else hint


def run_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Settings of a RunConfig from what was given, by name; what is no setting is passed over.

    >>> run_settings({"data": "synthetic", "size": "64x64", "temperature": 5.0})
    {'data': 'synthetic', 'size': (64, 64), 'loss_options': (('temperature', 5.0),)}
    """
    settings = {name: read_setting(name, value) for name, value in given.items() if name in setting_types()}
    options = tuple((name, settings.pop(name)) for name in LOSS_OPTIONS if name in settings)
    return settings | ({"loss_options": options} if options else {})


def read_setting(name: str, value: Any) -> Any:
    """A setting from a word, or from what YAML made of it.

    >>> read_setting("epochs", "3"), read_setting("size", [64, 64]), read_setting("merge", "no")
    (3, (64, 64), False)
    """
    kind = plain_type(setting_types()[name])
    if kind is bool:
        word = str(value).strip().lower()
        if word not in ANSWERS:
            raise BadInput(f"`{name}` must be true or false, got {value!r}.")
        return ANSWERS[word]
    if kind in (int, float):
        return read_number(kind, name, value)
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        return _words(name, value) if item is str else read_sizes(item, name, value)
    if get_origin(setting_types()[name]) is Literal and type(value) is int:  # as YAML has background: 0
        value = str(value)
    check_words({name: value})
    return _text(name, value)


def check_saved(values: Mapping[str, Any], path: Path) -> None:
    """Refuse a config.json with a value of another kind than is written there: "no" would be taken for true."""
    for name, hint in get_type_hints(RunConfig).items():
        if name not in values:
            continue
        if get_origin(hint) is tuple:
            check_kinds(values, {name: list}, path)
            item = get_args(hint)[0]
            for one in values[name] if item in (int, float, str) else ():
                check_kinds({name: one}, {name: item}, path)
        else:
            check_kinds(values, {name: str if get_origin(hint) is Literal else get_args(hint) or hint}, path)


def read_number(kind: type, name: str, value: Any) -> Any:
    """A whole number, or any; a bool is none."""
    try:
        if isinstance(value, bool):
            raise ValueError
        return kind(str(value))
    except ValueError as error:
        raise BadInput(f"`{name}` must be a {'whole ' if kind is int else ''}number, got {value!r}.") from error


def _text(name: str, value: Any) -> str:
    """Of a path its words; what YAML took for a number may have been written otherwise: 007 is its 7."""
    if not isinstance(value, str | Path):
        raise BadInput(f"`{name}` must be text, got {value!r:.80}. Put it in quotes.")
    return str(value)


def _words(name: str, value: Any) -> tuple[str, ...]:
    words = value if isinstance(value, list | tuple) else _text(name, value).split(",")
    return tuple(_text(name, word).strip() for word in words if _text(name, word).strip())


def read_sizes(number: type, name: str, value: Any) -> tuple:
    """Numbers with x or a comma between them, or a list as YAML has it; the word ``stored`` is ().

    >>> read_sizes(float, "spacing", "1.5x1.5x2"), read_sizes(int, "size", "stored")
    ((1.5, 1.5, 2.0), ())
    """
    text = ("x".join(map(str, value)) or "stored") if isinstance(value, list | tuple) else str(value)
    if text == "stored":
        return ()
    try:
        return tuple(number(part) for part in text.lower().replace(",", "x").split("x"))
    except ValueError as error:
        example = "352x352" if number is int else "1.5x1.5x2"
        raise BadInput(f"`{name}` must be numbers as {example}, or the word stored, got {text!r}.") from error
