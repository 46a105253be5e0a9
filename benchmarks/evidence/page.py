"""Rebuild docs/evidence.md, its figures, and the table of the page Decide from the committed tables; no GPU.

    python benchmarks/evidence/page.py

What the tables lack the page names; whatever parts there are make a page. Every sentence that claims something is
chosen by the numbers.
"""

from pathlib import Path

from sections.answer import answer
from sections.components import component_section
from sections.cost import cost_section
from sections.decision import decision_section, decision_table
from sections.figures import bias_trend, calibration, size_bias, size_control
from sections.headline import headline
from sections.longer import longer_section
from sections.losses import by_class, grid_table, loss_tables
from sections.named_losses import named_section
from sections.paper_claims import claims_section
from sections.protocols import missing, pointer, protocol_section
from sections.ranks import named_ranks, rank_figures, rank_table
from sections.study import EvidenceSet, read_longer, read_sky, read_study
from sections.trials import trial_section
from sections.two_by_two import two_by_two

from sizewise.files import write_whole
from sizewise.report.chart import Figure, LeftOut
from sizewise.report.draw import STATIC_STYLE, paint
from sizewise.report.formatted_table import to_csv
from sizewise.report.verdict import listed

DOCS = Path(__file__).parents[2] / "docs"
BEGIN, END = "<!-- evidence: made by benchmarks/evidence/page.py -->", "<!-- end of evidence -->"
TITLE = "# The evidence: do we really need Dice?"
HEAD = (
    "Which loss, which λ, which decision: trained here on {sets}, with several seeds, λ chosen on validation, and "
    "intervals that count both the luck of training and the choice of cases. This page and its figures are made from "
    "the tables in `benchmarks/evidence/results/` by `python benchmarks/evidence/page.py`, without a GPU; it claims "
    "what they allow.\n\n"
    "«CE (dice)» is the networks of CE with their labels [decided for Dice](guides/decide.md) instead of by argmax, so "
    "nothing is trained for it. A loss with its λ and its decision is called an arm. A difference is «shown» where its "
    "p-value, corrected for the number of sets, is below 0.05; λ is the weight of a loss's last term."
)
NOTHING = "The tables of `benchmarks/evidence/results/` hold no runs yet."


def main() -> None:
    """Write the page, its figures with the numbers behind them, and the table on the page Decide."""
    sets = read_study()
    text, figures = make_page(sets)
    write_whole(DOCS / "evidence.md", text)
    for old in (DOCS / "figures").glob("evidence-*"):
        old.unlink()
    for figure in figures:
        draw(figure, DOCS / "figures")
    guide = DOCS / "guides" / "decide.md"
    write_whole(guide, with_table(guide.read_text(encoding="utf-8"), sets))


def make_page(sets: tuple[EvidenceSet, ...]) -> tuple[str, list[Figure]]:
    """The text, and the figures that it shows."""
    if not sets:
        return f"{TITLE}\n\n{NOTHING}\n", []
    also = tuple(one.leaving_out(0) for one in sets if one.protocol["settings"].get("background") == "none")
    made = [
        headline(sets),
        *rank_figures(sets),
        named_ranks(sets),
        size_control(sets),
        calibration(sets),
        size_bias(sets),
    ]
    shown = {one.name: figure_lines(one) for one in made}
    parts = [
        ("The answer", [*shown["evidence-headline"], *answer(sets), *pointer(sets)]),
        ("Loss or decision", two_by_two(sets, also)),
        ("Every loss on every set", [*loss_tables(sets, also), *grid_table(sets)]),
        ("Ranks over the sets", [*shown["evidence-ranks-argmax"], *shown["evidence-ranks"], *rank_table(sets)]),
        ("The other named losses", named_section(sets, shown["evidence-ranks-named"])),
        ("Class by class", by_class(sets)),
        ("The decision, before and after", decision_section(sets, (*also, *read_sky()))),
        ("Is size under control worth it?", shown["evidence-size"]),
        ("What tells how much the decision gains?", [*shown["evidence-calibration"], *shown["evidence-bias"]]),
        ("Every component", component_section(sets)),
        ("Size penalties that were tried", trial_section(sets)),
        ("With more training", longer_section(sets, read_longer())),
        ("Beside the paper's claims", claims_section(sets)),
        ("What it costs", cost_section(sets)),
        ("How it was done", protocol_section(sets)),
        ("What is missing", missing(sets)),
    ]
    lines = [TITLE, "", HEAD.format(sets=listed([one.title for one in sets])), ""]
    for title, body in parts:
        lines += [f"## {title}", "", *body]
    return "\n".join(lines).rstrip() + "\n", [one for one in made if isinstance(one, Figure)]


def figure_lines(one: Figure | LeftOut) -> list[str]:
    """A figure with its caption and its numbers, or why there is none."""
    if isinstance(one, LeftOut):
        return [f"{one.title}: left out, since {one.why}", ""]
    return [f"![{one.title}](figures/{one.name}.svg)", "", f"{one.caption} ([the numbers](figures/{one.name}.csv))", ""]


def draw(figure: Figure, folder: Path) -> None:
    """NAME.svg, and NAME.csv with the numbers behind it."""
    from matplotlib import rc_context

    with rc_context(STATIC_STYLE):
        canvas = paint(figure.views[0], title=figure.title, height=figure.height, names_down=figure.names_down)
        canvas.savefig(folder / f"{figure.name}.svg", metadata={"Date": None})
    write_whole(folder / f"{figure.name}.csv", numbers_of(figure))


def numbers_of(figure: Figure) -> str:
    """The table behind a figure, with digits that every machine agrees on."""
    return to_csv(figure.columns, [[_rounded(cell) for cell in row] for row in figure.rows])


def _rounded(cell: object) -> object:
    return float(f"{cell:.5g}") if isinstance(cell, float) else cell


def with_table(guide: str, sets: tuple[EvidenceSet, ...]) -> str:
    """The page Decide with its table of real sets, between the markers."""
    before, _, rest = guide.partition(BEGIN)
    _, _, after = rest.partition(END)
    body = ["No runs have been decided yet.", ""]
    if sets:
        picture = "[The picture](../evidence.md#what-tells-how-much-the-decision-gains)."
        body = [*decision_table(sets, read_sky()), f"{bias_trend(sets)} {picture}".strip(), ""]
    return "\n".join([before + BEGIN, "", *body, END]) + after


if __name__ == "__main__":
    main()
