"""The report of a study, shown to the trackers that its runs were shown to."""

from pathlib import Path

from sizewise.json_files import read_json
from sizewise.train.loggers.logger import LoggedRun, log_files

FILES = ("report.html", "results.csv", "study.json")


def log_study_report(logger: str, folder: Path) -> None:
    """``report.html`` and the tables behind it as files of an entry of their own, named after the study."""
    settings = read_json(folder / "study.json")
    run = LoggedRun(f"{settings.get('name', folder.name)}-report", folder, settings, {})
    log_files(logger, run, [folder / name for name in FILES if (folder / name).exists()])
