"""The table of results, column by column, with the names that the report gives to data, models and losses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sizewise.errors import BadInput
from sizewise.metrics.cases_csv import POOLED_CASE
from sizewise.study.results import Results


@dataclass(frozen=True)
class Part:
    """The rows of one metric: integer codes into the lists of ``Scores``, and values (NaN: no value)."""

    arena: np.ndarray
    entry: np.ndarray
    seed: np.ndarray
    case: np.ndarray
    class_id: np.ndarray
    value: np.ndarray

    def where(self, chosen: np.ndarray) -> "Part":
        """The rows that a mask chooses."""
        return Part(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    @property
    def known(self) -> "Part":
        """The rows that have a value."""
        return self.where(np.isfinite(self.value))


@dataclass(frozen=True)
class Scores:
    """The table.

    Attributes:
        arenas: data set and model, as the report calls them: what all share is left out.
        data: of each arena.
        models: of each arena.
        entries: losses, with λ where one loss has several.
        losses: of each entry, as results.csv has it.
        weights: of each entry: λ as results.csv has it.
        seeds: as text.
        cases: names.
        parts: by metric.
        results: the table itself.
        labels: (arena, entry, seed) of each run.
        class_names: by class id, of each arena; see :meth:`class_name`.
        from_elsewhere: the entries are models whose label maps were handed in, not losses that were trained here.
    """

    arenas: Sequence[str]
    data: Sequence[str]
    models: Sequence[str]
    entries: Sequence[str]
    losses: Sequence[str]
    weights: Sequence[str]
    seeds: Sequence[str]
    cases: Sequence[str]
    parts: Mapping[str, Part]
    results: Results
    labels: Mapping[str, tuple[str, str, str]]
    class_names: dict[tuple[int, int], str]
    from_elsewhere: bool = False

    @property
    def what(self) -> str:
        """What is compared, in a word."""
        return "model" if self.from_elsewhere else "loss"

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return len(self.results)

    @property
    def case_count(self) -> int:
        """How many cases the data sets have in all; the pooled rows are of none."""
        data, case = self.results.text["data"].codes.astype(np.int64), self.results.text["case"].codes
        pairs = np.unique(data * max(1, len(self.cases)) + case) % max(1, len(self.cases))
        return sum(self.cases[at] != POOLED_CASE for at in pairs.tolist())

    def of(self, metric: str) -> Part:
        """The rows of a metric; none where there is no such metric."""
        empty = np.zeros(0, dtype=np.int64)
        return self.parts.get(metric, Part(empty, empty, empty, empty, empty, np.zeros(0)))

    def class_name(self, arena: int, class_id: int) -> str:
        """Its name, or «class 3» where no run says."""
        return self.class_names.get((arena, int(class_id)), f"class {int(class_id)}")

    def class_ids(self, arena: int) -> list[int]:
        """The classes that are scored there."""
        part = self.of("dsc")
        return [int(one) for one in np.unique(part.class_id[part.arena == arena])]


def label_results(results: Results, *, from_elsewhere: bool = False) -> Scores:
    """Give the rows of a table the names of the report; raises BadInput where there are none."""
    if not len(results):
        raise BadInput("report: results.csv has no rows. Finish a run first.")
    codes = {name: column.codes for name, column in results.text.items()}
    names: dict[str, Sequence[str]] = {name: column.words for name, column in results.text.items()}
    codes["loss"], names["loss"] = _named_losses(results)
    pairs, arena = _pairs(codes["data"], codes["model"])
    kinds, entry = _pairs(codes["loss"], codes["weight"])
    data = [names["data"][a] for a, _ in pairs]
    models = [names["model"][b] for _, b in pairs]
    losses = [names["loss"][a] for a, _ in kinds]
    weights = [names["weight"][b] for _, b in kinds]
    arenas = arena_names(data, models)
    entries = entry_names(losses, weights)
    runs, first = np.unique(codes["run"], return_index=True)
    labels = {
        names["run"][run]: (arenas[arena[at]], entries[entry[at]], names["seed"][codes["seed"][at]])
        for run, at in zip(runs, first, strict=True)
    }
    parts = {}
    for number, metric in enumerate(names["metric"]):
        rows = np.flatnonzero(codes["metric"] == number)
        parts[metric] = Part(
            arena[rows],
            entry[rows],
            codes["seed"][rows],
            codes["case"][rows],
            results.class_id[rows],
            results.value[rows],
        )
    return Scores(
        arenas,
        data,
        models,
        entries,
        losses,
        weights,
        names["seed"],
        names["case"],
        parts,
        results,
        labels,
        {},
        from_elsewhere,
    )


def arena_names(data: Sequence[str], models: Sequence[str]) -> list[str]:
    """What tells the arenas apart.

    >>> arena_names(["a", "b"], ["unet", "unet"]), arena_names(["a", "a"], ["unet", "fpn"])
    (['a', 'b'], ['unet', 'fpn'])
    >>> arena_names([""], [""])
    ['all cases']
    """
    if len(set(models)) <= 1 and all(data):
        return list(data)
    if len(set(data)) <= 1 and all(models):
        return list(models)
    return [", ".join(filter(None, pair)) or "all cases" for pair in zip(data, models, strict=True)]


def split_temperature(loss: str) -> tuple[str, float | None]:
    """A loss as results.csv has it, without the τ that was chosen for it, and that τ.

    >>> split_temperature("RCE τ=5"), split_temperature("CE")
    (('RCE', 5.0), ('CE', None))
    """
    name, chosen, value = loss.partition(" τ=")
    try:
        return (name, float(value)) if chosen else (loss, None)
    except ValueError:  # a name of the user's that happens to look so
        return loss, None


def entry_names(losses: Sequence[str], weights: Sequence[str]) -> list[str]:
    """A loss carries its λ where it was run with several.

    >>> entry_names(["CE", "RCE", "RCE"], ["", "0.1", "1"])
    ['CE', 'RCE λ=0.1', 'RCE λ=1']
    """
    several = {loss for loss in losses if losses.count(loss) > 1}
    return [
        f"{loss} λ={weight}" if loss in several and weight else loss
        for loss, weight in zip(losses, weights, strict=True)
    ]


def group_means(keys: Sequence[np.ndarray], values: np.ndarray) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """The mean of the values that share their keys: (unique keys, means, counts). Values must be numbers.

    >>> keys, means, counts = group_means([np.array([0, 0, 1])], np.array([1.0, 3.0, 5.0]))
    >>> keys[0].tolist(), means.tolist(), counts.tolist()
    ([0, 1], [2.0, 5.0], [2, 1])
    """
    if not len(values):
        return [np.zeros(0, dtype=np.int64) for _ in keys], np.zeros(0), np.zeros(0, dtype=np.int64)
    joined = np.zeros(len(values), dtype=np.int64)
    for key in keys:
        joined = joined * (int(key.max()) + 1) + key
    _, first, place = np.unique(joined, return_index=True, return_inverse=True)
    counts = np.bincount(place)
    return [key[first] for key in keys], np.bincount(place, weights=values) / counts, counts


def _pairs(one: np.ndarray, two: np.ndarray) -> tuple[list[tuple[int, int]], np.ndarray]:
    """The pairs that occur, in order of first appearance, and the code of each row."""
    joined = one.astype(np.int64) * (int(two.max(initial=0)) + 1) + two
    _, first, place = np.unique(joined, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return [(int(one[first[at]]), int(two[first[at]])) for at in order], rank[place]


def _named_losses(results: Results) -> tuple[np.ndarray, list[str]]:
    """Rows without a loss, as of label maps from elsewhere, are called after their run."""
    loss, run = results.text["loss"], results.text["run"]
    words = list(loss.words)
    if "" not in words:
        return loss.codes, words
    codes = loss.codes.copy()
    nameless = codes == words.index("")
    for number in np.unique(run.codes[nameless]):
        codes[nameless & (run.codes == number)] = len(words)
        words.append(run.words[number] or "predictions")
    return codes, words
