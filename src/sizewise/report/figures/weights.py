"""How the score depends on λ."""

from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View, numbers
from sizewise.report.scores import Scores
from sizewise.report.summary import overall_means

SECTION = "Scores"


def weight_curves(scores: Scores) -> Figure | LeftOut:
    """Mean DSC over the weight λ of each compound loss; losses without λ are levels to compare with."""
    title = "Score over the weight λ"
    losses = list(dict.fromkeys(scores.losses))
    several = [
        loss for loss in losses if len({w for x, w in zip(scores.losses, scores.weights, strict=True) if x == loss}) > 1
    ]
    if not several:
        return LeftOut("weights", title, SECTION, "no loss was run with more than one λ (compare --weights 0.1,1).")
    means = overall_means(scores, "dsc")
    views, rows = [], []
    for arena, name in enumerate(scores.arenas):
        marks = []
        weights = [float(w) for x, w in zip(scores.losses, scores.weights, strict=True) if x in several and w]
        for style, loss in enumerate(losses):
            found = sorted(
                (float(weight) if weight else None, means[arena, at])
                for at, (one, weight) in enumerate(zip(scores.losses, scores.weights, strict=True))
                if one == loss and (arena, at) in means and (weight or loss not in several)
            )
            rows += [[name, loss, weight, mean.mean, mean.std, mean.seeds] for weight, mean in found]
            if loss in several and found:
                x = numbers(weight for weight, _ in found if weight is not None)
                y = numbers(100 * mean.mean for _, mean in found)
                ends = [numbers(100 * (m.mean + sign * (m.std or 0)) for _, m in found) for sign in (-1, 1)]
                says = [
                    f"{loss}, λ = {weight:g}\nDSC {mean.percent()} % over {mean.seeds} seeds" for weight, mean in found
                ]
                marks.append(Mark("line", x, y, loss, style, text=says))
                marks.append(Mark("points", x, y, loss, style, ends[0], ends[1], says, listed=False))
            elif found and weights:
                level = numbers([100 * found[0][1].mean] * 2)
                marks.append(Mark("line", [min(weights), max(weights)], level, loss, style, dashed=True))
        ticks = [(weight, f"{weight:g}") for weight in sorted(set(weights))]
        views.append(View(name, [Panel(marks, "", "weight λ", "mean DSC (%)", x_ticks=ticks, x_log=min(weights) > 0)]))
    return Figure(
        "weights",
        title,
        "Mean over cases, classes and seeds; bars are one standard deviation over seeds. Dashed: losses without λ, or "
        "with one value of it.",
        SECTION,
        views,
        ["data", "loss", "weight", "mean_dsc", "std_over_seeds", "seeds"],
        rows,
        choose="data and model",
    )
