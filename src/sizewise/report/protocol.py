"""What was run, by what, and how to run it again."""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from sizewise.report.formatted_table import Cell, Table
from sizewise.report.saved import Run
from sizewise.report.scores import Scores

HIDDEN = ("commands", "name", "length_unit")


def protocol_facts(study: Mapping[str, Any], scores: Scores) -> list[tuple[str, str]]:
    """The study's settings, one line each."""
    facts = [(name.replace("_", " "), _plain(value)) for name, value in study.items() if name not in HIDDEN]
    facts = [(name, value) for name, value in facts if value]
    facts.append(("rows in results.csv", f"{scores.rows:,}"))
    facts.append(("seeds", ", ".join(one or "not known" for one in scores.seeds)))
    return list(dict(facts).items())


def protocol_tables(runs: Sequence[Run]) -> list[Table]:
    """Every run with its state, the settings that all share, and the versions."""
    if not runs:
        return []
    calibrated = any(run.calibration for run in runs)
    rows = [
        [
            Cell(run.name),
            Cell(run.setting),
            Cell(run.arm),
            Cell(run.seed, float(run.seed) if run.seed.isdigit() else None),
            Cell("finished" if run.finished else "failed" if run.error else "unfinished"),
            Cell(
                str(int(run.history[-1]["epoch"])) if run.history else "–",
                run.history[-1]["epoch"] if run.history else None,
            ),
            Cell(
                f"{run.cost['train_seconds']:.0f}" if "train_seconds" in run.cost else "–",
                run.cost.get("train_seconds"),
            ),
            *([_temperature(run)] if calibrated else []),
            Cell(run.error or ""),
        ]
        for run in runs
    ]
    fitted = ["decision temperature"] if calibrated else []
    columns = ["run", "data and model", "loss", "seed", "state", "epochs", "training (s)", *fitted, "error"]
    tables = [Table("runs", "Runs", columns, rows, "Each is a folder in runs/.", heads=3)]
    for name, title, of in (("settings", "Settings", "config"), ("versions", "Versions", "versions")):
        found = _variants([getattr(run, of) for run in runs])
        if found:
            tables.append(Table(name, title, ["name", "value"], [[Cell(k), Cell(v)] for k, v in found], heads=2))
    return tables


def _temperature(run: Run) -> Cell:
    found = run.calibration.get("temperature")
    return Cell("–" if found is None else f"{found:.3g}", found)


def study_commands(study: Mapping[str, Any], command: str) -> list[str]:
    """The command lines of the study, and the one that asked for this report, where that is another."""
    listed = [shlex.join(map(str, one)) if isinstance(one, list) else str(one) for one in study.get("commands", [])]
    return list(dict.fromkeys([*listed, *([command] if command else [])]))


def _variants(records: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Each setting with its value, or its values where runs differ."""
    names = dict.fromkeys(name for record in records for name in record)
    found = []
    for name in names:
        values = list(dict.fromkeys(_plain(record[name]) for record in records if name in record))
        text = "; ".join(value or "–" for value in values[:8]) + (
            f"; and {len(values) - 8} more" if len(values) > 8 else ""
        )
        if any(values):
            found.append((name, text))
    return found


def _plain(value: Any) -> str:
    if value is None or value == [] or value == "":
        return ""
    if isinstance(value, list) and all(isinstance(one, str | int | float) for one in value):
        return ", ".join(map(str, value))
    if isinstance(value, list) and all(isinstance(one, list) and len(one) == 2 for one in value):
        return ", ".join(f"{name} = {_plain(setting)}" for name, setting in value)
    if isinstance(value, dict):
        return ", ".join(f"{name} = {_plain(setting)}" for name, setting in value.items())
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
