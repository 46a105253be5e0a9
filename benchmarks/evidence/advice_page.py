"""The parts of docs/guides/advise.md that follow from the tables: its example, and the record of the advice."""

import contextlib
import io
import textwrap
from pathlib import Path

from sizewise.advice.advice_text import against_words, arm_name, record_words
from sizewise.advice.advise import advise_table
from sizewise.advice.evidence_table import EvidenceSet
from sizewise.advice.leave_one_out import against, leave_one_set_out
from sizewise.advice.mask_regions import mask_regions
from sizewise.cli import show
from sizewise.cli.advise_screen import show_advice
from sizewise.data.recognise import open_dataset
from sizewise.files import write_whole
from sizewise.train.recipes import recipe_by_layout

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "advise.md"
EXAMPLE = "synthetic"
COLUMNS = 110


def write_page(evidence: tuple[EvidenceSet, ...], page: Path = PAGE) -> None:
    """Put both parts between their marks."""
    write_whole(page, with_parts(page.read_text(encoding="utf-8"), evidence))


def with_parts(text: str, evidence: tuple[EvidenceSet, ...]) -> str:
    """The page with both parts as the evidence has them."""
    text = between(text, "example", f"```text\n{example(evidence)}```")
    return between(text, "record", record_table(evidence))


def between(text: str, name: str, content: str) -> str:
    """The text with this content between two marks.

    >>> between("a <!-- b --> old <!-- end of b --> c", "b", "new").split()
    ['a', '<!--', 'b', '-->', 'new', '<!--', 'end', 'of', 'b', '-->', 'c']
    """
    first, last = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, _, rest = text.partition(first)
    _, _, after = rest.partition(last)
    return f"{before}{first}\n{content}\n{last}{after}"


def example(evidence: tuple[EvidenceSet, ...]) -> str:
    """What ``sizewise advise synthetic`` prints, in lines that fit the page."""
    dataset = open_dataset(EXAMPLE)
    regions = mask_regions(dataset)
    advice = advise_table(regions.table, evidence=evidence, recipe=recipe_by_layout(EXAMPLE))
    printed, wide = io.StringIO(), show.PIPE_COLUMNS
    show.PIPE_COLUMNS = COLUMNS
    try:
        with contextlib.redirect_stdout(printed):
            show_advice(dataset, regions, advice, ["--data", EXAMPLE])
    finally:
        show.PIPE_COLUMNS = wide
    lines = (line.rstrip() for line in printed.getvalue().splitlines())
    return "\n".join(line if "sizewise " in line else textwrap.fill(line, COLUMNS) for line in lines) + "\n"


def record_table(evidence: tuple[EvidenceSet, ...]) -> str:
    """A line for each set that was left out, and what comes of it."""
    record = leave_one_set_out(evidence)
    always = {one.set: one for one in against(record)[1]}
    lines = [
        "| set left out | advised | behind the best (DSC points) | the best there | DiceCE is behind by |",
        "|---|---|---:|---|---:|",
    ]
    for one in record.advice:
        other = f"{100 * always[one.set].points:.2f}" if one.set in always else "not run yet"
        names = arm_name(one.answer), f"{100 * one.points:.2f}", arm_name(one.best), other
        lines.append(f"| {one.set} | {' | '.join(names)} |")
    said = [f"The advice is {record_words(record.advice)}." if record.advice else "There are too few sets yet."]
    said += [against_words(record)] if always else []
    return "\n".join([*lines, "", " ".join(said)])
