"""The scores of a trained run: its test cases under argmax and other decisions, in the model card and ``cases.csv``.

Decisions come from the same weights. One that is asked for after the run was finished is scored then, and its rows are
added to the table.
"""

from collections.abc import Sequence
from pathlib import Path

from lightning_fabric import Fabric

from sizewise.checksums import remember
from sizewise.loss_formula import is_formula
from sizewise.metrics.arms import loss_cell
from sizewise.metrics.cases_csv import ARGMAX, Row, RunColumns, read_cases, score_rows, write_complete
from sizewise.train.calibration import calibrate
from sizewise.train.config import Runtime
from sizewise.train.model_card import write_model_card
from sizewise.train.preparation import Preparation
from sizewise.train.resolve import ResolvedRun
from sizewise.train.run_folder import scored_decisions
from sizewise.train.scoring import load_network, score_cases
from sizewise.train.setup import Log
from sizewise.wording import counted


def write_test_scores(
    run: ResolvedRun,
    folder: Path,
    runtime: Runtime,
    *,
    fabric: Fabric,
    preparation: Preparation,
    decisions: Sequence[str],
    log: Log,
) -> None:
    """Score what ``cases.csv`` lacks; write the card and the table with all of it. Interrupted, the old table stays."""
    config, task = run.config, run.task
    known = fabric.broadcast(scored_decisions(folder) if fabric.is_global_zero else ())
    missing = [one for one in decisions if one not in known]
    network = load_network(config, task, preparation, folder, fabric=fabric)
    temperatures = dict.fromkeys(missing, 1.0)
    if any(one != ARGMAX for one in missing):
        fitted = calibrate(task, network, folder, fabric=fabric, log=log)
        temperatures = {one: fitted.of(one) for one in missing}
    names = task.split.test or task.split.validation
    subset = "test" if task.split.test else "validation"
    how = "" if missing == [ARGMAX] else f", decided by {', '.join(map(decided_by, temperatures.items()))}"
    log(f"scoring {counted(len(names), f'{subset} case')} at full resolution{how}")
    scores = score_cases(
        config,
        task,
        network,
        names,
        fabric=fabric,
        decisions=missing,
        temperatures=temperatures,
        overlays=folder / "overlays",
        sharing=runtime.sharing,
    )
    if fabric.is_global_zero:
        rows: list[Row] = read_cases(folder / "cases.csv") if known else []
        for decision, of_cases in scores.items():
            rows += score_rows(of_cases, of=run_columns(run, decision))
        if (folder / "history.csv").exists():
            remember(folder / "history.csv")
        write_model_card(run, folder, rows)  # before the table: a run that has one is complete, and is left alone
        write_complete(folder / "cases.csv", rows)
    fabric.barrier()


def decided_by(one: tuple[str, float]) -> str:
    """A decision and its temperature, which argmax has none of.

    >>> decided_by(("argmax", 1.0)), decided_by(("dice", 0.7))
    ('argmax', 'dice at temperature 0.7')
    """
    decision, temperature = one
    return decision if decision == ARGMAX else f"{decision} at temperature {temperature:.3g}"


def run_columns(run: ResolvedRun, decision: str = ARGMAX) -> RunColumns:
    """How the run's rows are labelled; ``weight`` is λ as it was used, empty where the loss has none or says it."""
    config, weights = run.config, list(run.criterion.weights)
    return RunColumns(
        run=config.hash,
        data=run.dataset.name,
        model=config.model,
        loss=loss_cell(config.loss, dict(config.loss_options).get("temperature")),
        weight=f"{float(weights[1]):g}" if len(weights) > 1 and not is_formula(config.loss) else "",
        seed=str(config.seed),
        decision=decision,
    )
