"""From words on the command line to settings, with a sentence for each that makes no sense."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from sizewise.errors import BadInput
from sizewise.train.config import RunConfig, check_words

LOSS_OPTIONS = ("temperature", "gamma", "smooth", "class_reduction", "scope", "classes")


def run_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Settings of a RunConfig from what was given, by name. Sizes are texts such as 352x352.

    >>> run_settings({"data": "synthetic", "size": "64x64", "temperature": 5.0})
    {'data': 'synthetic', 'size': (64, 64), 'loss_options': (('temperature', 5.0),)}
    """
    known = {field.name for field in fields(RunConfig)}
    settings = {name: value for name, value in given.items() if name in known}
    for name, number in (("size", int), ("patch", int), ("spacing", float)):
        if name in settings:
            settings[name] = parse_sizes(settings[name], number, name)
    if "modality" in settings:
        words = settings["modality"]
        words = words.split(",") if isinstance(words, str) else words
        settings["modality"] = tuple(word.strip() for word in words if word.strip())
    if isinstance(settings.get("classes_csv"), Path):
        settings["classes_csv"] = str(settings["classes_csv"])
    options = tuple((name, given[name]) for name in LOSS_OPTIONS if name in given)
    if options:
        settings["loss_options"] = options
    check_words(settings)
    return settings


def parse_sizes(text: str | list | tuple, number: type, name: str) -> tuple:
    """Numbers with x or a comma between them, or a list as YAML has it; the word ``stored`` is ().

    >>> parse_sizes("1.5x1.5x2", float, "spacing"), parse_sizes([64, 64], int, "size")
    ((1.5, 1.5, 2.0), (64, 64))
    >>> parse_sizes("stored", int, "size")
    ()
    """
    if isinstance(text, (list, tuple)):
        text = "x".join(map(str, text)) or "stored"
    if text == "stored":
        return ()
    try:
        return tuple(number(part) for part in text.lower().replace(",", "x").split("x"))
    except ValueError as error:
        example = "352x352" if number is int else "1.5x1.5x2"
        raise BadInput(f"`{name}` must be numbers as {example}, or the word stored, got {text!r}.") from error
