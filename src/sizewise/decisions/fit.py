"""Fitting a decision on validation batches: the temperature, and for pooled scores the rule itself."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from sizewise.checks import check_word
from sizewise.decisions.decide import check_options, read_input, scored_classes
from sizewise.decisions.decision import Decision
from sizewise.decisions.rule import RATIOS, Rule
from sizewise.decisions.score_fit import TemperatureScores
from sizewise.decisions.search import Aim, best_rule
from sizewise.decisions.size_matching import size_matched_rule
from sizewise.decisions.streaming import Given, Pooled
from sizewise.stats.inputs import check_ignore_index, prepare
from sizewise.stats.reference import can_hold, compute_dtype

LOWEST, HIGHEST = 0.05, 20.0
STEPS = 60
# Relative change of the temperature at which the search ends.
CLOSE = 1e-5

Batch = tuple[Tensor, Tensor] | tuple[Tensor, Tensor, Tensor | None]


def fit_decision(
    batches: Iterable[Batch],
    metric: str = "dice",
    *,
    activation: str = "softmax",
    background: int | None = 0,
    prune: float = 0.5,
    ignore_index: int | None = None,
    scope: str = "image",
    by: str = "likelihood",
) -> Decision:
    """A decision whose temperature makes the probabilities fit the labels of validation batches.

    One number in [0.05, 20] minimises the mean negative log-likelihood over all valid pixels, or for sigmoid the binary
    cross-entropy over all valid pixels and channels. With ``by="score"`` it is that one or another of eleven, whose
    decisions have the highest Dice or IoU on these images, the further away the more of them must ask for it: see
    :mod:`sizewise.decisions.score_fit`. With ``scope="batch"`` the rule is fitted too: the one that is best for all of
    these images together, which then decides single images.

    Args:
        batches: (logits, target) or (logits, target, mask) for each batch. They are gone through several times: a list,
            or an object whose ``__iter__`` starts anew, not a generator.
        metric: see :func:`decide`.
        activation: ``"softmax"`` or ``"sigmoid"``.
        background: the class that is not scored, or None.
        prune: see :func:`decide`; a fitted rule does not use it.
        ignore_index: the label of pixels without a label.
        scope: ``"image"`` or ``"batch"``.
        by: ``"likelihood"``, or ``"score"`` for Dice or IoU of each image.

    >>> import torch, sizewise as sw
    >>> truth = torch.randint(0, 2, (4, 8, 8), generator=torch.Generator().manual_seed(0))
    >>> wrong = torch.rand(4, 8, 8, generator=torch.Generator().manual_seed(1)) < 0.25
    >>> logits = 9.0 * torch.nn.functional.one_hot(truth ^ wrong, 2).movedim(-1, 1)  # sure of itself, right in 3 of 4
    >>> decision = sw.fit_decision([(logits, truth)])
    >>> round(float(torch.sigmoid(9 / decision.temperature)), 2)
    0.75
    """
    where = "fit_decision"
    check_options(where, metric, activation, scope, prune)
    ignore_index = check_ignore_index(where, ignore_index)
    if iter(batches) is batches:
        raise TypeError(
            f"{where}: batches are gone through several times, got a generator or iterator. Pass a list, or an object "
            "whose __iter__ starts anew, as a DataLoader."
        )
    check_word(where, "by", by, ("likelihood", "score"))
    if by == "score" and (metric not in RATIOS or scope != "image"):
        raise ValueError(
            f'{where}: by="score" tunes decisions for "dice" or "iou" of each image, got metric={metric!r} and '
            f"scope={scope!r}. Leave `by` out."
        )
    temperature = fit_temperature(lambda: _read(where, batches, activation, ignore_index), activation == "sigmoid")
    if by == "score":
        options = {"activation": activation, "background": background}
        scores = TemperatureScores(metric, likeliest=temperature, prune=prune, **options)  # type: ignore[arg-type]
        for logits, target, valid in _read(where, batches, activation, ignore_index):
            scores.add(logits, target, valid)
        temperature = scores.best()
    decision = Decision(
        metric, activation=activation, background=background, temperature=temperature, prune=prune, scope=scope
    )
    if scope == "batch" and metric != "argmax":

        def inputs() -> Iterator[Given]:
            for logits, _, valid in _read(where, batches, activation, ignore_index):
                options = {"activation": activation, "given": "logits", "background": background}
                yield read_input(where, logits, valid, temperature=temperature, **options)  # type: ignore[arg-type]

        rule = _pooled_rule(inputs, metric)
        if rule.shift is not None:  # log p + b is the same order as p · exp b
            decision.gain, decision.threshold = rule.shift.exp(), torch.zeros_like(rule.shift)
        else:
            decision.gain, decision.threshold = rule.gain, rule.threshold
    return decision


def fit_temperature(batches: Callable[[], Iterable[Any]], sigmoid: bool) -> float:
    """The temperature with the smallest mean −log p of the labels; ``batches()`` gives (logits, target, valid).

    In β = 1/T the sum is convex, so Newton's steps, kept between the bounds that are known, meet the minimum.
    """
    low, high = 1 / HIGHEST, 1 / LOWEST
    beta = 1.0
    for turn in range(STEPS):
        slope = curvature = 0.0
        for logits, target, valid in batches():
            one, two = (float(value) for value in _derivatives(logits, target, valid, beta, sigmoid))
            slope, curvature = slope + one, curvature + two
        if slope == 0:
            break
        low, high = (beta, high) if slope < 0 else (low, beta)
        step = beta - slope / curvature if curvature > 0 else low
        halves = turn % 3 == 2 or not low < step < high  # where the minimum is at a bound, Newton's steps are short
        new = math.sqrt(low * high) if halves else step
        if abs(new - beta) <= CLOSE * beta or abs(high - low) <= CLOSE * beta:
            beta = new
            break
        beta = new
    return min(max(1 / beta, LOWEST), HIGHEST)


def _derivatives(
    logits: Tensor, target: Tensor, valid: Tensor | None, beta: float, sigmoid: bool
) -> tuple[Tensor, Tensor]:
    """First and second derivative by β of Σ −log softmax(β z)_y: Σ (E[z] − z_y) and Σ Var[z]."""
    totals = torch.zeros(2, dtype=torch.float64, device=logits.device)
    for image in range(len(logits)):  # an image at a time: no second copy of the batch
        z = logits[image].flatten(1).double()
        y = target[image].flatten(1)
        if sigmoid:  # the two classes of each channel have the scores 0 and z
            p, rest = torch.sigmoid(beta * z), torch.sigmoid(-beta * z)
            y = y.double()
            parts = [((1 - y) * p - y * rest) * z, p * rest * z * z]
        else:
            p = torch.softmax(beta * z, 0)
            shares = y.dtype.is_floating_point
            at_label = (z * y).sum(0) if shares else z.gather(0, y.long().clamp(0, len(z) - 1)).squeeze(0)
            mean = (p * (z - at_label)).sum(0)  # less z_y from the start: near certainty the difference is all there is
            parts = [mean, (p * (z - at_label - mean) ** 2).sum(0)]
        for place, part in enumerate(parts):
            kept = part if valid is None else part.where(valid[image].flatten(1).view(-1, part.shape[-1]), 0)
            totals[place] += kept.sum(dtype=torch.float64)
    return totals[0], totals[1]


def _read(
    where: str, batches: Iterable[Batch], activation: str, ignore_index: int | None
) -> Iterator[tuple[Tensor, Tensor, Tensor | None]]:
    """Each batch's logits, its target, and where it counts."""
    found = False
    for batch in batches:
        if not isinstance(batch, (tuple, list)) or len(batch) not in (2, 3):
            raise ValueError(f"{where}: each batch must be (logits, target) or (logits, target, mask).")
        logits, target, mask = prepare(where, batch[0], batch[1], (*batch, None)[2], ignore_index, activation)
        found = found or logits.numel() > 0
        valid = mask
        if not target.dtype.is_floating_point:
            ignored = ignore_index if ignore_index is None or can_hold(target.dtype, ignore_index) else None
            target = target.long()  # in which every label is itself: uint8 takes 255 for −1, uint16 has no <
            if ignored is not None:
                labelled = target != ignored
                valid = labelled if valid is None else valid & labelled
            _check_labels(where, target, 2 if activation == "sigmoid" else logits.shape[1], valid)
        yield logits.detach(), target, valid
    if not found:
        raise ValueError(f"{where}: there is nothing to fit on; pass at least one batch with pixels.")


def _check_labels(where: str, target: Tensor, classes: int, valid: Tensor | None) -> None:
    """Raise where a label that counts is no class."""
    strange = (target < 0) | (target >= classes)
    if valid is not None:
        strange &= valid
    if strange.any():
        raise ValueError(
            f"{where}: target holds the label {int(target[strange][0])}, and there are {classes} classes, from 0 on. "
            "Pixels without a label are named by ignore_index, or left out by a mask."
        )


def _pooled_rule(inputs: Callable[[], Iterable[Given]], metric: str) -> Rule:
    """The best rule for all images of all batches."""
    first = next(iter(inputs()))
    pooled = Pooled(inputs, first.groups, first.classes)
    if metric in RATIOS:
        return best_rule(pooled, Aim(metric, scored_classes(first), 0.0))[0]
    return size_matched_rule(pooled, compute_dtype(first.values.dtype), first.values.device)
