"""The table of results by metric, with the names that the report gives to settings, arms and classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sizewise.errors import BadInput
from sizewise.metrics.arms import Arm, arm_of
from sizewise.metrics.cases_csv import ARGMAX, POOLED_CASE, RunColumns
from sizewise.metrics.registry import METRICS, LengthUnit, Metric
from sizewise.study.results import Results
from sizewise.study.row_labels import Labels, label_rows


@dataclass(frozen=True)
class Part:
    """The rows of one metric: integer codes into the lists of ``Scores``, and values (NaN: no value)."""

    setting: np.ndarray
    arm: np.ndarray
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
        settings: data set and network, as the report calls them: what all share is left out.
        arm_names: what is compared; see :func:`sizewise.metrics.arms.name_arms`.
        seeds: as text.
        cases: names.
        parts: by metric.
        results: the table itself.
        labels: the setting and arm of each of its rows.
        class_names: by setting and class id; see :meth:`class_name`.
        length_units: by setting, what distances are in; mm where nothing says.
        from_elsewhere: the arms are models whose label maps were handed in, not losses that were trained here.
    """

    settings: Sequence[str]
    arm_names: Sequence[str]
    seeds: Sequence[str]
    cases: Sequence[str]
    parts: Mapping[str, Part]
    results: Results
    labels: Labels
    class_names: dict[tuple[int, int], str]
    from_elsewhere: bool = False
    length_units: dict[int, LengthUnit] = field(default_factory=dict)

    @property
    def arms(self) -> Sequence[Arm]:
        """What each of ``arm_names`` stands for."""
        return self.labels.arms

    @property
    def data(self) -> Sequence[str]:
        """The data set of each setting."""
        return [data for data, _ in self.labels.settings]

    @property
    def models(self) -> Sequence[str]:
        """The network of each setting."""
        return [model for _, model in self.labels.settings]

    @property
    def what(self) -> str:
        """What is compared, in a word."""
        if self.from_elsewhere:
            return "model"
        return "arm" if len(self.decisions) > 1 else "loss"

    @property
    def plural(self) -> str:
        """The same of several."""
        return {"loss": "losses"}.get(self.what, f"{self.what}s")

    @property
    def decisions(self) -> Sequence[str]:
        """How labels were decided, in the order of the arms; those that do not say are argmax."""
        return list(dict.fromkeys(arm.decision or ARGMAX for arm in self.arms))

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

    def beside(self, part: Part, metric: str) -> np.ndarray:
        """The values of another metric for the same run, case and class; NaN where there is none."""
        other = self.of(metric)
        if not len(other.value):
            return np.full(len(part.value), np.nan)
        keys = self._keys(other)
        order = np.argsort(keys)
        at = np.clip(np.searchsorted(keys[order], self._keys(part)), 0, len(order) - 1)
        return np.where(keys[order][at] == self._keys(part), other.value[order][at], np.nan)

    def metric(self, name: str, setting: int) -> Metric:
        """The metric, in the unit that distances have there."""
        return METRICS[name].measured_in(self.length_units.get(setting, "mm"))

    def class_name(self, setting: int, class_id: int) -> str:
        """Its name, or «class 3» where no run says."""
        return self.class_names.get((setting, int(class_id)), f"class {int(class_id)}")

    def class_ids(self, setting: int) -> list[int]:
        """The classes that are scored there."""
        part = self.of("dsc")
        return [int(one) for one in np.unique(part.class_id[part.setting == setting])]

    def name_run(self, of: RunColumns) -> tuple[str, str]:
        """The setting and the arm of a run, as the report calls them; the run need not have rows."""
        pairs = dict(zip(self.labels.settings, self.settings, strict=True))
        arm = arm_of(of)
        return pairs.get((of.data, of.model), of.data), self.labels.name_of.get(arm, arm.loss)

    def _keys(self, part: Part) -> np.ndarray:
        key = part.setting.astype(np.int64)
        columns = ((part.arm, self.arm_names), (part.seed, self.seeds), (part.case, self.cases))
        for codes, words in columns:
            key = key * max(1, len(words)) + codes
        return key * (int(self.results.class_id.max(initial=0)) + 1) + part.class_id


def label_results(results: Results, *, from_elsewhere: bool = False, also: Sequence[Arm] = ()) -> Scores:
    """Give the rows of a table the names of the report.

    Args:
        results: the table.
        from_elsewhere: see :class:`Scores`.
        also: arms of runs that have no rows yet; they count when names are told apart.

    Raises:
        BadInput: there are no rows.
    """
    if not len(results):
        raise BadInput("report: results.csv has no rows. Finish a run first.")
    labels = label_rows(results, also=also)
    seed, case, metric = (results.text[name] for name in ("seed", "case", "metric"))
    parts = {}
    for number, name in enumerate(metric.words):
        rows = np.flatnonzero(metric.codes == number)
        parts[name] = Part(
            labels.setting_of[rows],
            labels.arm_of[rows],
            seed.codes[rows],
            case.codes[rows],
            results.class_id[rows],
            results.value[rows],
        )
    return Scores(
        setting_names(labels.settings), labels.names, seed.words, case.words, parts, results, labels, {}, from_elsewhere
    )


def setting_names(settings: Sequence[tuple[str, str]]) -> list[str]:
    """What tells pairs of data set and network apart.

    >>> setting_names([("a", "unet"), ("b", "unet")]), setting_names([("a", "unet"), ("a", "fpn")])
    (['a', 'b'], ['unet', 'fpn'])
    >>> setting_names([("", "")])
    ['all cases']
    """
    data, models = ([pair[side] for pair in settings] for side in (0, 1))
    if len(set(models)) <= 1 and all(data):
        return data
    if len(set(data)) <= 1 and all(models):
        return models
    return [", ".join(filter(None, pair)) or "all cases" for pair in settings]
