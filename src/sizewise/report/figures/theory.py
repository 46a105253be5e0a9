"""What the losses ask of region sizes: the penalties over the predicted proportion, and the softmax temperature."""

import numpy as np

from sizewise.report.chart import Figure, Mark, Panel, View, numbers

TRUE_PROPORTIONS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
TEMPERATURES = (1, 2, 5, 10, 20)
SECTION = "Theory"


def penalties() -> Figure:
    """DB, KL and L1 of a foreground region and its background, over the predicted proportion p̂ of the foreground.

    DB₁ = log(p̂ + ŷ) is Dice's bias for the foreground alone, DB that of both regions; KL and L1 are the explicit
    penalties. Each is shifted so that its smallest value is 0.
    """
    predicted = np.concatenate(
        [np.geomspace(1e-3, 0.05, 25), np.linspace(0.06, 0.94, 45), 1 - np.geomspace(0.05, 1e-3, 15)]
    )
    views, rows = [], []
    for true in TRUE_PROPORTIONS:
        marks = [_vertical(true)]
        for style, (name, values) in enumerate(penalty_curves(predicted, true).items()):
            marks.append(Mark("line", numbers(predicted), numbers(values), label=name, style=style))
            rows += [[true, name, *pair] for pair in zip(numbers(predicted), numbers(values), strict=True)]
        panel = Panel(
            marks,
            x_label="predicted proportion p̂ of the foreground",
            y_label="penalty",
            y_range=(-0.05, 2.5),
            x_range=(0, 1),
        )
        views.append(View(f"{true:.2f}", [panel]))
    return Figure(
        "penalties",
        "Region-size penalties",
        "What each bias charges for a predicted proportion, against the true one (vertical line; move the slider). KL "
        "and L1 are smallest at the truth. Dice's bias is smallest where the foreground is empty (DB₁), or where one "
        "region holds everything (DB). Each curve is shifted to start from 0.",
        SECTION,
        views,
        ["true_proportion", "penalty", "predicted_proportion", "value"],
        rows,
        choose="true proportion",
        slider=True,
        shown=TRUE_PROPORTIONS.index(0.1),
    )


def penalty_curves(predicted: np.ndarray, true: float) -> dict[str, np.ndarray]:
    """The four penalties at proportions in (0, 1).

    >>> curves = penalty_curves(np.array([0.1, 0.5]), 0.1)
    >>> {name: values.round(3).tolist() for name, values in curves.items()}
    {'DB₁': [0.0, 1.099], 'DB': [0.0, 0.847], 'KL': [0.0, 0.368], 'L1': [0.0, 0.8]}
    """
    rest, true_rest = 1 - predicted, 1 - true
    curves = {
        "DB₁": np.log(predicted + true),
        "DB": np.log(predicted + true) + np.log(rest + true_rest),
        "KL": true * np.log(true / predicted) + true_rest * np.log(true_rest / rest),
        "L1": np.abs(predicted - true) + np.abs(rest - true_rest),
    }
    return {name: values - values.min() for name, values in curves.items()}


def temperature() -> Figure:
    """The softmax of two scores whose difference is z, sharpened by τ: 1 / (1 + exp(−τ z))."""
    difference = np.linspace(-3, 3, 121)
    marks, rows = [], []
    for style, tau in enumerate(TEMPERATURES):
        values = 1 / (1 + np.exp(-tau * difference))
        marks.append(Mark("line", numbers(difference), numbers(values), label=f"τ = {tau}", style=style))
        rows += [[tau, *pair] for pair in zip(numbers(difference), numbers(values), strict=True)]
    panel = Panel(marks, x_label="difference z of the two scores", y_label="softmax(τ z)", y_range=(-0.02, 1.02))
    return Figure(
        "temperature",
        "Softmax temperature",
        "The larger τ, the closer the softmax is to a decision, and the closer its sum is to the size of the region "
        "that would be segmented. The size penalties use τ = 10 unless told otherwise.",
        SECTION,
        [View("", [panel])],
        ["temperature", "score_difference", "probability"],
        rows,
    )


def _vertical(at: float) -> Mark:
    return Mark("line", [at, at], [-0.05, 2.5], dashed=True)
