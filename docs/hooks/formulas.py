"""Formulas between $$ become MathML when the site is built: browsers draw it themselves, without a script."""

import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(r"^\$\$(.+?)\$\$$", re.MULTILINE | re.DOTALL)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    return FORMULA.sub(lambda found: f'\n<div class="formula">{convert(found[1], display="block")}</div>\n', markdown)
