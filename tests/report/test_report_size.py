"""Half a million rows: the report builds, and its page opens. How long both take is printed: other work may slow them."""

import os
import time

import pytest
from chromium import BINARY, browser
from synthetic_study import make_study

from sizewise.report.build import build_report


@pytest.mark.exhaustive
@pytest.mark.skipif(not os.environ.get("SIZEWISE_EXHAUSTIVE"), reason="takes a minute; make test-all runs it")
def test_half_a_million_rows(tmp_path):
    data = ("kvasir-seg", "b", "c", "d", "e", "f")
    study = make_study(tmp_path, data=data, cases=235, seeds=5, classes=("background", "x", "y", "z"), overlays=12)
    with (study / "results.csv").open() as file:
        assert sum(1 for _ in file) > 500_000
    start = time.monotonic()
    page = build_report(study)
    print(f"built in {time.monotonic() - start:.0f} s")
    assert page.stat().st_size < 8 * 2**20
    if BINARY is not None:
        with browser() as chromium:
            print(f"opened in {chromium.open(page):.1f} s")
            assert chromium.errors == []
