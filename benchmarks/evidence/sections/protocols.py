"""How it was done: protocols, seeds, versions, hashes, commands, and what is missing."""

from collections.abc import Iterable
from pathlib import Path

import run as runner
from tables import MANY_OBJECTS, finished

from sections.study import ROLES, EvidenceSet, read_names
from sections.wording import folded, table
from sizewise.report.formatted_table import Cell, Table
from sizewise.report.verdict import listed

COMMANDS = """\
python benchmarks/evidence/run.py {sets} --data ROOT --encoder FILE --work DIR --part pilot
python benchmarks/evidence/run.py {sets} --data ROOT --encoder FILE --work DIR --part 1  # 2, 3, 4, trials, sky, longer
python benchmarks/evidence/page.py  # this page and its figures, from the tables alone; no GPU"""


COMPLETE = "Every part of the study is complete."


def pointer(sets: tuple[EvidenceSet, ...]) -> list[str]:
    """Beside the answer: that the study goes on, where it does."""
    if missing(sets)[0] == COMPLETE:
        return []
    return [
        "The study is not complete; its parts are independent of each other: [what is missing](#what-is-missing).",
        "",
    ]


def missing(sets: tuple[EvidenceSet, ...]) -> list[str]:
    """What the study still lacks, part by part."""
    by_name, names = {one.name: one for one in sets}, read_names()
    lines = []
    for part in ("pilot", "1", "2", "3", "4", "trials", "longer"):
        lacking = {name: _lacking(by_name.get(name), name, part) for name in runner.SETS}
        lacking = {name: count for name, count in lacking.items() if count}
        if lacking:
            told = listed([f"{names[name]['title']} ({count})" for name, count in lacking.items()])
            lines.append(f"- {f'part {part}' if part.isdigit() else part}: {told}")
    if not lines:
        return [COMPLETE, ""]
    return ["Runs that the study still lacks, by part; what is there is a smaller study by itself:", "", *lines, ""]


def _lacking(one: EvidenceSet | None, name: str, part: str) -> int | str:
    """How many runs of a part are missing."""
    try:
        planned = runner.planned(name, part)
    except SystemExit:  # λ is not chosen
        return "all"
    done = finished(runner.table(name, part)) if one else set()
    lacking = [(loss, seed) for loss, seeds in planned for seed in seeds if (loss, str(seed)) not in done]
    return len(lacking)


def protocol_section(sets: tuple[EvidenceSet, ...]) -> list[str]:
    """Everything that it takes to run it again."""
    names = read_names()
    many, tried = (sorted(names[name]["title"] for name in group) for group in (MANY_OBJECTS, runner.TRIAL_SETS))
    lines = [
        "One protocol for each set, in `benchmarks/evidence/protocols/`. Splits are the sets' own where they have "
        "one, else seeded; what is not named is the recipe's. The checkpoint with the best validation DSC by argmax "
        "is scored once on the test cases, by argmax and decided for Dice with the temperature fitted on validation.",
        "",
        f"Losses: CE and JaccardCE as named; {listed([f'{arm} is CE + λ · {term}' for term, arm in ROLES.items()])}, "
        "with λ from the grid above. Part 1 has seeds 0 to 2 of these, part 2 seeds 3 and 4; part 3 has CC-DiceCE and "
        f"DiceCE at λ = 1 on {listed(many)}, part 4 {listed(list(runner.OTHERS))}, three seeds each.",
        "",
        "Trials of size penalties have two seeds, since with one there is no interval, on sets with different "
        f"structures: {listed(tried)} have three in a volume, thin ones, many small ones, and one large one. The "
        "others were left out to keep it short; on IDRiD, seeds of CE differ by more than a penalty could show.",
        "",
        "CamVid's test frames are from two drives, and are taken as if each stood alone: its intervals are too narrow "
        "for other roads. Without sky, its label maps are the same ones and the first class is left out of the score.",
        "",
    ]
    texts = [Path(runner.HERE / "protocols" / f"{one.name}.yaml").read_text(encoding="utf-8") for one in sets]
    for one, text in zip(sets, texts, strict=True):
        lines += folded(f"the protocol of {one.title}", ["```yaml", text.rstrip(), "```", ""])
    lines += [*table(_provenance(sets)), "```bash", COMMANDS.format(sets=" ".join(one.name for one in sets)), "```", ""]
    return lines


def made_with(machines: Iterable[str]) -> str:
    """Devices and versions, each with the commits that were run there.

    >>> made_with(["device A; torch 2; commit x", "device B; torch 2; commit y", "device A; torch 2; commit z"])
    'device A; torch 2; commits x and z / device B; torch 2; commit y'
    """
    found: dict[str, list[str]] = {}
    for machine in sorted(set(machines)):
        where, _, commit = machine.rpartition("; commit ")
        found.setdefault(where or machine, []).extend([commit] if where else [])
    return " / ".join(f"{where}{_commits(commits)}" for where, commits in found.items())


def _commits(commits: list[str]) -> str:
    return f"; commit{'s' if len(commits) > 1 else ''} {listed(commits)}" if commits else ""


def _provenance(sets: tuple[EvidenceSet, ...]) -> Table:
    rows = []
    for one in sets:
        seeds = sorted({each["seed"] for each in one.runs}, key=int)
        machines = made_with(each["machine"] for each in one.runs if each.get("machine"))
        rows.append(
            [
                Cell(one.title),
                Cell(", ".join(seeds)),
                Cell(f"{len(one.results):,}"),
                Cell(one.sha256[:16]),
                Cell(machines or "not in the table"),
            ]
        )
    heads = ["set", "seeds", "scores", "SHA-256 of the table, first 16", "made with"]
    note = (
        "`benchmarks/evidence/results/SET.csv.xz` has every score, `SET-runs.csv` one line for each run, with the "
        "hash of its settings."
    )
    return Table("tables", "The tables", heads, rows, note, heads=5)
