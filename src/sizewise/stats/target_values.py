"""Checks on what a target holds. They need the values, so they run inside the operator, chunk by chunk."""

import torch
from torch import Tensor

TOLERANCE = 1e-3
WHITE = 255  # the foreground of masks that are stored as images; also a common label of pixels without one


def check_labels(labels: Tensor, valid: Tensor | None, regions: int, ignore_index: int | None, target: Tensor) -> None:
    """Raise if a valid pixel of a chunk has a label outside [0, K); ``target`` is what it was taken from."""
    if labels.numel() == 0:
        return
    lowest, highest = labels.aminmax()
    if int(lowest) >= 0 and int(highest) < regions:
        return
    outside = (labels < 0) | (labels >= regions)
    if valid is not None:
        outside &= valid
    if bool(outside.any()):
        value = int(labels[outside][0])
        value = value % 2**64 if target.dtype == torch.uint64 else value
        is_mask = value == WHITE and bool(((target == 0) | (target == WHITE)).all())
        raise ValueError(label_sentence(value, regions, ignore_index, is_mask))


def label_sentence(value: int, regions: int, ignore_index: int | None, is_mask: bool | None = None) -> str:
    """What a label outside the classes gets to hear; ``is_mask``: whether there is 0 and 255 alone, if that is known.

    To ignore 255 where it is the foreground of a mask would delete the foreground.
    """
    wrong = (
        f"target has the label {value}, but there are K = {regions} classes, so labels must be 0 to "
        f"{regions - 1}; ignore_index is {ignore_index}."
    )
    ignore = f" If {value} marks pixels without a label, pass ignore_index={value}."
    if value >= 2**63:  # more than ignore_index holds
        ignore = f" If {value} marks pixels without a label, leave them out with mask=..."
    if regions != 2 or value != WHITE or is_mask is False:
        return wrong + ignore
    if is_mask:
        return f"{wrong} All labels are 0 or 255, as in a mask that was saved as an image: pass target // 255."
    return f"{wrong} If this is a mask of 0 and 255, pass target // 255.{ignore}"


def check_probabilities(probabilities: Tensor, kept: Tensor | None) -> None:
    """Raise if (B, K, M) target rows are negative or do not sum to one at the pixels that count."""
    negative = (probabilities < 0).any(1)
    sums = probabilities.sum(1, dtype=torch.float64 if probabilities.device.type == "cpu" else torch.float32)
    wrong = ((sums - 1).abs() <= TOLERANCE).logical_not_().logical_or_(negative)
    if kept is not None:
        wrong &= kept
    if not bool(wrong.any()):
        return
    row = probabilities.movedim(1, -1)[wrong][0].tolist()
    raise ValueError(
        f"target probabilities must be >= 0 and sum to 1 over the classes (within {TOLERANCE:g}) at every valid "
        f"pixel, got {[round(value, 6) for value in row[:8]]}{' ...' if len(row) > 8 else ''}, sum {sum(row):.6g}. "
        "Leave pixels without a label out with mask=..., and pass labels as integers."
    )


def check_shares(shares: Tensor, kept: Tensor | None) -> None:
    """Raise if float targets of sigmoid channels, (B, M), leave [0, 1] at the pixels that count."""
    wrong = ((shares >= 0) & (shares <= 1)).logical_not_()
    if kept is not None:
        wrong &= kept
    if bool(wrong.any()):
        raise ValueError(
            f"float targets of sigmoid channels must lie between 0 and 1, got {float(shares[wrong][0]):g}. Leave "
            "pixels without a label out with mask=..., and pass labels as integers."
        )
