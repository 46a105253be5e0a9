"""Predicted against true region sizes: bias and limits of agreement, and the error by region size."""

import numpy as np

from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View, numbers
from sizewise.report.regions import Sizes
from sizewise.report.scores import Part, Scores, group_means

SECTION = "Region sizes"
MOST_VIEWS = 24
MOST_DOTS = 12_000  # of the whole figure
BINS = 6


def agreement(scores: Scores, sizes: Sizes) -> Figure | LeftOut:
    """Bland and Altman: p − t over t of every case, with the mean difference and its 95 % limits of agreement."""
    title = "Predicted against true region size"
    if not len(sizes.true):
        return LeftOut("sizes", title, SECTION, "the table has no size errors.")
    regions = _regions(scores, sizes)
    panels_in_all = sum(len(np.unique(sizes.part.entry[_of(sizes, *region)])) for region in regions[:MOST_VIEWS])
    dots = max(20, min(250, MOST_DOTS // max(1, panels_in_all)))
    views: list[View] = []
    rows: list[list] = []
    for arena, class_id in regions:
        chosen = _of(sizes, arena, class_id)
        name = _region_name(scores, arena, class_id)
        panels = []
        for entry in np.unique(sizes.part.entry[chosen]):
            mine = chosen & (sizes.part.entry == entry)
            true, error = sizes.true[mine], sizes.part.value[mine]
            bias, spread = float(error.mean()), float(error.std(ddof=1)) if len(error) > 1 else 0.0
            lower, upper = bias - 1.96 * spread, bias + 1.96 * spread
            loss = scores.entries[entry]
            rows.append([name, loss, len(error), float(true.mean()), bias, lower, upper, float(np.abs(error).mean())])
            kept = _sample(len(true), dots)
            cases = sizes.part.case[mine][kept]
            says = [
                f"{scores.cases[case]}\ntrue {100 * t:.3g} %, predicted {100 * (t + e):.3g} %"
                for case, t, e in zip(cases, true[kept], error[kept], strict=True)
            ]
            ends = numbers([100 * true.min(), 100 * true.max()])
            says_bias = f"{loss}: bias {100 * bias:+.3g} points, limits {100 * lower:+.3g} to {100 * upper:+.3g}"
            marks = [
                Mark("line", ends, [0.0, 0.0]),
                Mark(
                    "points",
                    numbers(100 * true[kept]),
                    numbers(100 * error[kept]),
                    "",
                    int(entry),
                    text=says,
                    faint=True,
                ),
                Mark("line", ends, numbers([100 * bias] * 2), "bias", int(entry), text=[says_bias] * 2, listed=False),
                *(
                    Mark(
                        "line",
                        ends,
                        numbers([100 * limit] * 2),
                        "limits",
                        int(entry),
                        dashed=True,
                        listed=False,
                        text=[says_bias] * 2,
                    )
                    for limit in (lower, upper)
                ),
            ]
            panels.append(Panel(marks, loss, "true size (% of the image)", "predicted − true (points)"))
        if len(views) < MOST_VIEWS:
            views.append(View(name, _same_range(panels)))
    left_out = f" {sizes.unknown} values are left out: their true size is not in the table." if sizes.unknown else ""
    return Figure(
        "sizes",
        title,
        "Each dot is a case (a sample where there are many). The line is the bias, the mean of predicted minus true "
        "size; 95 % of the cases are expected between the dashed limits of agreement (bias ± 1.96 standard deviations)."
        + left_out
        + _limited(len(regions)),
        SECTION,
        views,
        [
            "region",
            "loss",
            "values",
            "mean_true_proportion",
            "bias",
            "lower_limit",
            "upper_limit",
            "mean_absolute_error",
        ],
        rows,
        choose="data and class",
        height=0.8,
    )


def error_by_size(scores: Scores, sizes: Sizes) -> Figure | LeftOut:
    """The relative size error, and the DSC, of regions from small to large: bins with equally many cases."""
    title = "Error by region size"
    present = sizes.true > 0
    if present.sum() < 2:
        return LeftOut("size-errors", title, SECTION, "no case has a region whose true size is known.")
    dsc = _dsc_beside(scores, sizes.part)
    views: list[View] = []
    rows: list[list] = []
    for arena, class_id in _regions(scores, sizes):
        chosen = _of(sizes, arena, class_id) & present
        if chosen.sum() < 2:
            continue
        name = _region_name(scores, arena, class_id)
        edges = np.unique(np.quantile(sizes.true[chosen], np.linspace(0, 1, BINS + 1)))
        bins = np.clip(np.searchsorted(edges, sizes.true, side="right") - 1, 0, max(0, len(edges) - 2))
        error_marks: list[Mark] = []
        score_marks: list[Mark] = []
        for entry in np.unique(sizes.part.entry[chosen]):
            mine = chosen & (sizes.part.entry == entry)
            loss = scores.entries[entry]
            (bin_of,), centre, count = group_means([bins[mine]], np.log(sizes.true[mine]))
            relative = group_means([bins[mine]], sizes.part.value[mine] / sizes.true[mine])[1]
            overlap = group_means([bins[mine]], np.nan_to_num(dsc[mine]))[1]
            x = 100 * np.exp(centre)
            for drawn, values, form in (
                (error_marks, 100 * relative, "{:+.3g} %"),
                (score_marks, 100 * overlap, "{:.2f} %"),
            ):
                says = [
                    f"{loss}\n{n} regions around {at:.3g} %: {form.format(v)}"
                    for n, at, v in zip(count, x, values, strict=True)
                ]
                drawn.append(Mark("line", numbers(x), numbers(values), loss, int(entry)))
                drawn.append(Mark("points", numbers(x), numbers(values), loss, int(entry), text=says, listed=False))
            rows += [
                [
                    name,
                    loss,
                    int(b),
                    float(edges[b]),
                    float(edges[min(b + 1, len(edges) - 1)]),
                    int(n),
                    float(r),
                    float(o),
                ]
                for b, n, r, o in zip(bin_of, count, relative, overlap, strict=True)
            ]
        zero = Mark("line", numbers(100 * edges[[0, -1]]), [0.0, 0.0])
        axis = "true size (% of the image)"
        panels = [
            Panel([zero, *error_marks], "size error", axis, "(predicted − true) / true (%)", x_log=True),
            Panel(score_marks, "overlap", axis, "mean DSC (%)", x_log=True),
        ]
        if len(views) < MOST_VIEWS:
            views.append(View(name, panels))
    return Figure(
        "size-errors",
        title,
        f"Regions from small to large, in up to {BINS} groups of equally many. Below 0 the loss makes such regions too "
        "small, above 0 too large." + _limited(len(_regions(scores, sizes))),
        SECTION,
        views,
        ["region", "loss", "bin", "from_proportion", "to_proportion", "values", "mean_relative_error", "mean_dsc"],
        rows,
        choose="data and class",
    )


def _limited(regions: int) -> str:
    if regions <= MOST_VIEWS:
        return ""
    return f" The first {MOST_VIEWS} of {regions} regions are drawn; the numbers of all are in the table behind."


def _dsc_beside(scores: Scores, part: Part) -> np.ndarray:
    """The DSC of the same run, case and class; NaN where there is none."""
    dsc = scores.of("dsc")

    def key(one: Part) -> np.ndarray:
        joined = one.arena.astype(np.int64)
        for codes, count in (
            (one.entry, len(scores.entries)),
            (one.seed, len(scores.seeds)),
            (one.case, len(scores.cases)),
        ):
            joined = joined * max(1, count) + codes
        return joined * 70_000 + one.class_id

    if not len(dsc.value):
        return np.full(len(part.value), np.nan)
    order = np.argsort(key(dsc))
    at = np.clip(np.searchsorted(key(dsc)[order], key(part)), 0, len(order) - 1)
    return np.where(key(dsc)[order][at] == key(part), dsc.value[order][at], np.nan)


def _regions(scores: Scores, sizes: Sizes) -> list[tuple[int, int]]:
    found = np.unique(np.stack([sizes.part.arena, sizes.part.class_id]), axis=1).T
    return [(int(arena), int(class_id)) for arena, class_id in found]


def _of(sizes: Sizes, arena: int, class_id: int) -> np.ndarray:
    return (sizes.part.arena == arena) & (sizes.part.class_id == class_id)


def _region_name(scores: Scores, arena: int, class_id: int) -> str:
    return f"{scores.arenas[arena]}: {scores.class_name(arena, class_id)}"


def _sample(count: int, most: int) -> np.ndarray:
    return np.arange(count) if count <= most else np.sort(np.random.default_rng(0).choice(count, most, replace=False))


def _same_range(panels: list[Panel]) -> list[Panel]:
    """The losses of a region on one scale, so that they can be compared by eye."""
    from dataclasses import replace

    values = [v for panel in panels for mark in panel.marks for v in mark.y if v is not None]
    room = 0.05 * (max(values) - min(values)) or 0.5
    return [replace(panel, y_range=(min(values) - room, max(values) + room)) for panel in panels]
