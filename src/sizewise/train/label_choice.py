"""How the labels of a predictor are chosen: its decision, the temperature of that, and the components that stay."""

import math
from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any

from lightning_fabric import Fabric

from sizewise.errors import BadInput
from sizewise.metrics.cases_csv import ARGMAX
from sizewise.progress import track
from sizewise.train.calibration import best_epoch
from sizewise.train.decided_labels import LabelMaker, decision_names
from sizewise.train.ensemble import Member, ensemble_temperature, validation_of
from sizewise.train.keep_largest import Kept, Truth, remembered, tune
from sizewise.train.predictor import Predictor
from sizewise.train.scoring import predict_cases
from sizewise.train.setup import Log
from sizewise.train.task import Task
from sizewise.wording import counted


def check_decision(decide: str, temperature: float | None) -> None:
    """Raise BadInput where there is no such decision, or the temperature makes no sense."""
    decision_names([decide], argument="decide")
    if temperature is not None and (isinstance(temperature, bool) or not isinstance(temperature, Real)):
        raise BadInput(f"`temperature` must be a number above 0, got {temperature!r}.")
    if temperature is not None and not 0 < temperature < math.inf:
        raise BadInput(f"`temperature` must be a number above 0, got {temperature:g}.")
    if temperature is not None and decide == ARGMAX:
        raise BadInput(
            "`temperature` is of a decision for dice, iou or size, and argmax is the same at any. Leave it out, or "
            "name the decision with `decide`."
        )


def make_labels(
    members: Sequence[Member],
    task: Task,
    network: Predictor,
    *,
    fabric: Fabric,
    decide: str,
    temperature: float | None,
    keep_largest: dict[str, Any] | None,
    log: Log,
) -> LabelMaker:
    """What makes label maps of the network's logits; what it lacks is fitted on the validation cases.

    ``keep_largest`` says how the logits are made, where the components that stay are to be tuned; None: all stay.
    """
    if decide != ARGMAX and temperature is None:
        temperature = ensemble_temperature(members, network, decision=decide, fabric=fabric, log=log)
    maker = LabelMaker(task, float(temperature or 1.0))
    if keep_largest is None:
        return maker
    how = keep_largest | {"decision": decide, "temperature": maker.temperature if decide != ARGMAX else None}
    kept = tuned_components(members, network, maker, how, decide, log=log)
    names = [task.names[k] for k in kept.classes]
    log(
        f"keeping the largest component of {', '.join(names)}" if names else "no class scores better without its others"
    )
    return LabelMaker(task, maker.temperature, kept.classes)


def tuned_components(
    members: Sequence[Member], network: Predictor, maker: LabelMaker, how: dict[str, Any], decide: str, *, log: Log
) -> Kept:
    """The classes of which only the largest component is kept; of one run what was found is remembered."""
    if not maker.task.first_class:
        raise BadInput("`keep_largest` turns what it drops into background, and this run has none. Leave it out.")
    task, cases = validation_of(members, "which components stay")
    if not cases:
        raise BadInput("`keep_largest` is tuned on validation cases, and these runs have none in common. Leave it out.")

    def labelled() -> Iterator[Truth]:
        predicted = predict_cases(task, network, cases)
        for case, image, logits in track(predicted, what="Trying components", total=len(cases)):
            labels = maker.label_map(logits, image.pixels.shape[1:], decide)
            yield Truth(labels, task.dataset.reader.target(case), image.spacing)

    def find() -> Kept:
        log(f"trying on {counted(len(cases), 'validation case')} which components stay")
        return tune(
            labelled(),
            tuple(task.names),
            multilabel=task.multilabel,
            ignore_index=task.dataset.ignore_index,
            how=how,
        )

    if len(members) > 1:
        return find()
    how = how | {"epoch": best_epoch(members[0].folder)}
    return remembered(members[0].folder, how, find)
