"""Training leaves the upsampling in a network's head to the loss, where nothing lies between the two."""

from collections.abc import Sequence

from torch import nn

from sizewise.criterion import Loss
from sizewise.models.build import size_multiple
from sizewise.models.head_upsampling import leave_upsampling_to_loss
from sizewise.user_code import is_user_code

# A captured step was measured to be faster so with the fewest, its loss alone with both. From Python it was not, and on
# a CPU the loss takes a tenth to a fifth longer.
FEWEST_CLASSES, MOST_CLASSES = 19, 150


def is_faster_in_loss(criterion: Loss, classes: int, *, captured: bool) -> bool:
    """Whether a step is faster where ``criterion`` upsamples the logits of so many classes, not the network's head.

    A criterion that upsamples already keeps its way, and the sums of components' cells are taken at full size.

    Args:
        criterion: the loss.
        classes: channels of the network.
        captured: whether the step is recorded in a CUDA graph.
    """
    takes_it = criterion.upsample is None and not criterion.cell_fields
    return takes_it and captured and FEWEST_CLASSES <= classes <= MOST_CLASSES


def share_upsampling(name: str, model: nn.Module, criterion: Loss, patch: Sequence[int]) -> str | None:
    """Make ``model`` give small logits in training and ``criterion`` upsample them; how it does, None for no change.

    Sizes that have to be padded keep the head's upsampling, since its logits are cropped before the loss; so do
    networks of the user's own: who knows what comes behind their head.

    Args:
        name: of the network.
        model: the network, changed in place. Evaluated it gives full-size logits as before.
        criterion: changed in place too. It takes full-size logits as well.
        patch: the size of the crops.
    """
    multiple = size_multiple(name)
    if is_user_code(name) or any(size % multiple for size in patch):
        return None
    criterion.upsample = leave_upsampling_to_loss(model)
    return criterion.upsample
