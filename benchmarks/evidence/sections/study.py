"""The committed tables as the page reads them: each set with its runs, its arms by name, and its groups.

λ was chosen for each set, so «CE + 3 * Dice» on one set and «CE + 1 * Dice» on another are one arm here, DiceCE. What
else was tried of the grid goes into its own table.
"""

import csv
import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import run as runner
import tables
import yaml

from sizewise.report.scores import Scores, label_results
from sizewise.study.results import Column, Results, read_results
from sizewise.study.statistics.setting_scores import SettingScores, arrange

ROLES = {"Dice": "DiceCE", "SizeL1": "RCE-L1", "SizeKL": "RCE-KL"}  # CE with each second term, as the page calls it
MAIN = ("CE", "DiceCE", "JaccardCE", "RCE-L1", "RCE-KL")
DECIDED = " (dice)"  # after the name of a loss: its networks, decided for Dice


@dataclass(frozen=True, eq=False)  # a set is itself, so that what is computed of it can be remembered
class EvidenceSet:
    """One data set of the study.

    Attributes:
        name: of its protocol and its tables.
        protocol: what the YAML holds.
        names: its title, and its classes by number.
        results: all rows.
        runs: one dictionary for each run.
        groups: by case, the patient, where known.
        chosen: by arm, the loss with the λ that was best on validation; missing until the grid is complete.
        without: classes that are left out of the score.
        called: by loss, the arm that it is; None: as ``losses`` has it.
    """

    name: str
    protocol: Mapping
    names: Mapping
    results: Results = field(repr=False)
    runs: Sequence[Mapping[str, str]] = field(repr=False)
    groups: Mapping[str, str] = field(repr=False)
    chosen: Mapping[str, str]
    without: tuple[int, ...] = ()
    called: Mapping[str, str] | None = None

    @property
    def title(self) -> str:
        """What the page calls it."""
        left_out = [self.names["classes"].get(one, str(one)) for one in self.without]
        return self.names["title"] + (f" without {', '.join(left_out)}" if left_out else "")

    @cached_property
    def losses(self) -> dict[str, str]:
        """By loss in the table, the arm that it is on this set; other λ of the grid and trials are none."""
        if self.called is not None:
            return dict(self.called)
        arms = {loss: arm for arm, loss in self.chosen.items()}
        named = (*runner.PLAIN, *runner.OTHERS, "CC-DiceCE")
        return arms | {loss: loss for loss in dict.fromkeys(one["loss"] for one in self.runs) if loss in named}

    def seeds(self, arm: str) -> tuple[str, ...]:
        """The seeds that an arm was run with."""
        return tuple(one["seed"] for one in self.runs if self.losses.get(one["loss"]) == arm)

    def rows(self, *metrics: str) -> Results:
        """The rows of the arms, by their names; of these metrics, or of all."""
        keep = _rows_with(self.results.text["loss"], self.losses)
        if metrics:
            keep &= _rows_with(self.results.text["metric"], metrics)
        if self.without:
            keep &= ~np.isin(self.results.class_id, self.without)
        keep = np.flatnonzero(keep)
        place = np.array([_place(self.losses.get(word, "")) for word in self.results.text["loss"].words])
        keep = keep[
            np.argsort(place[self.results.text["loss"].codes[keep]], kind="stable")
        ]  # tables show arms as they come
        text = {name: replace(column, codes=column.codes[keep]) for name, column in self.results.text.items()}
        text["loss"] = _renamed(text["loss"], self.losses)
        return Results(text, self.results.class_id[keep], self.results.value[keep])

    def arranged(self, metric: str) -> SettingScores | None:
        """One metric of the arms, for the statistics; None where no row has it."""
        rows = self.rows(metric)
        if not np.isfinite(rows.value).any():
            return None
        data, model = (rows.text[name].words[rows.text[name].codes[0]] for name in ("data", "model"))
        return replace(arrange(rows, data=data, model=model, metric=metric), data=self.title)

    @cached_property
    def dsc(self) -> SettingScores | None:
        """The DSC of every arm."""
        return self.arranged("dsc")

    @property
    def fewer_decided(self) -> dict[str, int]:
        """The decided arms that lack runs of their loss, with the number of runs that they have."""
        if self.dsc is None:
            return {}
        runs = {arm: int(self.dsc.present[at].sum()) for at, arm in enumerate(self.dsc.arms)}
        return {arm: count for arm, count in runs.items() if count < runs.get(arm.removesuffix(DECIDED), count)}

    @cached_property
    def scores(self) -> Scores:
        """The rows of every arm, for tables of means."""
        scores = label_results(self.rows())
        names = {(0, class_id): name for class_id, name in self.names["classes"].items()}
        return replace(scores, settings=[self.title], class_names=names)

    def leaving_out(self, *classes: int) -> "EvidenceSet":
        """The same with these classes left out of the score."""
        return replace(self, without=classes)

    def calling(self, names: Mapping[str, str]) -> "EvidenceSet":
        """The same with these losses as its arms."""
        known = {one["loss"] for one in self.runs}
        return replace(self, called={loss: arm for loss, arm in names.items() if loss in known})

    @property
    def sha256(self) -> str:
        """Of the table of scores."""
        return hashlib.sha256(tables.scores_file(self.name).read_bytes()).hexdigest()


