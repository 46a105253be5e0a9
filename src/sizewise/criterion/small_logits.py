"""Whether a loss should upsample small logits where nobody said so: one rule for training and for integrations."""

import torch

from sizewise.criterion.criterion import Criterion

# On a GPU, upsampling in the loss was measured to be faster than before it with the fewest and the most of these; on a
# CPU it takes a tenth to a fifth longer.
FEWEST_CLASSES, MOST_CLASSES = 19, 150


def is_faster_in_loss(criterion: Criterion, device: torch.device, classes: int) -> bool:
    """Whether ``criterion`` reads logits of so many classes faster as they are than interpolated first.

    A criterion that upsamples already keeps its way, and the sums of components' cells are taken at full size.

    >>> import sizewise as sw
    >>> [is_faster_in_loss(sw.loss("RCE"), torch.device(one), 19) for one in ("cuda", "cpu")]
    [True, False]
    >>> is_faster_in_loss(sw.loss("CC-DiceCE"), torch.device("cuda"), 19)
    False
    """
    takes_it = criterion.upsample is None and not criterion.cell_fields
    return takes_it and device.type == "cuda" and FEWEST_CLASSES <= classes <= MOST_CLASSES
