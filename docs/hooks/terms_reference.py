"""The reference of the terms, made from their exports when the site is built."""

import ast
from pathlib import Path
from typing import Any

MARKER = "<!-- the terms -->"
EXPORTS = Path(__file__).parents[2] / "src" / "sizewise" / "terms" / "__init__.py"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    return markdown.replace(MARKER, terms_markdown()) if MARKER in markdown else markdown


def terms_markdown() -> str:
    """A section for each exported term, in the order of the imports, so that those of one file stand together."""
    tree = ast.parse(EXPORTS.read_text(encoding="utf-8"))
    names = [name.name for node in tree.body if isinstance(node, ast.ImportFrom) for name in node.names]
    return "\n\n".join(f"::: sizewise.{name}\n    options:\n      members: false" for name in names)
