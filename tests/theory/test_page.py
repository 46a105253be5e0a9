"""The code on the page about the theory runs, and prints what the page says."""

import doctest
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "theory.md"


def test_the_page_shows_what_the_code_prints():
    # A closing fence would be read as expected output.
    text = PAGE.read_text(encoding="utf-8").replace("```", "")
    page = doctest.DocTestParser().get_doctest(text, {}, "theory.md", str(PAGE), 0)
    said: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(page, out=said.append)
    assert result.attempted > 20
    if result.failed:
        pytest.fail("".join(said))
