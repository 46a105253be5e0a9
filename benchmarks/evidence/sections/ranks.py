"""Mean ranks over the sets, with critical differences: the losses by argmax, and every arm."""

from dataclasses import replace

import run as runner

from sections.study import MAIN, EvidenceSet
from sections.wording import table
from sizewise.metrics.cases_csv import ARGMAX
from sizewise.report.chart import Figure, LeftOut
from sizewise.report.figures.critical import critical
from sizewise.report.ranking import rank_losses, ranking_table
from sizewise.study.statistics.setting_scores import SettingScores


def rank_figures(sets: tuple[EvidenceSet, ...]) -> list[Figure | LeftOut]:
    """Losses by argmax, all that every set has; and the main ones under both decisions."""
    return [
        _diagram(every_loss(sets), "evidence-ranks-argmax", "Losses by argmax", "loss", "losses"),
        _diagram(main_arms(sets), "evidence-ranks", "Losses and decisions", "arm", "arms"),
    ]


def named_ranks(sets: tuple[EvidenceSet, ...]) -> Figure | LeftOut:
    """Every named loss by argmax, over the sets that have them all."""
    whole = [one for one in with_main_losses(sets) if set(runner.OTHERS) <= set(one.dsc.arms)]
    names = {*MAIN, *runner.OTHERS}
    scores = [_only(one.dsc, [arm for arm in one.dsc.arms if arm in names]) for one in whole]
    return _diagram(scores, "evidence-ranks-named", "Every named loss by argmax", "loss", "losses")


def rank_table(sets: tuple[EvidenceSet, ...]) -> list[str]:
    """How firm the ranks of the main arms are."""
    scores = main_arms(sets)
    found = rank_losses(scores, {one.title: one.groups for one in sets}) if scores else None
    if found is None or len(found.data) < 2:
        return ["Ranks need two sets at least that share their arms.", ""]
    return table(ranking_table(found, seeds=min(len(one.seeds) for one in scores), what="arm"))


def main_arms(sets: tuple[EvidenceSet, ...]) -> list[SettingScores]:
    """The scores of the five main losses under either decision."""
    names = {*MAIN, *(f"{loss} (dice)" for loss in MAIN)}
    return [_only(one.dsc, [arm for arm in one.dsc.arms if arm in names]) for one in with_main_losses(sets)]


def every_loss(sets: tuple[EvidenceSet, ...]) -> list[SettingScores]:
    """The scores of all losses by argmax."""
    found = [one.dsc for one in with_main_losses(sets)]
    return [_only(one, [arm for arm in one.arms if one.decision_of[arm] == ARGMAX]) for one in found]


def with_main_losses(sets: tuple[EvidenceSet, ...]) -> list[EvidenceSet]:
    """The sets that have all main losses, if there are two.

    Ranks are of what every set has, so that one half-done set would take losses from them all.
    """
    scored = [one for one in sets if one.dsc is not None]
    whole = [one for one in scored if set(MAIN) <= set(one.dsc.arms)]
    return whole if len(whole) > 1 else scored


def _only(scores: SettingScores, arms: list[str]) -> SettingScores:
    at = [scores.arm(arm) for arm in arms]
    return replace(scores, arms=tuple(arms), values=scores.values[at], present=scores.present[at])


def _diagram(scores: list[SettingScores], name: str, title: str, what: str, plural: str) -> Figure | LeftOut:
    names = list(dict.fromkeys(arm for one in scores for arm in one.arms))
    return replace(critical(scores, names, what=what, plural=plural), name=name, title=title)
