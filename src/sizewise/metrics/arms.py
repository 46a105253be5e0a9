"""What is compared: an arm is a loss with its λ and τ, a decision and a network. One function names it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sizewise.metrics.cases_csv import ARGMAX, RunColumns

UNNAMED = "predictions"
_TAU = " τ="


@dataclass(frozen=True)
class Arm:
    """One thing that is compared with others. What is empty is not known, or the same for all.

    Attributes:
        loss: a name that ``sizewise.loss`` knows; of label maps from elsewhere, what they are called.
        weight: λ as it was used, as text; empty where the loss has none.
        temperature: τ as text, where one was chosen.
        decision: how labels were decided.
        model: the network, where arms differ in it.
    """

    loss: str
    weight: str = ""
    temperature: str = ""
    decision: str = ""
    model: str = ""


def loss_cell(loss: str, temperature: float | None) -> str:
    """A loss as ``cases.csv`` has it: with its temperature where one was chosen.

    >>> loss_cell("RCE", 5.0), loss_cell("CE", None)
    ('RCE τ=5', 'CE')
    """
    return loss if temperature is None else f"{loss}{_TAU}{temperature:g}"


def arm_of(of: RunColumns) -> Arm:
    """The arm that rows of a table belong to; without a loss they are called after their run.

    >>> arm_of(RunColumns(loss="RCE τ=5", weight="1"))
    Arm(loss='RCE', weight='1', temperature='5', decision='', model='')
    """
    if not of.loss:
        return Arm(of.run or UNNAMED)
    loss, _, temperature = of.loss.partition(_TAU)
    try:
        float(temperature)
    except ValueError:  # none, or a name of the user's that happens to look so
        loss, temperature = of.loss, ""
    return Arm(loss, of.weight, temperature, of.decision)


def name_arms(arms: Sequence[Arm]) -> list[str]:
    """A name for each, the same wherever the arms are named together.

    λ is named where a loss was run with several, τ where one was chosen, the decision where it is not argmax, and the
    network where there are several. Name all arms of a study at once: a part of it may lack what makes λ tell apart.

    >>> name_arms([Arm("CE"), Arm("RCE", "0.1"), Arm("RCE", "1"), Arm("Dice", "", "", "dice")])
    ['CE', 'RCE λ=0.1', 'RCE λ=1', 'Dice (dice)']
    >>> name_arms([Arm("RCE", "1", "5"), Arm("CE", model="fpn"), Arm("CE", model="unet")])
    ['RCE τ=5', 'CE on fpn', 'CE on unet']
    """
    weights: dict[str, set[str]] = defaultdict(set)
    for arm in arms:
        weights[arm.loss] |= {arm.weight} - {""}
    models = {arm.model for arm in arms} - {""}
    return [_name(arm, weighted=len(weights[arm.loss]) > 1, placed=len(models) > 1) for arm in arms]


def _name(arm: Arm, *, weighted: bool, placed: bool) -> str:
    name = arm.loss
    if weighted and arm.weight:
        name += f" λ={arm.weight}"
    if arm.temperature:
        name += f"{_TAU}{arm.temperature}"
    if arm.decision not in ("", ARGMAX):
        name += f" ({arm.decision})"
    return f"{name} on {arm.model}" if placed and arm.model else name
