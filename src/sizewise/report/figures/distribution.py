"""How the scores of single cases are spread: violins of DSC."""

import numpy as np

from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View, numbers
from sizewise.report.conclusions import Conclusions
from sizewise.report.means import case_scores
from sizewise.report.scores import Scores

SECTION = "Scores"
MOST_VIEWS = 40
BINS = 160  # of the smooth histogram that a violin is
DOTS = 60  # single cases drawn in a violin; the shape is made of all


def violins(scores: Scores, conclusions: Conclusions) -> Figure | LeftOut:
    """DSC of the cases, one violin per loss; a case's DSC is the mean over its classes, or that of one class."""
    title = "DSC of the cases"
    if not len(scores.of("dsc").known.value):
        return LeftOut("violins", title, SECTION, "the table has no DSC.")
    views: list[View] = []
    rows: list[list] = []
    for label, setting, class_id in _views(scores):
        arm, value = _values(scores, setting, class_id)
        marks: list[Mark] = []
        ticks = []
        present = [one for one in range(len(scores.arm_names)) if (arm == one).any()]
        for at, one in enumerate(present):
            values = value[arm == one]
            low, q1, median, q3, high = (float(q) for q in np.percentile(values, [0, 25, 50, 75, 100]))
            rows.append([label, scores.arm_names[one], len(values), low, q1, median, q3, high, float(values.mean())])
            marks += _violin(at, one, scores.arm_names[one], values, (q1, median, q3))
            tick = conclusions.tick(label, scores.arm_names[one], "dsc")  # of a class alone nothing is tested
            ticks.append((float(at), f"{scores.arm_names[one]} {tick}".rstrip()))
        if len(views) == MOST_VIEWS:
            continue  # the numbers go on
        views.append(View(label, [Panel(marks, y_label="DSC (%)", x_ticks=ticks, y_range=(-2, 102))]))
    return Figure(
        "violins",
        title,
        "The width is the share of cases with that score, seeds together. The mark is the median, the bar spans the "
        f"quartiles, the dots are single cases.{conclusions.tick_note('dsc')}",
        SECTION,
        views,
        ["view", "loss", "values", "lowest", "quartile_1", "median", "quartile_3", "highest", "mean"],
        rows,
        choose="data and class",
        height=0.55,
    )


def density(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A smooth histogram on [0, 1]: Gaussian kernel of Silverman's width, reflected at the ends.

    >>> at, height = density(np.array([0.5, 0.5, 0.6]))
    >>> round(float((height * (at[1] - at[0])).sum()), 3)
    1.0
    """
    counts, edges = np.histogram(np.clip(values, 0, 1), bins=BINS, range=(0, 1))
    spread = min(values.std(), np.subtract(*np.percentile(values, [75, 25])) / 1.34 or np.inf)
    width = max(0.9 * spread * len(values) ** -0.2, 0.006)
    reach = np.arange(-BINS, BINS + 1) / BINS
    kernel = np.exp(-0.5 * (reach / width) ** 2)
    padded = np.concatenate([counts[::-1], counts, counts[::-1]])
    smooth = np.convolve(padded, kernel / kernel.sum(), mode="same")[BINS : 2 * BINS]
    return (edges[:-1] + edges[1:]) / 2, smooth / max(smooth.sum(), 1e-12) * BINS


def _violin(at: int, style: int, name: str, values: np.ndarray, quartiles: tuple[float, float, float]) -> list[Mark]:
    where, height = density(values)
    inside = (where >= values.min() - 0.02) & (where <= values.max() + 0.02)
    where, half = where[inside][::2], (0.42 * height / height.max())[inside][::2]
    outline = (
        numbers(np.concatenate([at - half, (at + half)[::-1]])),
        numbers(100 * np.concatenate([where, where[::-1]])),
    )
    random = np.random.default_rng(at)
    dots = values if len(values) <= DOTS else random.choice(values, DOTS, replace=False)
    jitter = at + 0.28 * (random.random(len(dots)) - 0.5)
    q1, median, q3 = (100 * value for value in quartiles)
    middle = f"median {median:.2f}\nquartiles {q1:.2f} to {q3:.2f}\nmean {100 * values.mean():.2f}"
    tips = f"{name}\n{middle}\n{len(values)} values"
    return [
        Mark("area", *outline, label=name, style=style, listed=False),
        Mark(
            "points", numbers(jitter), numbers(100 * dots), name, style, text=[""] * len(dots), faint=True, listed=False
        ),
        Mark("points", [float(at)], numbers([median]), name, style, numbers([q1]), numbers([q3]), [tips]),
    ]


def _views(scores: Scores) -> list[tuple[str, int, int | None]]:
    """The mean over classes of every setting first, then single classes while they fit."""
    views: list[tuple[str, int, int | None]] = [(name, at, None) for at, name in enumerate(scores.settings)]
    for at, name in enumerate(scores.settings):
        ids = scores.class_ids(at)
        if len(ids) > 1:
            views += [(f"{name}: {scores.class_name(at, one)}", at, one) for one in ids]
    return views


def _values(scores: Scores, setting: int, class_id: int | None) -> tuple[np.ndarray, np.ndarray]:
    if class_id is None:
        settings, arm, _, _, value = case_scores(scores, "dsc")
        return arm[settings == setting], value[settings == setting]
    part = scores.of("dsc").known
    chosen = (part.setting == setting) & (part.class_id == class_id)
    return part.arm[chosen], part.value[chosen]
