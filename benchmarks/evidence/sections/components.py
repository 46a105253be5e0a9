"""DiceCE at λ = 1 against CC-DiceCE on the sets with many objects: does every component count?"""

import run as runner
import tables

from sections.contrasts import contrast
from sections.study import EvidenceSet
from sections.two_by_two import arm_means
from sections.wording import NO_VALUE, difference, mean_difference, on_sets, points, table
from sizewise.metrics.registry import METRICS
from sizewise.report.formatted_table import Cell, Table

DICE, PER_COMPONENT = runner.COMPONENT_PAIR
NAMES = {DICE: "DiceCE, λ = 1", PER_COMPONENT: PER_COMPONENT}
SHOWN = ("dsc", "nsd", *(one for one in tables.COMPONENTS if "precision_" not in one))


def component_section(sets: tuple[EvidenceSet, ...]) -> list[str]:
    """By argmax: scores of both, their differences, and what can be said."""
    pairs = tuple(one.calling(NAMES) for one in sets if one.name in tables.MANY_OBJECTS)
    pairs = tuple(one for one in pairs if len(one.losses) == len(NAMES))
    if not pairs:
        return ["There are no runs of CC-DiceCE beside DiceCE at λ = 1 yet.", ""]
    found = {metric: contrast(pairs, PER_COMPONENT, NAMES[DICE], metric=metric) for metric in SHOWN}
    found = {metric: one for metric, one in found.items() if one is not None}
    metrics = [metric for metric in SHOWN if any(arm_means(one, metric) for one in pairs)]
    rows = []
    for one in pairs:
        for arm in NAMES.values():
            means = {metric: arm_means(one, metric).get(arm) for metric in metrics}
            cells = [Cell(NO_VALUE if mean is None else mean.text(scale=100)) for mean in means.values()]
            rows.append([Cell(one.title), Cell(arm), *cells])
        by_set = [found[metric].by_set.get(one.title) if metric in found else None for metric in metrics]
        rows.append([Cell(one.title), Cell("difference"), *(Cell(difference(each)) for each in by_set)])
    if len(pairs) > 1:
        rows.append(
            [
                Cell(f"mean of {len(pairs)}"),
                Cell("difference"),
                *(Cell(mean_difference(found.get(m), of=len(pairs))) for m in metrics),
            ]
        )
    heads = ["set", "loss", *(METRICS[metric].head for metric in metrics)]
    note = (
        "By argmax; ± over seeds. A difference has its 95 % interval for new seeds and cases where there are two "
        "seeds at least; ✓ and ✗: shown, corrected over the sets."
    )
    lines = [f"- {METRICS[metric].label}: {_say(found[metric])}" for metric in metrics if metric in found]
    alone = [one.title for one in pairs if not _enough(one)]
    if alone:
        lines.append(
            f"- {', '.join(alone)}: DiceCE at λ = 1 and CC-DiceCE share one seed, so nothing can be concluded there."
        )
    return [*lines, "", *table(Table("components", "Component by component", heads, rows, note, heads=2))]


def _enough(one: EvidenceSet) -> bool:
    shared = set(one.seeds(NAMES[DICE])) & set(one.seeds(PER_COMPONENT))
    return len(shared) > 1


def _say(one) -> str:
    better, worse, of = one.shown(1), one.shown(-1), len(one.usable)
    return f"CC-DiceCE has {points(one)}; shown better {on_sets(better, of)}, worse {on_sets(worse, of)} (of {of})."
