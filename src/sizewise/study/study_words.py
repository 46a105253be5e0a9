"""From the words of ``sizewise compare`` and of YAML files to a study, with a sentence for each that makes no sense."""

import re
from pathlib import Path
from typing import Any

from sizewise.errors import BadInput
from sizewise.study.study_config import LISTS, StudyConfig, first_seeds, read_yaml
from sizewise.train.setting_words import read_number, read_setting, setting_types

COMMAS = re.compile(r",(?![^()]*\))")  # those between words, not those of a formula's options
NUMBERS = {"weights": float, "temperatures": float, "seeds": int}
OWN = {"data", "loss", "weight", "temperature", "seed", "fold", "model"}  # a study lists them
EXAMPLES = {"data": "`data=synthetic`", "losses": "`losses=CE,Dice,RCE`"}


def parse_study(given: dict[str, Any], yaml: Path | None = None) -> StudyConfig:
    """The study that words name, on top of the YAML file's.

    >>> parse_study({"data": "synthetic", "losses": "CE,RCE", "seeds": "2", "settings": ("epochs=3",)})
    ... # doctest: +NORMALIZE_WHITESPACE
    StudyConfig(data=('synthetic',), losses=('CE', 'RCE'), models=(), weights=(), temperatures=(), seeds=(0, 1),
        decisions=(), reference='', settings=(('epochs', 3),))
    """
    values: dict[str, Any] = read_yaml(yaml) if yaml is not None else {}
    words = {name: (given[name],) for name in LISTS if given.get(name)}
    lists = {name: _split(name, items) for name, items in (values | words).items() if name in LISTS}
    for name, kind in NUMBERS.items():
        if name in lists:
            lists[name] = tuple(read_number(kind, name, item) for item in lists[name])
    if given.get("seeds") and "," not in given["seeds"]:  # how many, not which
        lists["seeds"] = first_seeds(lists["seeds"][0])
    if "decisions" in lists:
        from sizewise.train.decided_labels import decision_names

        lists["decisions"] = decision_names(lists["decisions"], argument="decisions")
    for name, example in EXAMPLES.items():
        if name not in lists:
            raise BadInput(f"compare needs {name}: give {example}, or a file that has it.")
    pairs = dict(_setting(name, value) for name, value in values.get("settings", ()))
    pairs |= dict(_setting(*_named(text)) for text in given.get("settings", ()))
    reference = given.get("reference") or values.get("reference", "")
    return StudyConfig(**lists, reference=reference, settings=tuple(sorted(pairs.items())))


def _split(name: str, items: tuple[Any, ...]) -> tuple[Any, ...]:
    """Words may have commas between them; a folder that is there and whose name has one is left whole."""
    words: list[Any] = []
    for item in items:
        whole = not isinstance(item, str) or (name == "data" and Path(item).exists())
        words += [item] if whole else [word.strip() for word in COMMAS.split(item) if word.strip()]
    return tuple(words)


def _named(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise BadInput(f"a setting must be NAME=VALUE, as epochs=20, got {text!r}.")
    return name, value.strip()


def _setting(name: str, value: Any) -> tuple[str, Any]:
    """A setting that all runs of a study share; numbers as numbers, sizes and words as they were written."""
    name = name.strip().lstrip("-").replace("-", "_")
    known = [one for one in setting_types() if one not in OWN]
    if name not in known:
        from sizewise.checks import closest

        raise BadInput(f"a study has no setting {name!r}; it has {', '.join(known)}.{closest(name, tuple(known))}")
    if isinstance(value, list | tuple):  # as YAML has it
        value = ("," if any(isinstance(part, str) for part in value) else "x").join(map(str, value))
    found = read_setting(name, value)
    return name, value if isinstance(found, tuple) else found
