"""What ``sizewise report`` reads from its flags and prints."""

from collections.abc import Sequence
from pathlib import Path

from sizewise.cli.show import show_next
from sizewise.errors import BadInput


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


def refuse_scoring(study: Path | None, options: Sequence[str]) -> None:
    """A study was scored when its runs ended: options about scoring would be ignored, so they are an error."""
    if options:
        names = ", ".join(options)
        raise BadInput(f"report: {names} goes with --pred; '{study}' was scored when its runs ended. Leave it out.")


def show_report(page: Path) -> None:
    """Say where everything is."""
    folder = page.parent
    print(f"Wrote {page} (one file, opens offline), report.md, figures/ (SVG, PNG, CSV) and tables/ (LaTeX, CSV).")
    show_next(f"open {folder / 'report.html'} in a browser")
