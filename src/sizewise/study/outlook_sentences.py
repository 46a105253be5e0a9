"""What a study can show before it is run, in plain words."""

from sizewise.metrics.registry import METRICS
from sizewise.study.outlook import FOLDS, MORE_SEEDS, Outlook
from sizewise.study.statistics.paired import FEWEST_GROUPS, FEWEST_SEEDS
from sizewise.wording import clock, counted


def outlook_sentences(found: Outlook) -> list[str]:
    """What is compared, what it can show, and what would show more; arguments are named between backticks."""
    return [_size(found), *_shows(found), *_cost(found)]


def _size(found: Outlook) -> str:
    where = f"{found.data} with {found.model}" if found.model else found.data
    units = counted(found.cases, "test case")
    if found.groups != found.cases:
        units += f" of {counted(found.groups, 'group')}"
    units += f" over {found.folds} folds" if found.folds else ""
    count = f"{counted(found.arms, 'loss', 'losses')} × {counted(found.seeds, 'seed')}"
    count += f" × {found.folds} folds" if found.folds else ""
    done = f", {found.finished} of them finished" if found.finished else ""
    return f"{where}: {units}; {count} = {counted(found.runs, 'run')}{done}."


def _shows(found: Outlook) -> list[str]:
    said = []
    smallest = found.smallest()
    if found.arms < 2:
        return ["One loss is compared with nothing: name several in `losses`."]
    if found.groups < FEWEST_GROUPS:
        units = "group" if found.groups != found.cases else "case"
        said.append(
            f"This can show nothing: {counted(found.groups, f'{units} is', f'{units}s are')} too few for a verdict, "
            f"which needs {FEWEST_GROUPS}."
        )
    elif found.seeds < FEWEST_SEEDS:
        said.append("This can show nothing: one seed cannot separate a loss from luck. Give `seeds=3`.")
    elif smallest is not None:
        said.append(
            f"The smallest difference that this could show, in 80 % of such studies: {_points(smallest)} (from "
            f"{found.source})."
        )
    said += _would_show(found)
    return said


def _would_show(found: Outlook) -> list[str]:
    """More seeds, and folds where they test more groups."""
    options = []
    for seeds in (seeds for seeds in MORE_SEEDS if seeds > found.seeds):
        if (size := found.smallest(seeds=seeds)) is not None:
            options.append(f"`seeds={seeds}`: {_points(size)}")
    seeds = max(found.seeds, MORE_SEEDS[0])
    if not found.folds and found.all_groups > found.groups:
        size = found.smallest(seeds=seeds, groups=found.all_groups)
        if size is not None:
            also = f" and `seeds={seeds}`" if seeds > found.seeds else ""
            options.append(f"`folds={FOLDS}`{also}, which tests all {found.all_groups} units: {_points(size)}")
    if not options and found.groups < FEWEST_GROUPS:
        return [f"The data has {counted(found.all_groups, 'unit')} in all, so no split of it can show more."]
    return [f"What would show smaller ones: {'; '.join(options)}."] if options else []


def _cost(found: Outlook) -> list[str]:
    left = found.runs - found.finished
    if found.run_seconds is None or not left:
        return []
    memory = f", {found.memory_mib:,.0f} MiB at most" if found.memory_mib else ""
    if found.timed:
        return [
            f"By a few timed steps, the steps of a run take {clock(found.run_seconds)}{memory}: "
            f"{clock(found.run_seconds * left)} for {counted(left, 'run')}, one after another. Reading, validation and "
            "scores come on top."
        ]
    return [
        f"A run takes {clock(found.run_seconds)}{memory}: {clock(found.run_seconds * left)} for the "
        f"{counted(left, 'run')} that {'is' if left == 1 else 'are'} left, one after another."
    ]


def _points(difference: float) -> str:
    metric = METRICS["dsc"]
    return f"{difference * metric.scale:.1f} {metric.difference}"
