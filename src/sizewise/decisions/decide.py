"""From logits or probabilities to labels that are best for Dice, IoU, sizes or accuracy."""

from collections.abc import Sequence
from operator import index
from typing import Any

import torch
from torch import Tensor

from sizewise.checks import check_number, check_word
from sizewise.decisions.on_gpu import KernelGiven, takes_kernels
from sizewise.decisions.rule import METRICS, Rule, argmax_rule
from sizewise.decisions.search import Aim, best_rule
from sizewise.decisions.size_matching import size_matched_rule
from sizewise.decisions.streaming import Given, Pooled
from sizewise.stats.inputs import (
    ACTIVATIONS,
    check_logits,
    check_size,
    check_upsample,
    dtype_name,
    plain,
    prepare_mask,
)
from sizewise.stats.reference import compute_dtype

GIVEN = ("logits", "probabilities")
SCOPES = ("image", "batch")


def decide(
    logits: Tensor,
    *,
    metric: str = "dice",
    activation: str = "softmax",
    given: str = "logits",
    background: int | None = 0,
    temperature: float = 1.0,
    mask: Tensor | None = None,
    prune: float = 0.5,
    scope: str = "image",
    upsample: str | None = None,
    size: Sequence[int] | None = None,
) -> Tensor:
    """Labels with the largest expected score, from sums per image and class alone.

    argmax is the best decision for accuracy. For calibrated probabilities the best threshold of a class for Dice and
    IoU is half of the Dice that it reaches, so argmax draws uncertain regions too small.

    Args:
        logits: raw scores (N, K, *S), or probabilities with ``given="probabilities"``.
        metric: ``"dice"``, ``"iou"``, ``"size"`` (the likeliest labels whose regions have the expected sizes), or
            ``"argmax"``.
        activation: ``"softmax"``, or ``"sigmoid"`` for a decision on each channel.
        given: ``"logits"`` or ``"probabilities"``.
        background: the class that is not scored; None if all are. With sigmoid there is always one.
        temperature: what logits are divided by, as :func:`fit_decision` finds it.
        mask: bool (N, *S); pixels where it is False count for nothing and become ``background`` (0 for None).
        prune: a class whose largest probability is not above it takes no pixel that argmax did not give it.
        scope: ``"image"`` for scores of each case, ``"batch"`` for scores pooled over all images.
        upsample: for logits smaller than the labels: ``"linear"`` decides as on ``interpolate(logits, size,
            align_corners=False)``, ``"linear-corners"`` as with ``True``, without storing it.
        size: the size of the labels, with ``upsample``; ``mask`` has it too.

    Returns:
        Labels (N, *S), int64; for sigmoid (N, C, *S), bool.

    The expected score of the labels, 2 I / (V + G) summed over the scored classes, is never below that of argmax. With
    one scored class and ``prune=0`` it is the largest of all label maps. See :mod:`sizewise.decisions.rule`.

    >>> import torch, sizewise as sw
    >>> p = torch.tensor([[0.9, 0.45, 0.4, 0.1]])  # of the foreground, at four pixels
    >>> p = torch.stack((1 - p, p), 1)
    >>> sw.decide(p, metric="argmax", given="probabilities").tolist()
    [[1, 0, 0, 0]]
    >>> sw.decide(p, metric="dice", given="probabilities").tolist()  # 2 · 1.75 / (3 + 1.85) is more than 1.8 / 2.85
    [[1, 1, 1, 0]]
    """
    check_options("decide", metric, activation, scope, prune)
    passes = read_input(
        "decide",
        logits,
        mask,
        activation=activation,
        given=given,
        background=background,
        temperature=temperature,
        upsample=upsample,
        size=size,
    )
    if isinstance(passes, KernelGiven) and metric != "argmax":
        return passes.best(metric, prune, scope)
    return passes.label(find_rule(passes, metric, prune, scope))


def find_rule(passes: Given, metric: str, prune: float, scope: str) -> Rule:
    """The rule for each row of the input."""
    device = passes.values.device
    if metric == "argmax" or passes.values.numel() == 0:
        return argmax_rule(passes.rows, passes.classes, device)
    together = Pooled(lambda: [passes], passes.groups, passes.classes) if scope == "batch" else passes
    if metric == "size":
        rule = size_matched_rule(together, compute_dtype(passes.values.dtype), device)
    else:
        rule, _ = best_rule(together, Aim(metric, scored_classes(passes), prune))
    return rule.for_images(passes.images) if scope == "batch" else rule


