"""The scripts of benchmarks/evidence as modules that read the tables of a test."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evidence_tables import whole_plan, write_tables

FOLDER = Path(__file__).parents[1] / "benchmarks" / "evidence"
PATIENTS = (FOLDER / "protocols" / "acdc-groups.csv").read_text(encoding="utf-8").splitlines()[1:25]
CASES = {"kvasir": 14, "camvid": 12, "drive": 12, "dsb2018": 12, "acdc": [line.partition(",")[0] for line in PATIENTS]}
DATA = {"kvasir": "kvasir-seg"}  # by its folder's name the report knows that the paper has it
CLASSES = {"kvasir": (1,), "camvid": (0, 1, 2), "drive": (1,), "dsb2018": (1,), "acdc": (1, 2, 3)}


class Scripts:
    """The scripts as modules."""

    def __init__(self, results):
        import page
        import run
        import tables
        from sections import contrasts, study, trials

        self.page, self.run, self.tables, self.contrasts, self.study, self.trials = page, run, tables, contrasts, study, trials  # fmt: skip
        tables.RESULTS = results

    def write(self, name, plan=None, *, table="", **options):
        plan = plan or whole_plan(self.run, name)
        write_tables(
            self.tables,
            table or name,
            plan,
            classes=CLASSES[name],
            data=DATA.get(name, name),
            cases=CASES[name],
            **options,
        )


@contextmanager
def importable() -> Iterator[None]:
    """Scripts are imported by their bare names; no other test may meet these modules."""
    _forget()
    sys.path.append(str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))
    _forget()


def _forget():
    for name in [
        one for one in sys.modules if one.split(".")[0] in ("page", "run", "tables", "shrink", "size_terms", "sections")
    ]:
        del sys.modules[name]
