"""The page and the tests speak of the same rows; what each row says is checked where its peer is."""

import re
from pathlib import Path

from comparison import documented_rows


def test_every_row_has_a_test_and_every_test_a_row():
    sources = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    tested = set(re.findall(r'"([TMSNA]\d+)"', sources))
    assert tested == set(documented_rows())
