"""What ``sizewise report`` reads from its flags and prints."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from sizewise.cli.show import show_next, show_page
from sizewise.errors import BadInput
from sizewise.report.label_map_study import Scoring
from sizewise.report.page import Page


def choose_source(study: Path | None, pred: Sequence[str], target: Path | None) -> dict[str, list[Path]]:
    """The folders of predictions by name; empty where a study is named. Exactly one of the two must be.

    A name that is given several times has several training runs.
    """
    if study is not None:
        if pred or target is not None:
            raise BadInput("report: name a STUDY, or --pred NAME=DIR with --target DIR, not both.")
        return {}
    if not pred or target is None:
        raise BadInput("report: name a STUDY, or at least one --pred NAME=DIR together with --target DIR.")
    folders: dict[str, list[Path]] = {}
    for word in pred:
        name, equals, folder = word.partition("=")
        if not (name and equals and folder):
            raise BadInput(f"report: --pred must be NAME=DIR, as nnunet=results/nnunet, got {word!r}.")
        if Path(folder) in folders.setdefault(name, []):
            raise BadInput(f"report: --pred {word} is given twice. The runs of a model lie in folders of their own.")
        folders[name].append(Path(folder))
    return folders


def refuse_scoring(study: Path, scoring: Scoring, groups: str, images: Path | None = None) -> None:
    """A study was scored when its runs ended: options about scoring would be ignored, so they are an error."""
    given = [name for name, value in (("groups", groups), ("images", images)) if value]
    given += [field.name for field in fields(Scoring) if getattr(scoring, field.name) != field.default]
    if given:
        names = ", ".join(f"`{name}`" for name in given)
        raise BadInput(f"report: {names} goes with --pred; '{study}' was scored when its runs ended. Leave it out.")


def show_report(page: Page, path: Path) -> None:
    """The verdict and the scores, and where everything is."""
    show_page(page)
    print(f"Wrote {path} (one file, opens offline), report.md, figures/ (SVG, PNG, CSV) and tables/ (LaTeX, CSV).")
    show_next(f"open {path} in a browser")
