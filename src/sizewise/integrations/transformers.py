"""Our losses in Hugging Face's Trainer, and our decisions after it, for networks of logits per pixel and of queries."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from sizewise.criterion import Criterion
from sizewise.decisions.decide import decide
from sizewise.integrations.reading import as_loss


class SemanticLoss:
    """A ``compute_loss_func`` of ``transformers.Trainer`` for semantic segmentation.

    Logits at a lower resolution than the labels, as SegFormer's quarter, are upsampled bilinearly
    (``align_corners=False``) as the models' own losses do; Mask2Former's queries go through :func:`semantic_logits`.
    With ``"CE"`` and a network of logits it is the loss that the network itself would return.

    Args:
        criterion: the name of a loss, as ``"RCE"``, or any criterion. One with ``upsample="linear"`` reads small logits
            itself, without storing them at full size.
        ignore_index: the label of pixels without a label: 255, the models' own default.
        activation: ``"softmax"``, or ``"sigmoid"`` for a network with one label.

    The data set yields ``pixel_values`` and ``labels`` (H, W)::

        Trainer(model, args, train_dataset=..., compute_loss_func=SemanticLoss("RCE"))

    For Mask2Former and its kin set ``remove_unused_columns=False`` and ``label_names=["labels"]``, since ``labels`` is
    none of their arguments.
    With gradient accumulation each batch weighs by its share of the step's labels, as Trainer wants it.

    >>> from types import SimpleNamespace
    >>> loss = SemanticLoss("RCE")
    >>> value = loss(SimpleNamespace(logits=torch.randn(1, 3, 4, 4)), torch.randint(0, 3, (1, 16, 16)))
    """

    def __init__(
        self, criterion: str | Criterion, *, ignore_index: int | None = 255, activation: str = "softmax"
    ) -> None:
        self.criterion = as_loss("SemanticLoss", criterion, activation=activation, ignore_index=ignore_index)
        self._device = torch.device("cpu")

    def __call__(self, outputs: Any, labels: Tensor, num_items_in_batch: Tensor | int | None = None) -> Tensor:
        """The loss of a model's outputs for ``labels`` (N, H, W)."""
        if not isinstance(labels, Tensor):
            raise ValueError(
                f"SemanticLoss: labels must be a tensor (N, H, W) of class ids, got {type(labels).__name__}. The data "
                "set has to yield them as 'labels'; with Mask2Former set remove_unused_columns=False."
            )
        logits = _logits(outputs, labels.shape[-2:], resize=self.criterion.upsample is None)
        if logits.device != self._device:
            self._device = logits.device  # Trainer moves the model, and knows nothing of the loss's constants
            self.criterion.to(self._device)
        value = self.criterion(logits, labels)
        if num_items_in_batch is None:
            return value
        # Trainer counts labels that are not -100, and does not divide by the number of accumulated batches itself
        return value * (labels != -100).sum() / num_items_in_batch


def post_process_semantic_segmentation(
    outputs: Any,
    target_sizes: Sequence[tuple[int, int]] | Tensor | None = None,
    *,
    metric: str = "dice",
    background: int | None = None,
    temperature: float = 1.0,
    prune: float = 0.5,
) -> list[Tensor]:
    """Label maps at their own sizes, as the image processors' method of this name, decided for Dice, IoU or size.

    Logits are upsampled to each image's size as the processors do, bilinearly with ``align_corners=False``, and decided
    there. Of Mask2Former and its kin, Σ_q p_q(c) · m_q is upsampled and, over the classes, made to sum to one. With
    ``metric="argmax"`` the labels are the processor's own.

    Args:
        outputs: what the model returned, with ``logits`` (N, K, h, w), or ``class_queries_logits`` and
            ``masks_queries_logits``.
        target_sizes: (height, width) of each image; None keeps the size of the logits.
        metric: see :func:`sizewise.decide`.
        background: the class that is not scored. Here None is the default, every class being scored: the labels of
            ADE20K or Cityscapes begin with a class like any other. Pass 0 for a network with a background.
        temperature: what logits are divided by; see :func:`sizewise.fit_decision`. For queries it must be 1.
        prune: see :func:`sizewise.decide`.

    Returns:
        N label maps (height, width), int64.

    >>> from types import SimpleNamespace
    >>> outputs = SimpleNamespace(logits=torch.randn(2, 3, 8, 8))
    >>> [tuple(one.shape) for one in post_process_semantic_segmentation(outputs, [(32, 32), (30, 40)])]
    [(32, 32), (30, 40)]
    """
    where = "post_process_semantic_segmentation"
    scores, given = _scores(where, outputs, temperature)
    sizes = [scores.shape[-2:]] * len(scores) if target_sizes is None else _sizes(where, target_sizes, len(scores))
    maps = []
    for image, size in zip(scores.detach(), sizes, strict=True):
        resized = _resized(image.unsqueeze(0), torch.Size(size))
        if given == "probabilities":
            resized = resized / resized.sum(1, keepdim=True).clamp(min=torch.finfo(resized.dtype).tiny)
        options: dict[str, Any] = {"given": given, "background": background, "prune": prune}
        maps.append(decide(resized, metric=metric, temperature=temperature, **options)[0])
    return maps


