"""The definitions of all terms and losses in slow, obvious numpy. Imports nothing of sizewise.

``term`` and ``loss`` take numpy arrays, and the options of the library by the same names.
"""

import numpy as np
from oracle_pixels import in_scope, problems

# The formula of each term, a value per region; o holds the options.


def dice(a, o):
    return 1 - (2 * a.I + o["smooth"]) / (a.P() + a.T + o["smooth"])


def log_dice(a, o):
    return np.log(a.P() + a.T + o["smooth"]) - np.log(2 * a.I + o["smooth"])


def tversky(a, o):
    wrong = o["alpha"] * (a.P() - a.I) + o["beta"] * (a.T - a.I)
    return 1 - (a.I + o["smooth"]) / (a.I + wrong + o["smooth"])


def jaccard(a, o):
    return 1 - (a.I + o["smooth"]) / (a.P() + a.T - a.I + o["smooth"])


def dice_bias(a, o):
    return np.log((a.P(o["temperature"]) + a.T + o["smooth"]) / a.valid.sum())


def balanced_cross_entropy(a, o):
    return np.array([nll / count if count > 0 else 0.0 for nll, count in zip(a.focal(0), a.T, strict=True)])


def size_target(a, o):
    return a.y[a.valid].mean(0) if o["target"] is None else a.shares(o["target"], o["pixels"])


def size_l1(a, o):
    return np.abs(a.proportions(o["temperature"], o["pixels"]) - size_target(a, o))


def size_kl(a, o):
    predicted = np.maximum(a.proportions(o["temperature"], o["pixels"]), np.finfo(np.float64).tiny)
    pairs = zip(size_target(a, o), predicted, strict=True)
    return np.array([(t * (np.log(t) - np.log(p)) if t > 0 else 0.0) - t + p for t, p in pairs])


def size_bounds(a, o):
    predicted = a.proportions(o["temperature"], o["pixels"])
    over = np.maximum(0, predicted - a.shares(o["upper"], o["pixels"]))
    under = np.maximum(0, a.shares(o["lower"], o["pixels"]) - predicted)
    return over**2 + under**2


def barrier(x, t):
    return -np.log(-x) / t if x <= -1 / t**2 else t * x - np.log(1 / t**2) / t + 1 / t


def size_barrier(a, o):
    predicted = a.proportions(o["temperature"], o["pixels"])
    over = predicted - a.shares(o["upper"], o["pixels"])
    under = a.shares(o["lower"], o["pixels"]) - predicted
    return np.array([barrier(x, o["t"]) + barrier(v, o["t"]) for x, v in zip(over, under, strict=True)])


OVERLAP = {"scope": "image", "absent": "include", "class_reduction": "mean", "smooth": 1.0}
SIZE = {"scope": "image", "absent": "include", "class_reduction": "sum", "temperature": 10.0, "pixels": "valid"}
BALANCED = {"scope": "image", "absent": "skip", "class_reduction": "sum"}
# term: (formula, whether a sigmoid channel is its foreground alone, defaults)
REGION_TERMS = {
    "BalancedCrossEntropy": (balanced_cross_entropy, False, BALANCED),
    "Dice": (dice, True, OVERLAP),
    "LogDice": (log_dice, True, OVERLAP),
    "Tversky": (tversky, True, OVERLAP | {"alpha": 0.5, "beta": 0.5}),
    "Jaccard": (jaccard, True, OVERLAP),
    "DiceBias": (dice_bias, True, OVERLAP | {"temperature": 10.0}),
    "SizeL1": (size_l1, False, SIZE | {"target": None, "class_reduction": "mean"}),
    "SizeKL": (size_kl, False, SIZE | {"target": None}),
    "SizeBounds": (size_bounds, False, SIZE | {"lower": 0.0, "upper": 1.0}),
    "SizeBarrier": (size_barrier, False, SIZE | {"lower": 0.0, "upper": 1.0, "t": 5.0}),
}
# The others reduce in their own way.
OTHER_TERMS = {
    "CrossEntropy": {"scope": "batch", "gamma": 0},
    "Focal": {"scope": "batch", "gamma": 2},
    "GeneralizedDice": {"scope": "image", "absent": "include", "smooth": 1.0},
}
TERMS = (*OTHER_TERMS, *REGION_TERMS)


