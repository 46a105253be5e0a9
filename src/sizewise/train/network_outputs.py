"""What a network gives, where it is the user's own: logits of each class at each pixel, or a sentence that says so.

Without a look at them, one class too many would be trained and predicted without a word, and a list would end in an
error of whatever comes next.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from sizewise.errors import BadInput


@torch.no_grad()
def check_users_network(
    model: nn.Module, name: str, *, channels: int, out_channels: int, spatial: Sequence[int]
) -> None:
    """Try it on one image as in validation, which leaves no trace; raises BadInput where its output is no logits."""
    trained = model.training
    tensor = next(model.parameters(), torch.zeros(()))
    outputs = model.eval()(torch.zeros(1, channels, *spatial, device=tensor.device))
    model.train(trained)
    wanted = (1, out_channels, *spatial)
    if not isinstance(outputs, Tensor):
        raise BadInput(
            f"model {name}: outside of training it must return one tensor of logits with shape {wanted}, got "
            f"{type(outputs).__name__}. Return the full resolution alone where `self.training` is false."
        )
    if tuple(outputs.shape) != wanted:
        raise BadInput(
            f"model {name}: for images of shape {(1, channels, *spatial)} it must return logits of shape {wanted}, a "
            f"channel for each class at each pixel, got {tuple(outputs.shape)}."
        )


def single_output(outputs: Any) -> Tensor:
    """The logits; raises BadInput where the network gives something else in training."""
    if isinstance(outputs, Tensor):
        return outputs
    raise BadInput(
        f"the network returned {type(outputs).__name__} in training, where one tensor of logits was wanted. Is it a "
        "list of several resolutions? Add `deep_supervision`."
    )


def supervised_outputs(outputs: Any, spatial: Sequence[int]) -> list[Tensor]:
    """The logits of each resolution, the full one first; raises BadInput where the network gives something else."""
    if not isinstance(outputs, list | tuple) or not all(isinstance(one, Tensor) for one in outputs):
        got = type(outputs).__name__
        if isinstance(outputs, list | tuple):
            got += f" of {', '.join(type(one).__name__ for one in outputs)}"
        raise BadInput(
            f"`deep_supervision` needs a network that returns a list of logits in training, the full resolution first; "
            f"this one returned {got}. Leave it out, or take monai-dynunet."
        )
    shapes = [tuple(one.shape) for one in outputs]
    if not shapes or shapes[0][2:] != tuple(spatial) or any(one[:2] != shapes[0][:2] for one in shapes):
        raise BadInput(
            f"`deep_supervision` needs logits of the same classes, the full resolution {tuple(spatial)} first; this "
            f"network returned the shapes {', '.join(map(str, shapes)) or 'of nothing'}."
        )
    return list(outputs)
