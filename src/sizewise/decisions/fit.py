"""Fitting a decision on validation batches: the temperature, and for pooled scores the rule itself."""

from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor

from sizewise.checks import check_word
from sizewise.decisions.decide import check_background, check_options, read_input, scored_classes
from sizewise.decisions.decision import Decision
from sizewise.decisions.likelihood_fit import fit_temperature
from sizewise.decisions.rule import RATIOS, Rule
from sizewise.decisions.score_fit import TemperatureScores
from sizewise.decisions.search import Aim, best_rule
from sizewise.decisions.size_matching import size_matched_rule
from sizewise.decisions.streaming import Given, Pooled
from sizewise.stats.inputs import check_ignore_index, prepare
from sizewise.stats.reference import can_hold, compute_dtype

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
    if not hasattr(batches, "__iter__"):
        raise TypeError(f"{where}: batches must be a list of (logits, target), got {type(batches).__name__}.")
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

    def read() -> Iterator[tuple[Tensor, Tensor, Tensor | None]]:
        return _read(where, batches, activation, background, ignore_index)

    temperature = fit_temperature(read, activation == "sigmoid")
    if by == "score":
        options = {"activation": activation, "background": background}
        scores = TemperatureScores(metric, likeliest=temperature, prune=prune, **options)  # type: ignore[arg-type]
        for logits, target, valid in read():
            scores.add(logits, target, valid)
        temperature = scores.best()
    decision = Decision(
        metric, activation=activation, background=background, temperature=temperature, prune=prune, scope=scope
    )
    if scope == "batch" and metric != "argmax":

        def inputs() -> Iterator[Given]:
            for logits, _, valid in read():
                options = {"activation": activation, "given": "logits", "background": background}
                yield read_input(where, logits, valid, temperature=temperature, **options)  # type: ignore[arg-type]

        rule = _pooled_rule(inputs, metric)
        gain, threshold = rule.gain, rule.threshold
        if rule.shift is not None:  # log p + b is the same order as p · exp b
            gain, threshold = rule.shift.exp(), torch.zeros_like(rule.shift)
        rows = slice(None) if activation == "sigmoid" else 0
        decision.gain, decision.threshold = gain[rows], threshold[rows]
    return decision


def _read(
    where: str, batches: Iterable[Batch], activation: str, background: int | None, ignore_index: int | None
) -> Iterator[tuple[Tensor, Tensor, Tensor | None]]:
    """Each batch's logits, its target, and where it counts."""
    found, channels = False, 0
    for batch in batches:
        if not isinstance(batch, (tuple, list)) or len(batch) not in (2, 3):
            raise ValueError(f"{where}: each batch must be (logits, target) or (logits, target, mask).")
        logits, target, mask = prepare(where, batch[0], batch[1], (*batch, None)[2], ignore_index, activation)
        found = found or logits.numel() > 0
        channels = channels or logits.shape[1]
        if logits.shape[1] != channels:
            raise ValueError(
                f"{where}: all batches must have the classes of one network, got logits with {channels} channels and "
                f"with {logits.shape[1]}."
            )
        if activation == "softmax":
            check_background(where, background, channels)
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