def semantic_logits(class_queries: Tensor, mask_queries: Tensor) -> Tensor:
    r"""Logits per pixel of a network with queries, log Σ_q p_q(c) · m_q, from Mask2Former's or MaskFormer's outputs.

    p_q = softmax of query q's class scores, whose last class, "no object", is left out; m_q = sigmoid of its mask. The
    softmax of the result is the network's semantic prediction, normalised over the classes. The sum is taken relative
    to each pixel's and each class's largest factor, so that no probability underflows before its logarithm.

    Args:
        class_queries: (N, Q, C + 1), ``outputs.class_queries_logits``.
        mask_queries: (N, Q, *S), ``outputs.masks_queries_logits``.

    Returns:
        (N, C, *S) logits.

    >>> scores = torch.tensor([[[0.0, 0.0, 0.0]]])  # one query: 1/3 for each class and for no object
    >>> print(semantic_logits(scores, torch.zeros(1, 1, 1, 1)).exp().flatten())  # 1/3 * 1/2
    tensor([0.1667, 0.1667])
    """
    classes = class_queries.float().log_softmax(-1)[..., :-1]
    masks = functional.logsigmoid(mask_queries.float())
    class_top, mask_top = classes.amax(1, keepdim=True).detach(), masks.amax(1, keepdim=True).detach()
    total = torch.einsum("nqc,nq...->nc...", (classes - class_top).exp(), (masks - mask_top).exp())
    tops = class_top.movedim(1, 2).reshape(*class_top.shape[::2], *[1] * (mask_queries.dim() - 2)) + mask_top
    return total.clamp(min=torch.finfo(total.dtype).tiny).log() + tops


# Mask2Former's processor goes through this size first, whatever the images' own.
MASK2FORMER_PX = (384, 384)


def _scores(where: str, outputs: Any, temperature: float) -> tuple[Tensor, str]:
    """(N, K, h, w), and whether they are logits or probabilities that have yet to sum to one."""
    found = _read(where, outputs)
    if isinstance(found, Tensor):
        return found, "logits"
    if temperature != 1:
        raise ValueError(
            f"{where}: temperature divides logits, and {type(outputs).__name__} holds queries, whose classes and masks "
            f"have probabilities of their own. It must be 1, got {temperature!r}."
        )
    queries, masks = found[0].float(), found[1].float()
    if type(outputs).__name__.startswith("Mask2Former"):
        masks = _resized(masks, torch.Size(MASK2FORMER_PX))
    return torch.einsum("nqc,nqhw->nchw", queries.softmax(-1)[..., :-1], masks.sigmoid()), "probabilities"


def _sizes(where: str, target_sizes: Sequence[tuple[int, int]] | Tensor, images: int) -> list[tuple[int, int]]:
    sizes = [tuple(int(side) for side in size) for size in target_sizes]
    if len(sizes) != images or any(len(size) != 2 for size in sizes):
        raise ValueError(
            f"{where}: target_sizes must be one (height, width) for each of {images} images, got {target_sizes!r}."
        )
    return sizes  # type: ignore[return-value]


def _logits(outputs: Any, size: torch.Size, *, resize: bool) -> Tensor:
    found = _read("SemanticLoss", outputs)
    if not isinstance(found, Tensor):
        return semantic_logits(found[0], _resized(found[1], size))
    return _resized(found, size) if resize else found


def _read(where: str, outputs: Any) -> Tensor | tuple[Tensor, Tensor]:
    """Logits per pixel, or the scores of queries and their masks."""
    found = getattr(outputs, "logits", None)
    if isinstance(found, Tensor) and found.dim() == 4:
        return found
    queries, masks = getattr(outputs, "class_queries_logits", None), getattr(outputs, "masks_queries_logits", None)
    if queries is None or masks is None:
        raise ValueError(
            f"{where}: the model's outputs must have logits (N, K, h, w), or class_queries_logits and "
            f"masks_queries_logits, got {type(outputs).__name__}. Is it a model for semantic segmentation?"
        )
    return queries, masks


def _resized(maps: Tensor, size: torch.Size) -> Tensor:
    if maps.shape[-2:] == size:
        return maps
    return functional.interpolate(maps, size=tuple(size), mode="bilinear", align_corners=False)
