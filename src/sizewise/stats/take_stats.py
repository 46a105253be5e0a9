"""Taking region statistics: inputs are checked, and one pass gives the sums of images, or of cells."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sizewise.checks import check_number, check_word
from sizewise.private_apis import in_torch_func
from sizewise.stats import fields as f
from sizewise.stats.cell_operator import cell_sums
from sizewise.stats.cells import prepare_cells
from sizewise.stats.fields import Field
from sizewise.stats.inputs import check_ignore_index, check_upsample, full_size_logits, prepare
from sizewise.stats.operator import region_sums
from sizewise.stats.region_stats import RegionStats
from sizewise.stats.transforms import TransformedSums

FIELD_NAMES = ("count", "nll", "focal", "overlap", "size", "tempered_size", "kept_size")


def region_stats(
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None = None,
    *,
    ignore_index: int | None = None,
    activation: str = "softmax",
    gamma: float | Sequence[float] = 2.0,
    temperature: float | Sequence[float] = 10.0,
    fields: Sequence[str] = ("count", "nll", "focal", "overlap", "size", "tempered_size"),
    upsample: str | None = None,
    cells: Any = None,
) -> RegionStats:
    """Take the sums that all losses are made of, in one pass over the logits.

    Args:
        logits: raw scores (N, K, *S), or (N, C, *S) for sigmoid.
        target: integer labels (N, *S) or (N, 1, *S), or probabilities (N, K, *S); for sigmoid (N, C, *S).
        mask: bool, (N, *S); pixels where it is False do not exist for the result.
        ignore_index: the label of pixels without a label.
        activation: ``"softmax"`` over the channels, or ``"sigmoid"`` for each.
        gamma: exponent of the focal sum, or several.
        temperature: factor on the logits for the tempered sizes, or several.
        fields: which sums to take; one that is left out costs nothing. ``"kept_size"`` is the tempered size over every
            pixel that the mask keeps, labelled or not.
        upsample: for logits smaller than the target: ``"linear"`` interpolates them to its size pixel by pixel, as
            ``interpolate(..., align_corners=False)`` would, ``"linear-corners"`` as with ``True``; the full-size
            logits are never stored, but for ``cells``.
        cells: what :func:`components` returned. Then the sums are those of each cell rather than of each image: row
            n · ``cells.most`` + m − 1, column k belong to cell m of class k in image n, and are 0 where there is none.

    An image without a valid pixel has zeros everywhere. Sums are float32 (float64 for float64 logits).

    >>> import torch, sizewise as sw
    >>> logits = torch.randn(2, 3, 8, 8, requires_grad=True)
    >>> stats = sw.region_stats(logits, torch.randint(0, 3, (2, 8, 8)))
    >>> stats.overlap.shape, stats.tempered_size.sum(1).round().tolist()
    (torch.Size([2, 3]), [64.0, 64.0])
    """
    wanted = named_fields("region_stats", fields, gamma=gamma, temperature=temperature)
    if cells is not None:
        if upsample is not None:
            check_upsample("region_stats", upsample)
            logits = full_size_logits("region_stats", logits, target, upsample)
        return take_cell_stats(
            "region_stats", logits, target, mask, cells, ignore_index=ignore_index, activation=activation, fields=wanted
        )
    return take_stats(
        "region_stats",
        logits,
        target,
        mask,
        ignore_index=ignore_index,
        activation=activation,
        fields=wanted,
        upsample=upsample,
    )


def named_fields(
    where: str,
    names: Sequence[str],
    *,
    gamma: float | Sequence[float] = 2.0,
    temperature: float | Sequence[float] = 10.0,
) -> list[Field]:
    """The fields that ``names`` stand for, one for each exponent or temperature; ``where`` opens the messages."""
    if isinstance(names, str):
        names = (names,)
    gammas = [check_number(where, "gamma", value, minimum=0) for value in _listed(gamma)]
    temperatures = [
        check_number(where, "temperature", value, minimum=0, exclusive=True) for value in _listed(temperature)
    ]
    by_name = {
        "count": [f.COUNT],
        "nll": [f.NLL],
        "focal": [f.focal(value) for value in gammas],
        "overlap": [f.OVERLAP],
        "size": [f.SIZE],
        "tempered_size": [f.tempered_size(value) for value in temperatures],
        "kept_size": [f.KEPT_PIXELS, *(f.kept_size(value) for value in temperatures)],
    }
    return [field for name in names for field in by_name[check_word(where, "fields", name, FIELD_NAMES)]]


def take_stats(
    where: str,
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None,
    *,
    ignore_index: int | None,
    activation: str,
    fields: Sequence[Field],
    upsample: str | None = None,
) -> RegionStats:
    """Take exact ``fields``, and the region and pixel counts with them; ``where`` opens the messages."""
    ignore_index = check_ignore_index(where, ignore_index)
    logits, target, mask = prepare(where, logits, target, mask, ignore_index, activation, upsample)
    unique, reading = reading_of(fields, ignore_index, activation)
    if not torch.compiler.is_compiling() and in_torch_func():
        return RegionStats(unique, TransformedSums.apply(logits, target, mask, (*reading, upsample)))
    return RegionStats(unique, region_sums(logits, target, mask, *reading, upsample))


def take_cell_stats(
    where: str,
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None,
    cells: Any,
    *,
    ignore_index: int | None,
    activation: str,
    fields: Sequence[Field],
) -> RegionStats:
    """The same for each cell: it takes the image's place."""
    ignore_index = check_ignore_index(where, ignore_index)
    logits, target, mask = prepare(where, logits, target, mask, ignore_index, activation)
    unique, reading = reading_of(fields, ignore_index, activation)
    given = prepare_cells(where, cells, logits)
    return RegionStats(unique, cell_sums(logits, target, mask, given.maps, given.classes, given.most, *reading))


def reading_of(
    fields: Sequence[Field], ignore_index: int | None, activation: str
) -> tuple[tuple[Field, ...], tuple[int | None, bool, list[int], list[float]]]:
    """The fields with the region and pixel counts, and how the operator reads its input."""
    unique = tuple(dict.fromkeys((f.COUNT, f.PIXELS, *fields)))
    kinds = [int(field.kind) for field in unique]
    return unique, (ignore_index, activation == "sigmoid", kinds, [field.parameter for field in unique])


def _listed(value: float | Sequence[float]) -> Sequence[float]:
    return value if isinstance(value, (list, tuple)) else (value,)
