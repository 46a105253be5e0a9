"""A diagnosis on the screen, and the command of its first step."""

import shlex
from dataclasses import replace
from pathlib import Path

from sizewise.cli.flags import in_flags
from sizewise.cli.run_flags import loss_word, protocol_flags
from sizewise.cli.show import show_next, show_sentences, show_table
from sizewise.diagnosis.diagnosis_page import Diagnosis, class_table, gain_table
from sizewise.losses import ALIASES
from sizewise.train.config import DEFAULT_LOSS, RunConfig
from sizewise.train.run_folder import read_config

LARGER = {"monai-unet-small": "monai-unet", "monai-unet": "monai-dynunet", "monai-segresnet": "monai-dynunet"}


def first_command(
    found: Diagnosis,
    *,
    run: Path | None,
    pred: Path | None,
    target: Path | None,
    probabilities: Path | None,
    activation: str,
    background: str,
) -> str:
    """The command that does what the advice says first; empty where there is nothing to do."""
    step = found.advice.step
    if step == "probabilities":
        again = ["sizewise", "diagnose", "--pred", str(pred), "--target", str(target), "--probabilities"]
        return f"{shlex.join(again)} FOLDER_OF_PROBABILITIES"
    if step in ("decision", "fitted decision"):
        return _decision(found, run, probabilities, activation, background)
    if step == "nothing":
        return ""
    if run is None:
        of_losses = step == "loss"
        tried = ",".join(("CE", DEFAULT_LOSS, "RCE")) if of_losses else "CE"
        models = [] if of_losses else ["--models", "MODEL,LARGER_MODEL"]
        return shlex.join(["sizewise", "compare", "--data", "YOUR_DATA", "--losses", tried, *models, "--seeds", "3"])
    study = _study(step, read_config(run))
    return shlex.join([*study, "--out", f"study-of-{run.resolve().name}"])  # `study` may be there, of another protocol


def _study(step: str, config: RunConfig) -> list[str]:
    """The study that changes the loss, or the network, and leaves all else as the run had it."""
    loss, models = loss_word(config), config.model
    if step == "loss":
        own = ALIASES.get(config.loss, config.loss)
        others = (name for name in (DEFAULT_LOSS, "RCE") if ALIASES.get(name, name) != own)
        loss = ",".join((loss, *others))
    elif config.model in LARGER:
        models = f"{config.model},{LARGER[config.model]}"
    else:
        config = replace(config, epochs=2 * config.epochs)
    words = ["sizewise", "compare", "--data", config.data, *protocol_flags(config)]
    return [*words, "--losses", loss, "--models", models, "--seeds", "3"]


def _decision(found: Diagnosis, run: Path | None, probabilities: Path | None, activation: str, background: str) -> str:
    fitted = found.advice.step == "fitted decision"
    if run is not None:
        words = ["sizewise", "predict", str(run), "--data", read_config(run).data, "--decide", "dice"]
        return shlex.join([*words, *([] if fitted else ["--temperature", "1"]), "--out", "decided"])
    words = ["sizewise", "decide", "--probabilities", str(probabilities), "--out", "decided"]
    if fitted:
        words += ["--temperature", f"{found.temperature:.4g}"]
    for name, value, usual in (("--activation", activation, "softmax"), ("--background", background, "0")):
        words += [name, value] if value != usual else []
    return shlex.join(words)


def show_diagnosis(found: Diagnosis, *, page: Path, command: str) -> None:
    """Print the advice, the two tables, and what to run next."""
    for table in (gain_table(found), class_table(found)):
        show_table(table.title, table.columns, [[cell.text for cell in row] for row in table.rows], heads=1)
        show_sentences(in_flags(table.note))
    for note in found.notes:
        show_sentences(f"note: {in_flags(note)}")
    show_sentences(found.advice.sentence)
    print(f"Wrote {page}, and diagnosis.csv and diagnosis.json beside it.")
    if command:
        show_next(command)
