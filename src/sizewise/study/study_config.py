"""The settings of a study, from flags or from a YAML file."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sizewise.errors import BadInput
from sizewise.metrics.cases_csv import ARGMAX

MOST_SEEDS = 1000
LISTS = ("data", "models", "losses", "weights", "temperatures", "seeds", "decisions")


@dataclass(frozen=True)
class StudyConfig:
    """What is compared, and under which protocol.

    Attributes:
        data: data sets, by path or name.
        losses: names that ``sizewise.loss`` knows.
        models: () is the recipe's.
        weights: values of λ for the losses that have one; () is each loss's own.
        temperatures: values of τ for the losses that have one; () is 10.
        seeds: the same for every loss: with a seed go initialisation, order and augmentation.
        decisions: how labels are decided, from the same weights; argmax always is one of them. () is argmax alone.
        reference: the loss that the others are compared with; empty: the first.
        settings: of every run, by the names of RunConfig, as (name, value) pairs.
    """

    data: tuple[str, ...]
    losses: tuple[str, ...]
    models: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    temperatures: tuple[float, ...] = ()
    seeds: tuple[int, ...] = (0, 1, 2)
    decisions: tuple[str, ...] = ()
    reference: str = ""
    settings: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        for name in ("data", "losses", "seeds"):
            if not getattr(self, name):
                raise BadInput(f"a study needs at least one entry in {name}.")
        for name in LISTS:
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise BadInput(f"a study's {name} must differ from each other, got {', '.join(map(str, values))}.")
        if self.decisions:  # whatever else is asked for is compared with it
            object.__setattr__(self, "decisions", tuple(dict.fromkeys((ARGMAX, *self.decisions))))
        if self.reference and self.reference not in self.losses:
            raise BadInput(f"the reference must be one of {', '.join(self.losses)}, got {self.reference!r}.")

    @staticmethod
    def from_values(content: Mapping[str, Any]) -> "StudyConfig":
        """The study that a ``study.json`` holds; other keys are for readers of the report.

        >>> StudyConfig.from_values({"data": ["synthetic"], "losses": ["CE"], "settings": [["size", [8, 8]]]}).settings
        (('size', (8, 8)),)
        """
        known = {field.name for field in fields(StudyConfig)}
        values = {name: value for name, value in content.items() if name in known}
        values |= {name: tuple(values[name]) for name in LISTS if name in values}
        pairs = values.get("settings", ())
        values["settings"] = tuple((name, tuple(v) if isinstance(v, list) else v) for name, v in pairs)
        return StudyConfig(**values)

    def has_runs_of(self, other: "StudyConfig") -> bool:
        """Whether both have the same runs and decisions; which loss is the reference does not matter for that."""
        return self.settings == other.settings and all(getattr(self, name) == getattr(other, name) for name in LISTS)

    def joined(self, other: "StudyConfig") -> "StudyConfig":
        """This study with what ``other`` adds: a loss, a seed, a data set. Protocols must agree."""
        if self.settings != other.settings:
            begun, now = dict(self.settings), dict(other.settings)
            changed = [name for name in {**begun, **now} if begun.get(name) != now.get(name)]
            which = "; ".join(
                f"`{name}`: {begun.get(name, 'not given')}, now {now.get(name, 'not given')}" for name in changed
            )
            raise BadInput(
                f"the study was begun with other settings ({which}): its runs could not be compared. Give the same, or "
                "use another `folder`."
            )
        both = {name: tuple(dict.fromkeys((*getattr(self, name), *getattr(other, name)))) for name in LISTS}
        return StudyConfig(**both, reference=other.reference or self.reference, settings=self.settings)


def first_seeds(number: int) -> tuple[int, ...]:
    """0, 1, …: so many seeds.

    >>> first_seeds(3)
    (0, 1, 2)
    """
    if number > MOST_SEEDS:
        raise BadInput(f"`seeds` must be at most {MOST_SEEDS}, got {number}. A list with commas names them one by one.")
    return tuple(range(number))


def _items(name: str, value: Any, path: Path) -> tuple[Any, ...]:
    """The items of a list, or the one that stands for it: numbers or words, as the list has them."""
    items = value if isinstance(value, list) else [value]
    kind: Any = int | float if name in ("weights", "temperatures", "seeds") else str
    for item in items:
        if not isinstance(item, kind | str) or isinstance(item, bool):
            words = "words" if kind is str else "numbers"
            raise BadInput(f"'{path}': {name} must be {words}, as a list or one of them, got {str(item)[:80]!r}.")
    return tuple(items)


def read_yaml(path: Path) -> dict[str, Any]:
    r"""The study in a YAML file: the names of StudyConfig, with ``settings`` as a mapping.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
    ...     _ = file.write("data: synthetic\nlosses: [CE, RCE]\nseeds: 3\n")
    ...     file.flush()
    ...     read_yaml(Path(file.name))
    {'data': ('synthetic',), 'losses': ('CE', 'RCE'), 'seeds': (0, 1, 2)}
    """
    from sizewise.study.yaml_content import read_yaml_content

    content = read_yaml_content(path)
    known = [field.name for field in fields(StudyConfig)]
    if not isinstance(content, dict) or set(content) - set(known):
        strange = (
            ", ".join(map(str, set(content) - set(known))) if isinstance(content, dict) else type(content).__name__
        )
        raise BadInput(f"'{path}': wanted a mapping with some of {', '.join(known)}, got {strange}.")
    values: dict[str, Any] = {}
    for name, value in content.items():
        if name == "seeds" and str(value).isdecimal():
            value = list(first_seeds(int(value)))
        if name in LISTS:
            values[name] = _items(name, value, path)
        elif name == "settings":
            if not isinstance(value or {}, dict):
                raise BadInput(f"'{path}': settings must be lines of NAME: VALUE, as epochs: 20, got {value!r}.")
            values[name] = tuple((str(key), one) for key, one in (value or {}).items())
        else:
            values[name] = str(value)
    return values
