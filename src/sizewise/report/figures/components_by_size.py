"""How many of the true components are found, from small to large ones."""

from collections.abc import Callable

from sizewise.metrics.component_matches import THIRDS
from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View, numbers
from sizewise.report.figures.side_by_side import beside
from sizewise.report.figures.size_agreement import MOST_VIEWS, SECTION
from sizewise.report.means import Mean, class_means
from sizewise.report.scores import Scores
from sizewise.report.true_sizes import region_name

NAME, TITLE = "component-recall", "Found components by size"
SIDES = {"component_recall": "found (recall)", "component_precision": "right (precision)"}
COLUMNS = ("region", "loss", "metric", "third", "mean", "std", "seeds")


def components_by_size(scores: Scores) -> Figure | LeftOut:
    """Recall and precision of components in thirds of the data set's sizes, for each arm."""
    means = {(side, third): class_means(scores, f"{side}_{third}") for side in SIDES for third in THIRDS}
    regions = sorted({(setting, class_id) for found in means.values() for setting, _, class_id in found})
    if not regions:
        why = "the scores have no components: label maps were scored before there were such metrics."
        return LeftOut(NAME, TITLE, SECTION, why)
    views: list[View] = []
    rows: list[list] = []
    for setting, class_id in regions:
        region, panels = region_name(scores, setting, class_id), []
        for side, words in SIDES.items():
            marks: list[Mark] = []
            for arm, loss in enumerate(scores.arm_names):
                points = [means[side, third].get((setting, arm, class_id)) for third in THIRDS]
                marks += _curve(points, loss, arm, beside(arm, len(scores.arm_names), range(len(THIRDS))))
                rows += [
                    [region, loss, side, third, one.mean, one.std, one.seeds]
                    for third, one in zip(THIRDS, points, strict=True)
                    if one is not None
                ]
            ticks = list(enumerate(THIRDS))
            panels.append(Panel(marks, words, "size of the component, thirds", "mean (%)", x_ticks=ticks))
        if len(views) < MOST_VIEWS:
            views.append(View(region, panels))
    caption = (
        "True components that the prediction meets in at least one pixel (left), and predicted components that meet a "
        "true one (right), by size: thirds of the true components of the class. Means over cases, then seeds; bars are "
        "the standard deviation over seeds, cut off at 0 and 100 %; points of several losses stand side by side."
    )
    return Figure(NAME, TITLE, caption, SECTION, views, COLUMNS, rows, choose="data and class")


def _curve(points: list[Mean | None], loss: str, style: int, aside: Callable[[float], float]) -> list[Mark]:
    known = [(place, one) for place, one in enumerate(points) if one is not None]
    if not known:
        return []
    x, y = numbers(aside(place) for place, _ in known), numbers(100 * one.mean for _, one in known)
    spread = [100 * (one.std or 0.0) for _, one in known]
    low, high = (
        numbers(min(100.0, max(0.0, 100 * one.mean + sign * s)) for (_, one), s in zip(known, spread, strict=True))
        for sign in (-1, 1)
    )
    tips = [f"{loss}\n{THIRDS[place]}: {one.text(scale=100)} %" for place, one in known]
    return [
        Mark("line", x, y, loss, style),
        Mark("points", x, y, loss, style, low=low, high=high, text=tips, listed=False),
    ]
