"""From the words of ``sizewise compare`` to a study, with a sentence for each that makes no sense."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from sizewise.checks import closest
from sizewise.errors import BadInput
from sizewise.study.config import StudyConfig, read_yaml
from sizewise.train.config import RunConfig
from sizewise.train.options import LOSS_OPTIONS


def parse_study(given: dict[str, Any], yaml: Path | None = None) -> StudyConfig:
    """The study that the flags name, on top of the YAML file's.

    >>> parse_study({"data": "synthetic", "losses": "CE,RCE", "seeds": "2", "settings": ("epochs=3",)})
    ... # doctest: +NORMALIZE_WHITESPACE
    StudyConfig(data=('synthetic',), losses=('CE', 'RCE'), models=(), weights=(), temperatures=(), seeds=(0, 1),
        reference='', settings=(('epochs', 3),))
    """
    values: dict[str, Any] = _split_words(read_yaml(yaml)) if yaml is not None else {}
    for name in ("data", "losses", "models"):
        if given.get(name):
            values[name] = tuple(word.strip() for word in given[name].split(",") if word.strip())
    for name in ("weights", "temperatures"):
        if given.get(name):
            values[name] = tuple(_number(float, name, word) for word in given[name].split(","))
    if given.get("seeds"):
        words = given["seeds"].split(",")
        numbers = tuple(_number(int, "seeds", word) for word in words)
        values["seeds"] = tuple(range(numbers[0])) if len(words) == 1 else numbers
    if given.get("reference"):
        values["reference"] = given["reference"]
    for name, kind in (("weights", float), ("temperatures", float), ("seeds", int)):
        if name in values:  # YAML reads 1e-3 as text
            values[name] = tuple(_number(kind, name, value) for value in values[name])
    in_file = (_setting(f"{name}={_as_text(value)}") for name, value in values.get("settings", ()))
    pairs = dict(in_file) | dict(_setting(text) for text in given.get("settings", ()))
    values["settings"] = tuple(sorted(pairs.items()))
    for name, example in (("data", "`data=synthetic`"), ("losses", "`losses=CE,Dice,RCE`")):
        if name not in values:
            raise BadInput(f"compare needs {name}: give {example}, or a file that has it.")
    return StudyConfig(**values)


def _split_words(values: dict[str, Any]) -> dict[str, Any]:
    """A file may list names and numbers as the flags do, with commas; a folder whose name has one is left whole."""
    for name in ("data", "losses", "models", "weights", "temperatures", "seeds"):
        words: list[Any] = []
        for value in values.get(name, ()):
            whole = not isinstance(value, str) or (name == "data" and Path(value).exists())
            words += [value] if whole else [word.strip() for word in value.split(",") if word.strip()]
        if name in values:
            values[name] = tuple(words)
    return values


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    name = name.strip().lstrip("-").replace("-", "_")
    if not equals:
        raise BadInput(f"a setting must be NAME=VALUE, as epochs=20, got {text!r}.")
    kind = str(_check_setting(name))
    if "int" in kind and "tuple" not in kind:
        return name, _number(int, name, value)
    if "float" in kind and "tuple" not in kind:
        return name, _number(float, name, value)
    if "bool" in kind:
        return name, _yes_or_no(name, value)
    return name, value.strip()


def _as_text(value: Any) -> str:
    """A value of a YAML file as a flag would give it: [352, 352] as 352x352, the names of channels as T1,T2."""
    if isinstance(value, list | tuple):
        return ("," if any(isinstance(part, str) for part in value) else "x").join(map(str, value))
    return str(value)


def _yes_or_no(name: str, word: str) -> bool:
    answers = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if word.strip().lower() not in answers:
        raise BadInput(f"{name} must be true or false, got {word!r}.")
    return answers[word.strip().lower()]


def _check_setting(name: str) -> Any:
    """The type of a setting that a study may fix for all its runs; an option of losses goes to those that have it."""
    own = {"data", "loss", "weight", "seed", "model", "loss_options"}  # the study's own lists
    known = {field.name: field.type for field in fields(RunConfig) if field.name not in own}
    known |= {name: "float" if name in ("gamma", "smooth") else "str" for name in LOSS_OPTIONS if name != "temperature"}
    if name not in known:
        raise BadInput(f"a study has no setting {name!r}; it has {', '.join(known)}.{closest(name, tuple(known))}")
    return known[name]


def _number(kind: type, name: str, word: Any) -> Any:
    try:
        return kind(str(word))
    except ValueError as error:
        raise BadInput(f"{name} must be {'whole ' if kind is int else ''}numbers, got {word!r}.") from error