def term(name, logits, target, mask=None, ignore_index=None, activation="softmax", /, **options):
    """The value of one term, with the defaults of its definition."""
    formula, foreground_alone, defaults = REGION_TERMS.get(name) or (None, False, OTHER_TERMS[name])
    o = {"classes": "all", "class_weight": None} | defaults | options
    images, channels = logits.shape[:2]
    values, channel_weights = [], []
    for channel, areas in enumerate(problems(logits, target, mask, ignore_index, activation)):
        own = dict(o)
        if activation == "softmax":
            chosen = {"all": range(channels), "foreground": range(1, channels)}.get(str(o["classes"]), o["classes"])
            weight = np.ones(channels) if o["class_weight"] is None else np.asarray(o["class_weight"])
            for option in {"target", "lower", "upper"} & {option for option in o if o[option] is not None}:
                own[option] = np.broadcast_to(np.asarray(o[option]), (images, channels))
        else:
            if not isinstance(o["classes"], str) and channel not in o["classes"]:
                continue
            chosen = [1] if foreground_alone else [0, 1]
            weight = np.ones(2) if o["class_weight"] is None else np.asarray(o["class_weight"])
            weight = weight[channel] if weight.ndim == 2 else weight
            if foreground_alone:  # one region: the weight is its channel's among the others
                channel_weights.append(weight[1])
                weight = np.ones(2)
            share = {  # of the foreground in each image, as a column
                option: np.broadcast_to(np.asarray(o[option]), (images, channels))[:, [channel]]
                for option in ("target", "lower", "upper")
                if o.get(option) is not None
            }
            if "target" in share:
                own["target"] = np.hstack((1 - share["target"], share["target"]))
            if "lower" in share:
                own["lower"] = np.hstack((1 - share["upper"], share["lower"]))
                own["upper"] = np.hstack((1 - share["lower"], share["upper"]))
        scoped = in_scope(areas, o["scope"])
        if name in ("CrossEntropy", "Focal"):
            per_image = [pixel_mean(area, chosen, weight, own) for area in scoped]
        elif name == "GeneralizedDice":
            per_image = [generalized_dice(area, chosen, weight, own) for area in scoped]
        else:
            per_image = [over_classes(formula, area, chosen, weight, own) for area in scoped]
        per_image = [value for value in per_image if value is not None]
        values.append(np.mean(per_image) if per_image else 0.0)
    if channel_weights:
        return divide(sum(w * x for w, x in zip(channel_weights, values, strict=True)), sum(channel_weights))
    return np.mean(values)


def over_classes(formula, area, chosen, weight, o):
    """The sum or mean over the chosen classes; None for an image without a pixel or without a class left."""
    used = [k for k in chosen if o["absent"] == "include" or area.T[k] > 0]
    if not area.inside(o.get("pixels", "valid")).any() or not used:
        return None
    x = formula(area, o)
    total = sum(weight[k] * x[k] for k in used)
    return total if o["class_reduction"] == "sum" else divide(total, sum(weight[k] for k in used))


def pixel_mean(area, chosen, weight, o):
    if not area.valid.any():
        return None
    sums, count = area.focal(o["gamma"]), area.T
    return divide(sum(weight[k] * sums[k] for k in chosen), sum(weight[k] * count[k] for k in chosen))


def generalized_dice(area, chosen, weight, o):
    present = [k for k in chosen if area.T[k] > 0]
    used = chosen if o["absent"] == "include" else present
    if not area.valid.any() or not len(used):
        return None
    overlap = sizes = 0.0
    for k in used:
        w = weight[k] * ((min(area.T[j] for j in present) / area.T[k]) ** 2 if k in present else 1.0)
        overlap += w * area.I[k]
        sizes += w * (area.P()[k] + area.T[k])
    return 1 - (2 * overlap + o["smooth"]) / (sizes + o["smooth"])


def divide(total, divisor):
    return total / divisor if divisor > 0 else 0.0


# The named losses: the terms and their weights.
LOSSES = {
    "CE": {"CrossEntropy": 1},
    "WCE": {"BalancedCrossEntropy": 1},
    "FL": {"Focal": 1},
    "Dice": {"Dice": 1},
    "LogDice": {"LogDice": 1},
    "DiceCE": {"CrossEntropy": 1, "Dice": 0.1},
    "LogDiceCE": {"CrossEntropy": 1, "LogDice": 0.1},
    "DiceFL": {"Focal": 1, "Dice": 0.1},
    "LogDiceFL": {"Focal": 1, "LogDice": 0.1},
    "DBCE": {"CrossEntropy": 1, "DiceBias": 0.01},
    "RCE-L1": {"CrossEntropy": 1, "SizeL1": 1},
    "RCE-KL": {"CrossEntropy": 1, "SizeKL": 0.1},
    "RFL-L1": {"Focal": 1, "SizeL1": 1},
    "RFL-KL": {"Focal": 1, "SizeKL": 0.1},
    "JaccardCE": {"CrossEntropy": 0.25, "Jaccard": 0.75},
}
# Options that a name sets.
OPTIONS = {("JaccardCE", "Jaccard"): {"absent": "skip"}}


def loss(name, logits, target, mask=None, ignore_index=None, activation="softmax"):
    """The value of a named loss with its defaults."""
    return sum(
        weight * term(one, logits, target, mask, ignore_index, activation, **OPTIONS.get((name, one), {}))
        for one, weight in LOSSES[name].items()
    )
