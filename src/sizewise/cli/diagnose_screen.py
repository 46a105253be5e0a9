"""A diagnosis on the screen, and the command of its first step."""

import shlex
from pathlib import Path

from sizewise.cli.flags import in_flags
from sizewise.cli.show import show_next, show_table
from sizewise.diagnosis.diagnosis_page import Diagnosis, class_table, gain_table
from sizewise.train.config import DEFAULT_LOSS
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
    data, loss, model = "YOUR_DATA", "CE", ""
    if run is not None:
        config = read_config(run)
        data, loss, model = config.data, config.loss, config.model
    if step == "loss":
        losses = ",".join(dict.fromkeys((loss, DEFAULT_LOSS, "RCE")))
        more = ["--models", model] if model else []
        return shlex.join(["sizewise", "compare", "--data", data, "--losses", losses, *more, "--seeds", "3"])
    models = ",".join(one for one in (model, LARGER.get(model, "")) if one) or "MODEL,LARGER_MODEL"
    more = ["--epochs", str(2 * config.epochs)] if run is not None and model not in LARGER else []
    words = ["sizewise", "compare", "--data", data, "--losses", loss, "--models", models, "--seeds", "3", *more]
    return shlex.join(words)


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
        print(in_flags(table.note))
    for note in found.notes:
        print(f"note: {in_flags(note)}")
    print(found.advice.sentence)
    print(f"Wrote {page}, and diagnosis.csv and diagnosis.json beside it.")
    if command:
        show_next(command)
