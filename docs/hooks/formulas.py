"""Formulas between $$ become MathML when the site is built: browsers draw it themselves, without a script."""

import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(r"^\$\$(.+?)\$\$$", re.MULTILINE | re.DOTALL)
BRACED, BRACE = "<munder><munder><mrow>", "</mrow><mo>&#x23DF;</mo></munder>"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    return FORMULA.sub(lambda found: f'\n<div class="formula">{mathml(found[1])}</div>\n', markdown)


def mathml(formula: str) -> str:
    """A formula as MathML. A brace below becomes a line, since few readers have a font whose brace stretches."""
    text = convert(formula, display="block")
    return text.replace(BRACED, '<munder><mrow class="braced">').replace(BRACE, "</mrow>")
