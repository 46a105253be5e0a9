"""JSON files, our own and others': one reader, which says in a sentence what is wrong with a file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sizewise.errors import BadInput

LARGEST_BYTES = 256 * 2**20
_WORDS = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


def read_json(path: Path, *, hint: str = "Copy it again, or remove what it belongs to and make that anew.") -> Any:
    """The object in a file.

    Args:
        path: the file. It must be a plain one: a pipe would be waited for.
        hint: what to do where it is damaged.

    Raises:
        BadInput: it is not there, cannot be read, is no JSON in UTF-8, names something twice in one object, or holds
            something else than an object.
    """
    if not path.is_file():
        raise BadInput(f"'{path}' {'is no plain file' if path.exists() else 'does not exist'}.")
    try:
        size, content = path.stat().st_size, None
        if size <= LARGEST_BYTES:
            content = json.loads(path.read_bytes().decode("utf-8-sig"), object_pairs_hook=_without_repeats)
    except OSError as error:
        raise BadInput(f"'{path}' can't be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:  # JSON's and Unicode's errors are ValueErrors
        raise BadInput(f"'{path}' is not valid JSON in UTF-8, and cannot be read: {_reason(error)}. {hint}") from error
    if size > LARGEST_BYTES:
        raise BadInput(f"'{path}' has {size / 2**20:.0f} MiB, which no such file needs. {hint}")
    if not isinstance(content, dict):
        raise BadInput(f"'{path}' cannot be read: it must hold an object, {{…}}, got {_named(type(content))}. {hint}")
    return content


def check_kinds(values: Mapping[str, Any], kinds: Mapping[str, Any], path: Path) -> None:
    """Refuse values that are missing or of another kind: a type, or a tuple of types of which None may be one.

    >>> check_kinds({"seed": "a"}, {"seed": int}, Path("config.json"))
    Traceback (most recent call last):
    sizewise.errors.BadInput: 'config.json': seed must be a whole number, got 'a'. The file is damaged, or was edited.
    """
    for name, kind in kinds.items():
        several = kind if isinstance(kind, tuple) else (kind,)
        value = values.get(name)
        fits = any(_fits(value, one) for one in several)
        if name not in values or not fits:
            wanted = " or ".join(_named(one) for one in several)
            got = f"got {value!r:.80}" if name in values else "and it is missing"
            raise BadInput(f"'{path}': {name} must be {wanted}, {got}. The file is damaged, or was edited.")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object, if each of its names is there once: of two values, which one is meant?"""
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r:.80} is named twice in one object")
    return content


def _fits(value: Any, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def _named(kind: type) -> str:
    return "nothing" if kind is type(None) else _WORDS.get(kind, kind.__name__)


def _reason(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error).rstrip(".")
