"""What a data set and the settings ask for: the split, the network's shape, the criterion."""

import json
from dataclasses import dataclass

import torch
from torch import nn

from sizewise.criterion import Loss, WeightSchedule
from sizewise.data.dataset import Case, Dataset
from sizewise.data.split import Split
from sizewise.errors import BadInput
from sizewise.losses import loss
from sizewise.models.build import build_model, size_multiple
from sizewise.train.config import RunConfig
from sizewise.train.preparation import UNLABELLED
from sizewise.wording import counted


@dataclass(frozen=True)
class Task:
    """A data set under a run's settings.

    Attributes:
        dataset: opened.
        split: which case is used for what.
        sigmoid: whether each channel is a problem of its own.
        multilabel: whether targets are (C, *S): several regions may lie over one pixel.
        out_channels: of the network.
        foreground: the names of the classes that are scored.
        first_class: the id of the first of them: 1, or 0 where label 0 is a class like the others.
    """

    dataset: Dataset
    split: Split
    sigmoid: bool
    multilabel: bool
    out_channels: int
    foreground: tuple[str, ...]
    first_class: int = 1

    @property
    def names(self) -> dict[int, str]:
        """The scored classes by id."""
        return dict(enumerate(self.foreground, start=self.first_class))

    def cases(self, names: tuple[str, ...]) -> list[Case]:
        """The cases of these names, in this order."""
        by_name = {case.name: case for case in self.dataset.cases}
        if missing := [name for name in names if name not in by_name]:
            raise BadInput(
                f"{self.dataset.name} has changed since the run began: {counted(len(missing), 'case')} of its "
                f"split.json can no longer be found, such as {missing[0]}. Put back what is missing, or start a new "
                "run in another `folder`."
            )
        return [by_name[name] for name in names]


def make_task(config: RunConfig, dataset: Dataset, split: Split) -> Task:
    """Check that data set and settings fit, and say what the network has to give."""
    multilabel = dataset.activation == "sigmoid"
    sigmoid = multilabel if config.activation == "auto" else config.activation == "sigmoid"
    if multilabel and not sigmoid:
        raise BadInput(
            f"{dataset.name} is multi-label: its regions may overlap, so `activation` must be sigmoid. "
            "With `merge=True` they become one class."
        )
    if sigmoid and not multilabel and len(dataset.classes) != 2:
        raise BadInput(
            f"`activation=sigmoid` makes one channel of a binary problem; {dataset.name} has "
            f"{len(dataset.classes)} classes: {', '.join(dataset.classes)}. Add `merge=True`, or use softmax."
        )
    if len(dataset.classes) > UNLABELLED:
        raise BadInput(f"{dataset.name} has {len(dataset.classes)} classes; training takes at most {UNLABELLED}.")
    if len(dataset.classes) < 2 and not multilabel:
        raise BadInput(f"{dataset.name}: every mask is empty, so there is nothing to learn.")
    first_class = 1 if dataset.background or multilabel else 0
    foreground = dataset.classes if multilabel else dataset.classes[first_class:]
    return Task(
        dataset=dataset,
        split=split,
        sigmoid=sigmoid,
        multilabel=multilabel,
        out_channels=len(foreground) if sigmoid else len(dataset.classes),
        foreground=foreground,
        first_class=first_class,
    )


def make_criterion(config: RunConfig, task: Task) -> Loss:
    """The loss of the settings; padding and ignored pixels carry the label UNLABELLED."""
    try:
        return loss(
            config.loss,
            weight=config.weight,
            ignore_index=UNLABELLED,
            activation="sigmoid" if task.sigmoid else "softmax",
            **dict(config.loss_options),
        )
    except (ValueError, TypeError) as error:
        raise BadInput(f"`loss={config.loss}`: {error}") from error


def make_weight_schedule(config: RunConfig, criterion: Loss) -> WeightSchedule | None:
    """λ over training, where the settings have a ramp."""
    if not config.ramp:
        return None
    try:
        start, end = map(float, config.ramp.split(":"))
    except ValueError as error:
        raise BadInput(f"`ramp` must be two shares of the training, as 0.1:0.3, got {config.ramp!r}.") from error
    try:
        return WeightSchedule.ramp(criterion, start, end)
    except ValueError as error:
        raise BadInput(f"`ramp={config.ramp}`: {error}") from error


def make_model(config: RunConfig, task: Task, *, in_channels: int) -> nn.Module:
    """The network, initialised from the seed: the same for every loss."""
    torch.manual_seed(config.seed)
    return build_model(
        config.model,
        spatial_dims=task.dataset.spatial_dims,
        in_channels=in_channels,
        out_channels=task.out_channels,
        encoder_weights=config.encoder_weights,
        deep_supervision=config.deep_supervision,
    )


def check_patch(config: RunConfig, task: Task) -> None:
    """Say early when a size does not suit the data or the model."""
    dims = task.dataset.spatial_dims
    for name in ("size", "patch", "spacing"):
        given = getattr(config, name)
        if given and len(given) != dims:
            raise BadInput(f"`{name}` must have {dims} numbers for {dims}D data, got {len(given)}: {given}.")
    multiple = size_multiple(config.model)
    if any(length % multiple for length in config.patch):
        raise BadInput(
            f"`patch` must be a multiple of {multiple} along each axis for {config.model}, got {config.patch}."
        )


def problem_json(task: Task) -> str:
    """What predicting needs to know of the data that was trained on, as text."""
    dataset = task.dataset
    names = ("name", "classes", "spatial_dims", "modality", "activation", "ignore_index", "background", "notes")
    values = {name: getattr(dataset, name) for name in names}
    values |= {"axes": getattr(dataset.reader, "axes", "stored"), "length_unit": dataset.reader.length_unit}
    return json.dumps(values, indent=1)
