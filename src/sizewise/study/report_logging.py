"""The report of a study, shown to the trackers that its runs were shown to."""

import json
from pathlib import Path

from sizewise.train.loggers.logger import LoggedRun, log_files

FILES = ("report.html", "results.csv", "study.json")


def log_study_report(logger: str, folder: Path) -> None:
    """``report.html`` and the tables behind it as files of an entry of their own, named after the study."""
    settings = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    run = LoggedRun(f"{settings.get('name', folder.name)}-report", folder, settings, {})
    log_files(logger, run, [folder / name for name in FILES if (folder / name).exists()])
