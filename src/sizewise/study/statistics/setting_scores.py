"""From the long table to arrays: one number per loss, seed and case, whose mean over cases is the reported score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sizewise.errors import BadInput
from sizewise.metrics.cases_csv import ARGMAX
from sizewise.metrics.registry import Metric, find_metric
from sizewise.study.results import Results
from sizewise.study.row_labels import Labels, label_rows
from sizewise.wording import few


@dataclass(frozen=True)
class SettingScores:
    """One metric of one data set and model.

    Attributes:
        data: the data set.
        model: the network.
        metric: what was measured.
        arms: (A,) the names of what is compared.
        seeds: (S,) as in the table, in their numerical order.
        cases: (C,) the cases that every run has, sorted.
        classes: (K,) the labels that are averaged.
        values: (A, S, C, K); NaN: no value (true negative), or the run is missing.
        present: (A, S) whether the run is there.
        notes: what was left out, as sentences.
        decision_of: by arm, how its labels were decided; empty: all alike.
    """

    data: str
    model: str
    metric: Metric
    arms: tuple[str, ...]
    seeds: tuple[str, ...]
    cases: tuple[str, ...]
    classes: tuple[int, ...]
    values: np.ndarray
    present: np.ndarray
    notes: tuple[str, ...] = ()
    decision_of: Mapping[str, str] = field(default_factory=dict)

    def arm(self, name: str) -> int:
        """The position of an arm, or a sentence that lists them."""
        if name not in self.arms:
            raise BadInput(f"statistics: wanted one of the losses {', '.join(self.arms)}, got '{name}'.")
        return self.arms.index(name)

    def class_means(self) -> np.ndarray:
        """(A, S, K): the mean over the cases that have a value; NaN where none has."""
        known = ~np.isnan(self.values)
        total = np.where(known, self.values, 0).sum(axis=2)
        count = known.sum(axis=2)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def contributions(self) -> np.ndarray:
        """(A, S, C): what each case adds to the score of a run; its mean over cases is that score.

        The score is m = mean over classes k of m_k, with m_k the mean of y_ck over the n_k cases that have a value.
        A case contributes

            v_c = m + mean over k of (C / n_k) · w_ck · (y_ck − m_k),   w_ck = 1 where there is a value, else 0.

        Where every case has a value, v_c is simply the mean of its classes. Where some have none, v_c is the score
        plus the case's influence on it, so that a difference of two losses is the difference of their reported
        scores: a true negative adds nothing to its loss, a false alarm pulls its own loss down, and neither loss is
        judged on cases that were picked by the other. Missing runs are NaN.
        """
        known = ~np.isnan(self.values)
        means = self.class_means()[:, :, None, :]
        counts = np.maximum(known.sum(axis=2, keepdims=True), 1)
        influence = np.where(known, self.values - means, 0) * (len(self.cases) / counts)
        score = means.mean(axis=-1)
        result = score + influence.mean(axis=-1)
        return np.where(self.present[:, :, None], result, np.nan)

    def grouped(self, groups: Mapping[str, str] | None = None) -> np.ndarray:
        """(A, S, G): contributions of groups of cases, such as patients, with the same mean as those of the cases.

        A group of n_g cases has v_g = m + (G / C) · Σ_{c in g} (v_c − m): groups are
        resampled, and what is estimated remains the mean over cases. Cases without a group stand alone.
        """
        values = self.contributions()
        codes = group_codes(self.cases, groups)
        if len(self.cases) == 0 or codes.max() + 1 == len(self.cases):
            return values
        mean = values.mean(axis=-1, keepdims=True)
        member = np.equal.outer(codes, np.arange(codes.max() + 1)).astype(float)
        return mean + (values - mean) @ member * (member.shape[1] / len(self.cases))


def group_codes(cases: Sequence[str], groups: Mapping[str, str] | None) -> np.ndarray:
    """(C,) a number from 0 for each group, in order of appearance.

    >>> group_codes(["a", "b", "c"], {"a": "patient 1", "c": "patient 1"}).tolist()
    [0, 1, 0]
    """
    numbers: dict[tuple[str, str], int] = {}
    groups = groups or {}
    keys = [("group", groups[case]) if groups.get(case) else ("case", case) for case in cases]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def arrange(
    results: Results,
    *,
    data: str,
    model: str,
    metric: str = "dsc",
    labels: Labels | None = None,
) -> SettingScores:
    """Arrange the rows of one data set, model and metric.

    A class that some run has no value for is in no target (a region that is missed scores 0); it is left out and named
    in the notes.

    Args:
        results: the long table.
        data: which data set.
        model: which network.
        metric: which metric; errors of size are taken without their sign.
        labels: the arms of the whole table, as ``label_rows`` names them; None: they are named here.

    Raises:
        BadInput: no such rows, or two rows for the same loss, weight, seed, case and class.
    """
    how = find_metric(metric)
    labels = labels or label_rows(results)
    columns = results.text
    rows = columns["data"].rows_with(data) & columns["model"].rows_with(model) & columns["metric"].rows_with(metric)
    rows = np.flatnonzero(rows)
    if len(rows) == 0:
        raise BadInput(f"statistics: the table has no '{metric}' of data '{data}' and model '{model}'.")
    used, arm_of = np.unique(labels.arm_of[rows], return_inverse=True)  # in the order of the whole table
    arms = tuple(labels.names[arm] for arm in used)
    seeds, seed_of = _coded(columns["seed"].words, columns["seed"].codes[rows], key=_seed_order)
    cases, case_of = _coded(columns["case"].words, columns["case"].codes[rows], key=str)
    class_ids, class_of = np.unique(results.class_id[rows], return_inverse=True)
    shape = len(arms), len(seeds), len(cases), len(class_ids)
    places = np.ravel_multi_index((arm_of, seed_of, case_of, class_of), shape)
    _refuse_twice(results, rows, places)
    values, filled = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
    values.flat[places] = np.abs(results.value[rows]) if how.signed else results.value[rows]
    filled.flat[places] = True
    present = np.asarray(filled.any(axis=(2, 3)))
    decisions = {name: labels.arms[arm].decision or ARGMAX for name, arm in zip(arms, used, strict=True)}
    scores = SettingScores(
        data, model, how, arms, seeds, cases, tuple(class_ids.tolist()), values, present, decision_of=decisions
    )
    if _has_folds(columns["run"].codes[rows], arm_of * len(seeds) + seed_of):
        scores = _whole_seeds(scores, filled)
    return _complete(scores, filled)


def _coded(words: Sequence[str], codes: np.ndarray, *, key: object) -> tuple[tuple[str, ...], np.ndarray]:
    used, inverse = np.unique(codes, return_inverse=True)
    names = [words[code] for code in used]
    order = sorted(range(len(names)), key=lambda i: key(names[i]))  # type: ignore[operator]
    return tuple(names[i] for i in order), np.argsort(order)[inverse]


def _seed_order(seed: str) -> tuple[int, float, str]:
    return (0, int(seed), "") if seed.isdecimal() else (1, 0, seed)


def _refuse_twice(results: Results, rows: np.ndarray, places: np.ndarray) -> None:
    order = np.argsort(places, kind="stable")
    again = np.flatnonzero(np.diff(places[order]) == 0)
    if len(again):
        pair = rows[order[again[0] : again[0] + 2]]
        told = {name: column.words[column.codes[pair[0]]] for name, column in results.text.items()}
        runs = " and ".join(repr(results.text["run"].words[code]) for code in results.text["run"].codes[pair])
        raise BadInput(
            f"statistics: two values of {told['metric']} for loss '{told['loss']}', weight '{told['weight']}', seed "
            f"'{told['seed']}', case '{told['case']}', class {results.class_id[pair[0]]} (runs {runs}). "
            "Give runs that differ in something else, such as a temperature, different loss names."
        )


def _has_folds(runs: np.ndarray, of: np.ndarray) -> bool:
    """Whether some arm and seed has several runs: those of a cross-validation, each with the cases that it tested."""
    pairs = np.unique(np.stack([of, runs]), axis=1)
    return len(pairs[0]) > len(np.unique(pairs[0]))


def _whole_seeds(scores: SettingScores, filled: np.ndarray) -> SettingScores:
    """A seed is a complete set of folds; one that lacks some, as in a study that goes on, is left out."""
    in_run = np.asarray(filled.any(axis=3))
    whole = scores.present & (in_run == in_run.any(axis=(0, 1))).all(axis=-1)
    if not whole.any() or (whole == scores.present).all():
        return scores
    parts = [
        f"{arm} seed {seed}"
        for arm, row in zip(scores.arms, scores.present & ~whole, strict=True)
        for seed, left in zip(scores.seeds, row, strict=True)
        if left
    ]
    values = np.where(whole[:, :, None, None], scores.values, np.nan)
    note = f"seeds whose folds are not all there are left out: {few(parts, most=6)}."
    return replace(scores, values=values, present=whole, notes=(*scores.notes, note))


def _complete(scores: SettingScores, filled: np.ndarray) -> SettingScores:
    """Keep the cases that every run has, and the classes that every run has a value for."""
    present, notes = scores.present, list(scores.notes)
    in_run = np.asarray(filled.any(axis=3))
    shared = np.asarray(in_run[present].all(axis=0))
    if not shared.all():
        if not shared.any():
            raise BadInput(f"statistics: the runs on data '{scores.data}' have no case in common.")
        notes.append(f"{int((~shared).sum())} of {len(shared)} cases are not in every run and are left out.")
    values = scores.values[:, :, shared]
    held = np.asarray(~np.isnan(values).all(axis=2)[present].any(axis=0))
    if not held.all() and held.any():
        gone = [label for label, keep in zip(scores.classes, held, strict=True) if not keep]
        notes.append(f"classes without a value in some run, so in no target, are left out: {gone}.")
        values = values[..., held]
    return replace(
        scores,
        cases=tuple(case for case, keep in zip(scores.cases, shared, strict=True) if keep),
        classes=tuple(label for label, keep in zip(scores.classes, held, strict=True) if keep or not held.any()),
        values=values,
        notes=tuple(notes),
    )
