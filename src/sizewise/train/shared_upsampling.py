"""Training leaves the upsampling in a network's head to the loss, where nothing lies between the two."""

from collections.abc import Sequence

from torch import nn

from sizewise.criterion import Loss
from sizewise.models.build import size_multiple
from sizewise.models.head_upsampling import leave_upsampling_to_loss
from sizewise.user_code import is_user_code


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