def scored_classes(given: Given) -> Tensor:
    """Which classes count, bool (K,)."""
    scored = torch.ones(given.classes, dtype=torch.bool, device=given.values.device)
    if given.background is not None:
        scored[given.background] = False
    return scored


def check_options(where: str, metric: Any, activation: Any, scope: Any, prune: Any) -> None:
    """Raise on an unknown word or a number that cannot be."""
    check_word(where, "metric", metric, METRICS)
    check_word(where, "activation", activation, ACTIVATIONS)
    check_word(where, "scope", scope, SCOPES)
    if check_number(where, "prune", prune, minimum=0) > 1:
        raise ValueError(f"{where}: prune is a probability, so at most 1, got {prune!r}.")


def read_input(
    where: str,
    values: Any,
    mask: Any,
    *,
    activation: str,
    given: str,
    background: int | None,
    temperature: float,
    upsample: str | None = None,
    size: Sequence[int] | None = None,
) -> Given:
    """Check the tensors, and say how they are read."""
    check_word(where, "given", given, GIVEN)
    sigmoid = activation == "sigmoid"
    values = plain(where, "logits", values).detach()
    check_logits(where, values, sigmoid)
    if given == "probabilities":
        check_range(where, values)
    full = full_size(where, values, upsample, size, given)
    form = (*values.shape[:2], *full)
    mask = None if mask is None else prepare_mask(where, mask, values.device, form, sigmoid)
    temperature = check_number(where, "temperature", temperature, minimum=0, exclusive=True)
    if sigmoid:
        background = 0
    else:
        check_background(where, background, values.shape[1])
    return (KernelGiven if takes_kernels(values) else Given)(
        values,
        mask,
        sigmoid=sigmoid,
        probabilities=given == "probabilities",
        temperature=temperature,
        background=background,
        upsample=None if full == tuple(values.shape[2:]) else upsample,
        size=full,
    )


def check_background(where: str, background: Any, classes: int | None = None) -> None:
    """Raise unless it is None or the id of a class, of which there are ``classes`` where that is known."""
    if background is None:
        return
    whole = isinstance(background, int) and not isinstance(background, bool)
    if not whole or background < 0 or (classes is not None and background >= classes):
        wanted = "a class id" if classes is None else f"a class id from 0 to {classes - 1}"
        raise ValueError(f"{where}: background must be {wanted}, or None if every class is scored, got {background!r}.")


def full_size(where: str, values: Tensor, upsample: Any, size: Any, given: str) -> tuple[int, ...]:
    """The size of the labels."""
    check_upsample(where, upsample)
    if upsample is None:
        if size is not None:
            raise ValueError(f'{where}: size={size!r} goes with upsample="linear", which was not given.')
        return tuple(values.shape[2:])
    if size is None:
        raise ValueError(f"{where}: upsample={upsample!r} needs size=, the size of the labels, as (512, 1024).")
    if given == "probabilities":
        raise ValueError(
            f'{where}: upsample interpolates logits, and given="probabilities". Pass the logits, or interpolate the '
            "probabilities yourself."
        )
    try:
        full = tuple(index(one) for one in size)
    except TypeError as error:
        raise TypeError(
            f"{where}: size must hold whole numbers, the size of the labels, as (512, 1024), got {size!r}."
        ) from error
    return check_size(where, values, full, f"size={full}")


def check_range(where: str, values: Tensor) -> None:
    """Raise if probabilities leave [0, 1]; only where looking costs no wait."""
    if values.device.type == "cpu" and values.numel():
        lowest, highest = (float(one) for one in torch.aminmax(values.nan_to_num(0)))
        if lowest < 0 or highest > 1 + 1e-3:
            raise ValueError(
                f"{where}: probabilities lie between 0 and 1, got values from {lowest:g} to {highest:g} "
                f'({dtype_name(values)}). Raw scores? Pass given="logits".'
            )
