"""The README's Python runs as it is written."""

import re
from pathlib import Path

from readme_snippets import snippets

ROOT = Path(__file__).parent.parent


def test_the_readmes_code_runs():
    blocks = snippets(ROOT / "README.md")
    assert len(blocks) >= 2
    exec("\n".join(blocks), {})


def test_the_readme_names_the_two_commands():
    text = (ROOT / "README.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    for command in ("demo", "test"):
        assert f"make {command}" in text
        assert re.search(rf"^{command}:", makefile, flags=re.MULTILINE)