def read_study() -> tuple[EvidenceSet, ...]:
    """The sets that have runs of their arms, in the order of their titles."""
    found = [read_set(name) for name in runner.SETS if tables.scores_file(name).exists()]
    return tuple(sorted((one for one in found if one.losses), key=lambda one: one.title.lower()))


def read_sky() -> tuple[EvidenceSet, ...]:
    """CamVid with its first class as the background, where it was run; no part of the study."""
    name = runner.table("camvid", "sky")
    if not tables.scores_file(name).exists():
        return ()
    one = read_set("camvid", name)
    arms = dict(zip(runner.SKY, ("CE", "DiceCE"), strict=True))
    return (replace(one.calling(arms), names={**one.names, "title": f"{one.title}, sky as background"}),)


def read_longer() -> tuple[EvidenceSet, ...]:
    """CE and DiceCE trained longer, under the titles of their sets, where that was run; no part of the study."""
    found = []
    for name in runner.LONGER_SETS:
        table = runner.table(name, "longer")
        if tables.scores_file(table).exists():
            one = read_set(name, table)
            found.append(one.calling({"CE": "CE", one.chosen["DiceCE"]: "DiceCE"}))
    return tuple(found)


def read_set(name: str, table: str = "") -> EvidenceSet:
    """One set, its λ chosen as the runner chooses them; ``table`` is another of its tables."""
    table = table or name
    folder = runner.HERE / "protocols"
    protocol = yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf-8"))
    runs = tables.read_runs(table)
    chosen = {}
    for term, arm in ROLES.items():
        try:
            chosen[arm] = runner.best_compound(name, term)
        except SystemExit:  # the grid is not complete
            continue
    with tempfile.TemporaryDirectory() as scratch:
        plain = Path(scratch) / "results.csv"
        with open(plain, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows((tables.COLUMNS, *tables.read_scores(table)))
        results = read_results(plain)
    return EvidenceSet(name, protocol, read_names()[name], results, runs, _groups(folder, protocol), chosen)


def read_names() -> Mapping[str, Mapping]:
    """By set, its title and its classes."""
    return yaml.safe_load((runner.HERE / "set_names.yaml").read_text(encoding="utf-8"))


def weight_of(loss: str) -> float:
    """λ of «CE + λ * term»."""
    return float(loss.split("+")[1].split("*")[0])


def _place(arm: str) -> int:
    """The main losses first, the others by their names."""
    return MAIN.index(arm) if arm in MAIN else len(MAIN)


def _groups(folder: Path, protocol: Mapping) -> dict[str, str]:
    if "groups" not in protocol["settings"]:
        return {}
    with open(folder / protocol["settings"]["groups"], encoding="utf-8", newline="") as file:
        return {row["case"]: row["group"] for row in csv.DictReader(file)}


def _rows_with(column: Column, wanted: Sequence[str] | Mapping[str, str]) -> np.ndarray:
    return np.isin(column.codes, [code for code, word in enumerate(column.words) if word in wanted])


def _renamed(column: Column, names: Mapping[str, str]) -> Column:
    """Words by their new names, a code for each; what is not among them is in no row."""
    words = tuple(dict.fromkeys(names.get(word, word) for word in column.words))
    places = np.array([words.index(names.get(word, word)) for word in column.words], dtype=np.int32)
    return Column(words, places[column.codes])
