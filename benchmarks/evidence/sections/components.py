"""DiceCE at λ = 1 against CC-DiceCE on the sets with many objects: does every component count?"""

import run as runner
import tables

from sections.contrasts import Contrast, contrast
from sections.study import EvidenceSet
from sections.two_by_two import arm_means
from sections.wording import NO_VALUE, difference, mean_difference, points, table
from sizewise.metrics.registry import METRICS
from sizewise.report.formatted_table import Cell, Table
from sizewise.report.verdict import listed

DICE, PER_COMPONENT = runner.COMPONENT_PAIR
NAMES = {DICE: "DiceCE, λ = 1", PER_COMPONENT: PER_COMPONENT}
SHOWN = ("dsc", "nsd", *(one for one in tables.COMPONENTS if "precision_" not in one))
SMALL, PRECISION = "component_recall_small", "component_precision"
REST = {  # in the sentence on all else
    "dsc": "DSC",
    "nsd": "NSD",
    "component_recall": "recall of all components",
    "component_recall_medium": "recall of medium ones",
    "component_recall_large": "recall of large ones",
}
NONE_YET = "There are no runs of CC-DiceCE beside DiceCE at λ = 1 yet."


def component_section(sets: tuple[EvidenceSet, ...]) -> list[str]:
    """By argmax: what can be said, then the scores of both and their differences."""
    pairs = tuple(one.calling(NAMES) for one in sets if one.name in tables.MANY_OBJECTS)
    pairs = tuple(one for one in pairs if len(one.losses) == len(NAMES))
    if not pairs:
        return [NONE_YET, ""]
    found = {metric: contrast(pairs, PER_COMPONENT, NAMES[DICE], metric=metric) for metric in SHOWN}
    lines = what_it_shows({metric: one for metric, one in found.items() if one is not None})
    alone = [one.title for one in pairs if len(_shared_seeds(one)) < 2]
    if alone:
        lines.append(f"On {listed(alone)} both share fewer than two seeds, so nothing can be concluded there.")
    return [*(line for one in lines for line in (one, "")), *table(_table(pairs, found))]


def what_it_shows(found: dict[str, Contrast]) -> list[str]:
    """In plain words, by what the means over the sets allow: first what the loss is for, then all else."""
    if SMALL not in found or PRECISION not in found:
        return []
    titles = [one.data for one in found[SMALL].usable]
    where = f"On {titles[0]}" if len(titles) == 1 else f"On average over {len(titles)} sets"
    claim = {
        "better": "CC-DiceCE finds more of the small components than DiceCE with the same λ = 1",
        "worse": "CC-DiceCE finds fewer of the small components than DiceCE with the same λ = 1",
        "not shown": "that CC-DiceCE finds more of the small components than DiceCE with the same λ = 1 is not shown",
    }[found[SMALL].word]
    price = {
        "better": "what it draws is more often a true component",
        "worse": "what it draws is less often a true component",
        "not shown": "a difference in how often what it draws is a true component is not shown",
    }
    turn = "but" if {found[SMALL].word, found[PRECISION].word} == {"better", "worse"} else "and"
    first = f"**{where}, {claim}**: recall {points(found[SMALL])}; {turn} {price[found[PRECISION].word]}: precision "
    second = f"{points(found[PRECISION])}."
    words: dict[str, list[str]] = {"better": [], "worse": [], "not shown": []}
    for metric, name in REST.items():
        if metric in found:
            words[found[metric].word].append(name)
    told = {"better": "higher", "worse": "lower", "not shown": "not told apart"}
    rest = "; ".join(f"{told[word]}: {listed(names)}" for word, names in words.items() if names)
    return [f"{first}{second}", f"Its other scores, likewise: {rest}."]


def _table(pairs: tuple[EvidenceSet, ...], found: dict[str, Contrast | None]) -> Table:
    """Score by score, so that a line is short enough for a page."""
    rows = []
    for metric in SHOWN:
        means = {one.title: arm_means(one, metric) for one in pairs}
        contrasts = found[metric]
        for title in (title for title, mean in means.items() if mean):
            cells = [means[title].get(arm) for arm in NAMES.values()]
            texts = [NO_VALUE if mean is None else mean.text(scale=100) for mean in cells]
            pair = contrasts.by_set.get(title) if contrasts else None
            rows.append([METRICS[metric].head, title, *texts, difference(pair)])
        if contrasts and contrasts.sets > 1:
            rows.append([METRICS[metric].head, f"mean of {contrasts.sets}", "", "", mean_difference(contrasts)])
    heads = ["", "set", *NAMES.values(), "difference"]
    note = (
        "By argmax; ± over seeds. A difference has its 95 % interval for new seeds and cases where there are two "
        "seeds at least; ✓ and ✗: shown, corrected over the sets. Small, medium and large are thirds of the true "
        "components of a class in a set."
    )
    return Table("components", "Component by component", heads, [[Cell(one) for one in row] for row in rows], note, 2)


def _shared_seeds(one: EvidenceSet) -> set[str]:
    return set(one.seeds(NAMES[DICE])) & set(one.seeds(PER_COMPONENT))
