"""What the statistics say, in the forms of the report: sentences, tables and figures."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sizewise.errors import BadInput
from sizewise.metrics.cases_csv import ARGMAX
from sizewise.metrics.registry import find_metric
from sizewise.report.comparison_table import comparison_table
from sizewise.report.decision_verdict import METHOD, decision_verdicts
from sizewise.report.formatted_table import Table
from sizewise.report.ranking import FEW_SEEDS, rank_losses, ranking_table, ranking_verdict
from sizewise.report.scores import Scores
from sizewise.report.standing import Standing, stand
from sizewise.report.verdict import VerdictGroup, verdict_of, verdict_of_predictions
from sizewise.study.statistics.paired import Comparison, compare
from sizewise.study.statistics.seed_spread import spread_note
from sizewise.study.statistics.setting_scores import SettingScores, arrange
from sizewise.study.statistics.within_runs import compare_decisions, same_weights

METHODS = (
    "A score is the mean over the cases of a class, then over classes, then over seeds; ± is the standard deviation "
    "over seeds. Where neither the truth nor the prediction has a class, the case has no value; a missed or invented "
    "region scores 0.",
    "Losses are compared on the same cases and seeds. The 95 % intervals resample cases (patients or videos where they "
    "are known) and seeds: they are about new cases and new training runs. How much seeds spread is taken half from "
    "the two losses and half from all that were trained. A difference is claimed where the p-value "
    "of that bootstrap, corrected for all comparisons by Holm's method, is below 0.05. The Wilcoxon signed-rank test "
    "is over cases, with seeds averaged, so it is about these very runs. With one seed, or fewer than 10 groups of "
    "cases, nothing is concluded, and no interval is given.",
    "In the ranking at the top a bar joins neighbours of which no two can be told apart. Pairs with the reference are "
    "judged as above; every other pair by a comparison of its own, corrected for all such pairs.",
)


@dataclass(frozen=True)
class Conclusions:
    """Everything that the statistics bring to the report.

    Attributes:
        verdict: in words.
        tables: of the comparisons, and of the ranking.
        comparisons: by setting, each arm with the reference.
        decisions: by setting, each decision with argmax of the same weights.
        arranged: the scores behind them, one for each setting.
        standings: by setting, where every arm stands among the others.
        methods: how it was done, in words.
    """

    verdict: Sequence[VerdictGroup]
    tables: Sequence[Table] = ()
    comparisons: Mapping[str, Sequence[Comparison]] = field(default_factory=dict)
    decisions: Mapping[str, Sequence[Comparison]] = field(default_factory=dict)
    arranged: Sequence[SettingScores] = ()
    standings: Mapping[str, Standing] = field(default_factory=dict)
    methods: Sequence[str] = METHODS

    def tick(self, setting: str, arm: str, metric: str) -> str:
        """✓ of an arm that is shown better than the reference in this metric, ✗ of a worse one, else empty."""
        compared = bool(self.arranged) and self.arranged[0].metric.name == metric
        return self.standings[setting].tick(arm) if compared and setting in self.standings else ""

    def tick_note(self, metric: str) -> str:
        """What the ticks of this metric mean; empty where there is none."""
        for setting, one in self.standings.items():
            if any(self.tick(setting, arm, metric) for arm in one.arms):
                return f" ✓ is shown better than {one.reference}, ✗ shown worse."
        return ""


def conclude(
    scores: Scores,
    *,
    reference: str = "",
    usual: str = "",
    groups: Mapping[str, Mapping[str, str]] | None = None,
    metric: str = "dsc",
) -> Conclusions:
    """Compare every arm with the reference on every data set and model.

    Args:
        scores: the table.
        reference: the loss or arm that the user named; it must be there.
        usual: the one that the study names; where it has no results, CE or the first arm takes its place.
        groups: by data set, the group of each case, where known.
        metric: what is compared: a score of ``sizewise.metrics.registry``.
    """
    known = set(scores.of(metric).known.setting.tolist())
    arranged = {
        scores.settings[at]: replace(
            arrange(scores.results, data=data, model=model, metric=metric, labels=scores.labels),
            metric=scores.metric(metric, at),
        )
        for at, (data, model) in enumerate(scores.labels.settings)
        if at in known
    }
    if not arranged:
        return Conclusions(
            [VerdictGroup("", f"Nothing can be concluded: the table has no {find_metric(metric).label}.")]
        )
    how = next(iter(arranged.values())).metric
    notes = [f"{setting}: {note}" for setting, one in arranged.items() for note in one.notes]
    spreads = {setting: spread_note(one, (groups or {}).get(one.data)) for setting, one in arranged.items()}
    notes += [f"{setting}: {note}" for setting, note in spreads.items() if note]
    if not reference and usual and not arms_of(scores, usual):
        notes.append(f"The study's reference {usual} has no results.")
        usual = ""
    chosen = choose_reference(scores, reference or usual)
    argmax_of = same_weights(scores.arm_names, scores.arms)
    weights_of = {name: argmax_of.get(name, name) for name in scores.arm_names}
    others = {name for name in scores.arm_names if name == chosen or weights_of[name] != weights_of[chosen]}
    by_setting = _comparisons(arranged, chosen, groups, notes, among=others)
    within = by_name(compare_decisions(*arranged.values(), argmax_of=argmax_of, groups=groups), arranged)
    standings = {
        setting: stand(
            one,
            chosen,
            [*by_setting.get(setting, ()), *within.get(setting, ())],
            groups=(groups or {}).get(one.data),
            from_elsewhere=scores.from_elsewhere,
        )
        for setting, one in arranged.items()
    }
    verdict = [
        _verdict(name if len(arranged) > 1 else "", chosen, found, scores, standings[name])
        for name, found in by_setting.items()
    ]
    verdict += decision_verdicts(within)
    if not verdict:
        only = f"no data set has {chosen} and another {scores.what}"
        if len(scores.arm_names) == 1:
            only = f"{chosen} is the only {scores.what}"
        verdict = [VerdictGroup("", f"Nothing to compare: {only}.")]
    if notes:
        verdict.append(VerdictGroup("", "", (), notes))
    tables = [comparison_table(by_setting, f"Each {scores.what} minus {chosen}", scores, how)] if by_setting else []
    if within:
        title = "Each decision minus argmax of the same networks"
        tables.append(comparison_table(within, title, scores, how, name="decisions"))
    ranking = rank_losses(list(arranged.values()), groups)
    if ranking is not None:
        seeds = min(len(one.seeds) for one in arranged.values())
        if len(ranking.data) > 1 or seeds >= FEW_SEEDS:  # else it is the order of the scores, with shares too sure
            tables.append(ranking_table(ranking, seeds=seeds, what=scores.what, label=how.label))
        if len(ranking.data) > 1:
            verdict.insert(0, ranking_verdict(ranking, seeds=seeds, plural=scores.plural))
    methods = (*METHODS, METHOD) if within else METHODS
    return Conclusions(verdict, tables, by_setting, within, list(arranged.values()), standings, methods)


def _comparisons(
    arranged: Mapping[str, SettingScores],
    reference: str,
    groups: Mapping[str, Mapping[str, str]] | None,
    notes: list[str],
    *,
    among: Collection[str],
) -> dict[str, list[Comparison]]:
    """By setting, what can be compared; what cannot, as in a study that is not finished, goes into the notes.

    The arms that are compared are ``among`` these: other decisions of the reference's own weights are left to
    ``compare_decisions``.
    """
    usable: dict[str, SettingScores] = {}
    for setting, one in arranged.items():
        if reference not in one.arms:
            notes.append(f"{setting}: no run of the reference {reference}, so nothing is compared.")
            continue
        shared = (one.present & one.present[one.arm(reference)]).any(axis=1)
        wanted = np.array([arm in among for arm in one.arms])
        for arm, keep in zip(one.arms, shared | ~wanted, strict=True):
            if not keep:
                notes.append(f"{setting}: {arm} has no seed in common with {reference}, so it is not compared.")
        shared &= wanted
        kept = tuple(arm for arm, keep in zip(one.arms, shared, strict=True) if keep)
        usable[setting] = replace(one, arms=kept, values=one.values[shared], present=one.present[shared])
    return by_name(compare(*usable.values(), reference=reference, groups=groups), usable)


def by_name(comparisons: Sequence[Comparison], settings: Mapping[str, SettingScores]) -> dict[str, list[Comparison]]:
    """The comparisons of each setting that has any."""
    found = {
        setting: [each for each in comparisons if (each.data, each.model) == (one.data, one.model)]
        for setting, one in settings.items()
    }
    return {setting: each for setting, each in found.items() if each}


def choose_reference(scores: Scores, wanted: str) -> str:
    """The arm that is meant: its name, or a loss that was run with several λ or τ, of which the first is taken."""
    if not wanted:
        return "CE" if "CE" in scores.arm_names else scores.arm_names[0]
    meant = arms_of(scores, wanted)
    if not meant:
        raise BadInput(f"report: the reference must be one of {', '.join(scores.arm_names)}, got '{wanted}'.")
    return meant[0]


def arms_of(scores: Scores, wanted: str) -> list[str]:
    """The arm of that name, or those of the loss of that name, whatever their λ and τ; those of argmax first."""
    if wanted in scores.arm_names:
        return [wanted]
    found = [(name, arm) for name, arm in zip(scores.arm_names, scores.arms, strict=True) if arm.loss == wanted]
    return [name for name, _ in sorted(found, key=lambda one: one[1].decision not in ("", ARGMAX))]


def _verdict(
    title: str, reference: str, found: Sequence[Comparison], scores: Scores, standing: Standing
) -> VerdictGroup:
    if scores.from_elsewhere and all(one.seeds == 1 for one in found):
        return verdict_of_predictions(title, reference, found)
    return verdict_of(title, reference, found, what=scores.what, standing=standing)
