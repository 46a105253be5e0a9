"""Decisions where MONAI's post-processing has ``AsDiscrete(argmax=True)``: the same shapes, types and metadata."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from sizewise.checks import check_word
from sizewise.decisions.decide import GIVEN
from sizewise.decisions.decision import Decision
from sizewise.models.torchvision_ops import import_with_torchvision

if TYPE_CHECKING:
    from monai.data import get_track_meta
    from monai.networks import one_hot
    from monai.transforms import MapTransform, Transform
    from monai.utils import TransformBackends, convert_to_dst_type, convert_to_tensor, ensure_tuple_rep
else:
    _transforms = import_with_torchvision(
        "monai.transforms", extra="monai", reason="sizewise.integrations.monai_transforms"
    )
    MapTransform, Transform = _transforms.MapTransform, _transforms.Transform
    from monai.data import get_track_meta
    from monai.networks import one_hot
    from monai.utils import TransformBackends, convert_to_dst_type, convert_to_tensor, ensure_tuple_rep


class Decide(Transform):
    """Labels that are best for Dice, IoU or size, in place of ``AsDiscrete(argmax=True)``. See :func:`sizewise.decide`.

    Args:
        metric: ``"dice"``, ``"iou"``, ``"size"`` or ``"argmax"``, or a :class:`sizewise.Decision`, as
            :func:`sizewise.fit_decision` returns it. A decision brings its own options, up to ``background``.
        activation: ``"softmax"``, or ``"sigmoid"`` for a decision on each channel.
        temperature: what logits are divided by.
        prune: a class whose largest probability is not above it takes no pixel that argmax did not give it.
        background: the class that is not scored; None if all are.
        given: ``"logits"``, or ``"probabilities"`` after ``Activations(softmax=True)``.
        to_onehot: the number of classes, for one channel per class, as metrics take them; None for a label map.
        dtype: of the result; float32, as AsDiscrete's.

    It takes one case, (K, *S), as ``decollate_batch`` leaves it, and returns its label map (1, *S), with ``to_onehot``
    (K, *S), for sigmoid (C, *S). Types, devices and metadata are treated as AsDiscrete does: a MetaTensor keeps its
    affine and its applied operations.

    >>> transform = Decide("dice", given="probabilities")
    >>> p = torch.tensor([[0.1, 0.55, 0.6, 0.9], [0.9, 0.45, 0.4, 0.1]])
    >>> transform(p).as_tensor()
    tensor([[1., 1., 1., 0.]])
    """

    backend = [TransformBackends.TORCH]  # noqa: RUF012  MONAI's own has this form

    def __init__(
        self,
        metric: str | Decision = "dice",
        *,
        activation: str = "softmax",
        temperature: float = 1.0,
        prune: float = 0.5,
        background: int | None = 0,
        given: str = "logits",
        to_onehot: int | None = None,
        dtype: torch.dtype = torch.float,
    ) -> None:
        if isinstance(metric, Decision):
            if (activation, temperature, prune, background) != ("softmax", 1.0, 0.5, 0):
                raise ValueError(
                    f"Decide: {metric!r} brings its own activation, temperature, prune and background, which were "
                    "given here too. Set them where the decision is made."
                )
            self.decision = metric
        else:
            self.decision = Decision(
                metric, activation=activation, temperature=temperature, prune=prune, background=background
            )
        self.given = check_word("Decide", "given", given, GIVEN)
        if to_onehot is not None and self.decision.activation == "sigmoid":
            raise ValueError(
                f'Decide: to_onehot={to_onehot!r} is for label maps; activation="sigmoid" gives one channel per class '
                "already. Leave it out."
            )
        if to_onehot is not None and (isinstance(to_onehot, bool) or not isinstance(to_onehot, int)):
            raise TypeError(f"Decide: to_onehot must be the number of classes or None, got {to_onehot!r}.")
        self.to_onehot, self.dtype = to_onehot, dtype

    def __call__(self, img: Any) -> Any:
        """The labels of one case, (K, *S), a tensor or an array."""
        img = convert_to_tensor(img, track_meta=get_track_meta())
        scores: Tensor = img.as_subclass(Tensor)
        if scores.dim() < 2:
            raise ValueError(
                f"Decide: a case must have shape (K, *S), channels first, got {tuple(scores.shape)}. It stands after "
                "decollate_batch, where AsDiscrete would."
            )
        if self.to_onehot not in (None, len(scores)):
            raise ValueError(f"Decide: to_onehot={self.to_onehot} and the case has {len(scores)} channels.")
        labels = self.decision(scores.unsqueeze(0), given=self.given)
        if self.decision.activation == "sigmoid":
            labels = labels.squeeze(0)
        elif self.to_onehot is not None:
            labels = one_hot(labels, num_classes=self.to_onehot, dim=0)
        return convert_to_dst_type(labels, img, dtype=self.dtype)[0]


class Decided(MapTransform):
    """:class:`Decide` on entries of a dictionary, in place of ``AsDiscreted(keys, argmax=True)``.

    Args:
        keys: the entries, as ``"pred"``.
        metric: see :class:`Decide`; one for all keys or one for each, as ``to_onehot``.
        activation: see :class:`Decide`.
        temperature: see :class:`Decide`.
        prune: see :class:`Decide`.
        background: see :class:`Decide`.
        given: see :class:`Decide`.
        to_onehot: see :class:`Decide`.
        dtype: see :class:`Decide`.
        allow_missing_keys: whether an entry that is not there is passed over.

    >>> p = torch.tensor([[0.1, 0.55, 0.6, 0.9], [0.9, 0.45, 0.4, 0.1]])
    >>> Decided("pred", given="probabilities", to_onehot=2)({"pred": p})["pred"].as_tensor()
    tensor([[0., 0., 0., 1.],
            [1., 1., 1., 0.]])
    """

    backend = Decide.backend

    def __init__(
        self,
        keys: Hashable | Sequence[Hashable],
        metric: str | Decision | Sequence[str | Decision] = "dice",
        *,
        activation: str = "softmax",
        temperature: float = 1.0,
        prune: float = 0.5,
        background: int | None = 0,
        given: str = "logits",
        to_onehot: int | Sequence[int | None] | None = None,
        dtype: torch.dtype = torch.float,
        allow_missing_keys: bool = False,
    ) -> None:
        super().__init__(keys, allow_missing_keys)
        self.transforms = [
            Decide(
                one,
                activation=activation,
                temperature=temperature,
                prune=prune,
                background=background,
                given=given,
                to_onehot=classes,
                dtype=dtype,
            )
            for one, classes in zip(
                ensure_tuple_rep(metric, len(self.keys)), ensure_tuple_rep(to_onehot, len(self.keys)), strict=True
            )
        ]

    def __call__(self, data: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
        """The dictionary with its entries decided."""
        decided = dict(data)
        for key, transform in self.key_iterator(decided, self.transforms):
            decided[key] = transform(decided[key])
        return decided
