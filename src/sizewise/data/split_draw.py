"""Draw whole groups of cases for one side of a split, or deal them to folds: seeded, and by strata where given.

A stratum is a kind of case that should be on every side in its share, such as images without the region that is looked
for. Without strata a draw is that of earlier versions, case for case.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sizewise.data.dataset import Case

Key = tuple[str, str]
Groups = dict[Key, list[Case]]


def take(
    cases: Sequence[Case],
    wanted: float,
    *,
    seed: int,
    stream: int,
    strata: Mapping[str, str] | None = None,
    fewest_groups: int = 0,
) -> tuple[list[Case], list[Case]]:
    """Draw whole groups until about ``wanted`` cases are taken; at least one group is, and at least one is left.

    Args:
        cases: to draw from.
        wanted: how many.
        seed: of the draw.
        stream: tells draws of one seed apart.
        strata: by case, what it is; each stratum gives its share.
        fewest_groups: so many groups are taken, even if that makes more cases.

    Returns:
        what is taken, and what is left.
    """
    groups = group_cases(cases)
    if len(groups) < 2 or wanted <= 0:
        return [], list(cases)
    keys = sorted(groups)
    shuffled = [keys[i] for i in shuffle(len(keys), seed, stream)]
    taken: list[Key] = []
    for part, share in _shares(shuffled, groups, wanted, strata):
        taken += _nearest(part, groups, share, most=len(keys) - 1 - len(taken))
    if not taken:
        taken = [min(shuffled, key=lambda key: len(groups[key]))]
    left = [key for key in shuffled if key not in set(taken)]
    taken += left[: max(0, min(fewest_groups - len(taken), len(left) - 1))]
    chosen = set(taken)
    return (
        [case for key in keys if key in chosen for case in groups[key]],
        [case for key in keys if key not in chosen for case in groups[key]],
    )


def deal(cases: Sequence[Case], folds: int, *, seed: int, strata: Mapping[str, str] | None = None) -> list[list[Case]]:
    """Deal whole groups to folds of about equal size, each stratum to all of them alike.

    The largest groups of a stratum come first, each to the fold that has least of the stratum, then least of all.
    """
    groups = group_cases(cases)
    keys = sorted(groups)
    shuffled = [keys[i] for i in shuffle(len(keys), seed, stream=4)]
    dealt: list[list[Case]] = [[] for _ in range(folds)]
    for part, _ in _shares(shuffled, groups, 0, strata):
        of_stratum = [0] * folds
        for key in sorted(part, key=lambda key: -len(groups[key])):
            fold = min(range(folds), key=lambda fold: (of_stratum[fold], len(dealt[fold])))
            dealt[fold] += groups[key]
            of_stratum[fold] += len(groups[key])
    return dealt


def group_cases(cases: Iterable[Case]) -> Groups:
    """The cases by group; a case alone is its own, and the flag keeps it apart from a group of that name."""
    groups: Groups = {}
    for case in cases:
        groups.setdefault(("group", case.group) if case.group else ("case", case.name), []).append(case)
    return groups


def _shares(
    shuffled: Sequence[Key], groups: Groups, wanted: float, strata: Mapping[str, str] | None
) -> list[tuple[list[Key], float]]:
    """The groups of each stratum in their drawn order, with the number of cases that it gives.

    Of several strata each gives a whole number, the largest remainders rounded up, so that the sum stays as wanted.
    """
    parts: dict[str, list[Key]] = {}
    for key in shuffled:
        kinds = sorted({(strata or {}).get(case.name, "") for case in groups[key]})
        parts.setdefault(" ".join(kinds), []).append(key)
    if len(parts) == 1:
        return [(list(shuffled), wanted)]
    names = sorted(parts)
    sizes = np.array([sum(len(groups[key]) for key in parts[name]) for name in names])
    exact = wanted * sizes / sizes.sum()
    whole = np.floor(exact)
    order = np.argsort(whole - exact, kind="stable")
    whole[order[: round(wanted) - int(whole.sum())]] += 1
    return [(parts[name], float(count)) for name, count in zip(names, whole, strict=True)]


def _nearest(shuffled: Sequence[Key], groups: Groups, wanted: float, *, most: int) -> list[Key]:
    """Groups in their drawn order, each if it brings the number of cases nearer to what is wanted."""
    taken: list[Key] = []
    count = 0
    for key in shuffled:
        size = len(groups[key])
        nearer_with_it = abs(count + size - wanted) < abs(count - wanted)
        if nearer_with_it and len(taken) < most:
            taken.append(key)
            count += size
    return taken


def shuffle(count: int, seed: int, stream: int) -> np.ndarray:
    """A permutation from raw 64-bit draws: NumPy promises their stream, but not that of ``Generator.permutation``."""
    draws = np.random.PCG64(np.random.SeedSequence([seed, stream])).random_raw(count)
    return np.argsort(draws, kind="stable")
