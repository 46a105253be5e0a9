"""What a score is when a region is empty: one policy, for every metric and every command.

=================  ==============================  =====================  ==========================  ============
the true region    the predicted region            dsc, iou, nsd          hd95                        size_error
=================  ==============================  =====================  ==========================  ============
present            present                         by formula             by formula                  by formula
present            empty: it was **missed**        0                      diagonal of the image, mm   by formula
empty              present: a **false alarm**      0                      diagonal of the image, mm   by formula
empty              empty: a **true negative**      no value               no value                    0
=================  ==============================  =====================  ==========================  ============

"No value" is None in Python and an empty cell in a table. It enters no mean; true negatives are counted apart.
``relative_size_error`` has no value where the true region is empty; for a missed one it is −1.
So a missed structure always scores worst and never improves a mean: the diagonal (Σ_d (n_d s_d)²)^½ of an image with
n_d pixels of spacing s_d is the largest distance that two surfaces in it can have.

Pixels with the ignored label count for nothing: they are taken out of both regions and out of the image's size. For the
surfaces both regions end there, so a region that runs into ignored pixels has an edge along them, the same edge in the
prediction and in the target where both reach it. A case without any valid pixel has no scores and no rows, and is no
true negative.
"""

import math
from collections.abc import Sequence
from typing import Literal

Outcome = Literal["present", "missed", "false alarm", "true negative"]


def outcome(*, predicted_px: int, target_px: int) -> Outcome:
    """Which line of the policy's table a case is on.

    >>> outcome(predicted_px=0, target_px=12)
    'missed'
    """
    if target_px:
        return "present" if predicted_px else "missed"
    return "false alarm" if predicted_px else "true negative"


def image_diagonal_mm(shape: Sequence[int], spacing: Sequence[float]) -> float:
    """Length of the image's diagonal: the ``hd95`` of a missed region or a false alarm.

    >>> image_diagonal_mm((30, 40), (1.0, 1.0))
    50.0
    """
    return math.hypot(*(n * step for n, step in zip(shape, spacing, strict=True)))
