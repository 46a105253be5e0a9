"""Does the verdict of a study hold its level? Simulated studies with a known truth; see --help.

A study is drawn on the logit scale and mapped to DSC in [0, 1], which skews it: difficulty of a case, shared by all
losses; interaction of case and loss; effect of a seed, shared by all losses; interaction of seed and loss; noise of
each case in each run; cases that a loss loses entirely (DSC 0) in most of its runs; effects with heavy tails; runs that
collapse; cases of one patient; and losses, or the reference, whose seeds spread several times as much as the others'.
Each number below is the share of studies, counted by the functions that the
verdict rests on.
"""

import argparse
import csv
import os
import platform
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy import stats

from sizewise.study.statistics.components import Components, mean_squares
from sizewise.study.statistics.interval import Interval, interval
from sizewise.study.statistics.sample_size import seeds_needed, seeds_range
from sizewise.study.statistics.seed_pool import moderated, seed_pool
from sizewise.study.statistics.seed_spread import spreads_differ
from sizewise.study.statistics.signed_rank import holm

USUAL = {"ability": 2.0, "case": 1.0, "case_loss": 0.3, "seed": 0.05, "seed_loss": 0.08, "noise": 0.5, "lost": 0.0}
# How many times more the seeds of the second loss, and of the reference, spread; how far the spreads of all losses
# differ, as a factor on either side; degrees of freedom of heavy-tailed effects (0: normal); the share of runs that
# collapse; and how many cases a patient has, whose effect on each loss is as large as that of a case.
USUAL |= {"unstable": 1.0, "unstable_reference": 1.0, "uneven": 1.0, "tails": 0, "collapse": 0.0, "patients": 1}
# name: (seeds, cases, losses, what differs from the usual study)
STUDIES = {
    "usual": (3, 60, 4, {}),
    "few cases": (3, 20, 3, {}),
    "many cases": (3, 100, 4, {}),
    "two losses": (4, 40, 2, {}),
    "five seeds": (5, 60, 4, {}),
    "five seeds, many cases": (5, 100, 4, {}),
    "two seeds": (2, 60, 4, {}),
    "ten cases": (3, 10, 3, {}),
    "seeds matter little": (3, 60, 4, {"seed_loss": 0.02}),
    "seeds matter more": (3, 60, 4, {"seed_loss": 0.15}),
    "seeds matter most": (3, 100, 4, {"seed_loss": 0.4}),
    "seeds shift all losses": (3, 60, 4, {"seed": 0.3}),
    "cases alike": (3, 60, 4, {"case_loss": 0.1, "noise": 0.15}),
    "lost cases": (3, 60, 4, {"lost": 0.05}),
    "lost cases, five seeds": (5, 20, 4, {"lost": 0.05}),
    "two seeds, seeds matter more": (2, 60, 4, {"seed_loss": 0.15}),
    "two seeds, forty cases": (2, 40, 4, {"seed_loss": 0.15}),
    "ten seeds, ten cases": (10, 10, 3, {}),
    "nine losses": (3, 60, 9, {"seed_loss": 0.15}),
    "heavy tails": (3, 60, 4, {"seed_loss": 0.1, "tails": 3}),
    "heavy tails, two seeds": (2, 40, 4, {"seed_loss": 0.1, "tails": 3}),
    "collapsing runs": (3, 60, 4, {"collapse": 0.05}),
    "collapsing runs, five seeds": (5, 60, 4, {"collapse": 0.05}),
    "patients": (3, 80, 4, {"patients": 4, "seed_loss": 0.15}),
    "uneven spreads": (3, 60, 4, {"seed_loss": 0.15, "uneven": 2.0}),
    "uneven spreads, nine losses": (3, 60, 9, {"seed_loss": 0.15, "uneven": 2.0}),
    "one unstable loss": (3, 60, 4, {"unstable": 4.0}),
    "one unstable loss, two seeds": (2, 60, 4, {"unstable": 4.0}),
    "one unstable loss, nine losses": (3, 60, 9, {"unstable": 4.0}),
    "one unstable loss, five seeds": (5, 100, 4, {"unstable": 4.0, "seed_loss": 0.15}),
    "unstable reference": (3, 60, 4, {"unstable_reference": 4.0}),
    "unstable reference, many cases": (3, 200, 4, {"unstable_reference": 4.0}),
    "unstable reference, seeds matter more": (3, 200, 4, {"unstable_reference": 4.0, "seed_loss": 0.15}),
    "unstable reference, nine losses": (3, 60, 9, {"unstable_reference": 4.0}),
}
STANDARD_ERRORS = 3.3  # of the difference whose power is measured: if they were known, 82 % would show it
PLANS = {  # name: (cases, shift of one loss, what differs)
    "large difference": (100, 0.35, {"seed_loss": 0.15}),
    "middle difference": (100, 0.25, {"seed_loss": 0.15}),
    "small difference": (100, 0.2, {"seed_loss": 0.15}),
    "few cases, large difference": (40, 0.5, {"seed_loss": 0.25}),
}
PILOTS = 500
REPLICATES = 4096  # half of what a verdict takes, which changes a share by less than its standard error
LIBRARIES = ("sizewise", "numpy", "scipy")
SHOWN = {  # in the docs
    "claims": "claims %",
    "coverage": "coverage %",
    "coverage_of_difference": "of a difference %",
    "power": "power %",
    "half_width": "±",
    "own_claims": "pair alone: claims %",
    "own_power": "power %",
    "own_half_width": "±",
    "plain_bootstrap_claims": "plain bootstrap: claims %",
    "wilcoxon_claims": "Wilcoxon claims %",
}


def draw(rng, studies, losses, seeds, cases, *, shift=0.0, **changes):
    """(studies, losses, seeds, patients) DSC; the last loss is better by ``shift`` on the logit scale."""
    how = USUAL | changes

    def effect(size, *shape):
        if not how["tails"]:
            return size * rng.standard_normal(shape)
        return size * rng.standard_t(how["tails"], shape) / np.sqrt(how["tails"] / (how["tails"] - 2))

    logit = how["ability"] + how["case"] * rng.standard_normal((studies, 1, 1, cases))
    logit = logit + effect(how["case_loss"], studies, losses, 1, cases)
    spread = np.full((studies, losses, 1, 1), how["seed_loss"])
    spread *= how["uneven"] ** rng.uniform(-1, 1, spread.shape)
    spread[:, 1] *= how["unstable"]
    spread[:, 0] *= how["unstable_reference"]
    logit = logit + effect(how["seed"], studies, 1, seeds, 1) + spread * effect(1.0, studies, losses, seeds, 1)
    logit = logit - 1.0 * (rng.random((studies, losses, seeds, 1)) < how["collapse"])
    if how["patients"] > 1:
        whole = rng.standard_normal((studies, losses, 1, cases // how["patients"]))
        logit = logit + how["case_loss"] * np.repeat(whole, how["patients"], axis=-1)
    logit = logit + effect(how["noise"], studies, losses, seeds, cases)
    logit[:, -1] += shift
    dsc = 1 / (1 + np.exp(-logit))
    if how["lost"]:
        prone = rng.random((studies, losses, 1, cases)) < how["lost"]
        dsc[prone & (rng.random(dsc.shape) < 0.7)] = 0
    return dsc.reshape(*dsc.shape[:-1], -1, how["patients"]).mean(axis=-1)


def truth(shift, *, of=-1, **changes):
    """The true mean and variance components of a loss (the last) minus the first, from a study of 1,000 seeds."""
    rng = np.random.default_rng(77)
    difference, squares = [], []
    losses = 2 if of == -1 and changes.get("unstable", 1.0) == 1.0 else 3  # the second is the unstable one
    for _ in range(5):  # a part at a time, with 2,000 cases each
        dsc = draw(rng, 1, losses, 200, 2000, shift=shift, **changes)
        found = mean_squares(dsc[0, of] - dsc[0, 0])
        difference.append(found.mean)
        squares.append([found.seed, found.group, found.noise])
    seed, unit, noise = np.mean(squares, axis=0)
    cases = dsc.shape[-1]
    return float(np.mean(difference)), Components((seed - noise) / cases, (unit - noise) / 200, noise)


def visible_shift(seeds, cases, changes):
    """The shift on the logit scale that makes a difference of so many standard errors, and that difference."""
    groups = cases // (USUAL | changes)["patients"]
    none, parts = truth(0.0, **changes)
    error = np.sqrt(parts.seed / seeds + parts.group / groups + parts.noise / (seeds * groups))
    shift = 0.3 * STANDARD_ERRORS * error / (truth(0.3, **changes)[0] - none)
    return shift, truth(shift, **changes)[0]


def naive(differences, replicates=1000):
    """The plain bootstrap: seeds and cases drawn with replacement, percentiles of the mean."""
    seeds, cases = differences.shape[-2:]
    rng = np.random.default_rng(11)
    seed_share = rng.multinomial(seeds, np.full(seeds, 1 / seeds), replicates) / seeds
    case_share = rng.multinomial(cases, np.full(cases, 1 / cases), replicates) / cases
    draws = np.einsum("...sb,bs->...b", differences @ case_share.T, seed_share)
    return np.quantile(draws, [0.025, 0.975], axis=-1)


def intervals(differences, squares=None, pieces=250):
    """``interval``, some studies at a time, as the replicates of all do not fit in memory."""
    squares = squares or mean_squares(differences)
    parts = []
    for start in range(0, len(differences), pieces):
        here = slice(start, start + pieces)
        some = squares._replace(**{name: getattr(squares, name)[here] for name in ("mean", "seed", "group", "noise")})
        parts.append(interval(differences[here], squares=some, replicates=REPLICATES))
    return Interval(*(np.concatenate(fields) for fields in zip(*parts, strict=True)))


def compared(dsc, corrections=None, only=None):
    """The intervals of every loss against the first, as studies have them and with each pair's own seeds alone.

    Args:
        dsc: (studies, losses, seeds, groups).
        corrections: taken off the differences: a loss that spreads more is a little lower on average, as DSC end at 1.
        only: the one comparison that is wanted; None: all.
    """
    differences = dsc[:, 1:] - dsc[:, :1]
    if corrections is not None:
        differences = differences - np.asarray(corrections)[:, None, None]
    pool = seed_pool(dsc.mean(axis=-1), dsc.shape[-1])
    alone = pool.stands_out[:, 1:] | pool.stands_out[:, :1]
    arms = np.where(alone, 2, pool.arms[:, None])
    if only is not None:
        differences, arms = differences[:, [only]], arms[:, [only]]
    own = mean_squares(differences)
    square = np.broadcast_to(pool.square[:, None], arms.shape)
    ends = np.empty((4, *arms.shape))
    for count in np.unique(arms):  # a verdict on one study has one number of losses
        here = arms == count
        some = own._replace(**{name: getattr(own, name)[here] for name in ("mean", "seed", "group", "noise")})
        some = moderated(some, square[here], count) if count > 2 else some
        ends[:, here] = intervals(differences[here], some)
    return Interval(*ends), intervals(differences, own), differences


def seed_square(runs, groups):
    """(studies, 1): the mean square of the seeds over all losses, none of them left out."""
    rest = runs - runs.mean(axis=-1, keepdims=True) - runs.mean(axis=1, keepdims=True)
    rest += runs.mean(axis=(1, 2), keepdims=True)
    return groups * (rest**2).sum(axis=(1, 2))[:, None] / ((runs.shape[1] - 1) * (runs.shape[2] - 1))


def pooled(dsc, differences):
    """p-values if all losses were taken to have the same seed variance, which has most degrees of freedom."""
    squares = mean_squares(differences)
    degrees = (dsc.shape[1] - 1) * (squares.seeds - 1)
    seed = 2 * seed_square(dsc.mean(axis=-1), squares.groups)
    error = np.sqrt((seed + np.maximum(0, squares.group - squares.noise)) / (squares.seeds * squares.groups))
    return 2 * stats.t.sf(np.abs(squares.mean) / error, degrees)


def claims(found):
    """The share of studies that claim any difference."""
    return np.mean((holm(found.p_value) < 0.05).any(axis=1))


def holds(found, value=0.0):
    """The share of intervals that hold a value."""
    return np.mean((found.low <= value) & (found.high >= value))


def level(rng, studies, seeds, cases, losses, changes):
    """Shares of studies that claim a difference where there is none, and of intervals that hold the truth."""
    dsc = draw(rng, studies, losses, seeds, cases, **changes)
    moved = {name: value for name, value in changes.items() if name in ("unstable", "unstable_reference")}
    corrections = [truth(0.0, of=1, **changes)[0]] + [truth(0.0, of=2, **changes)[0]] * (losses - 2) if moved else None
    found, own, differences = compared(dsc, corrections)
    low, high = naive(differences)
    ranks = stats.wilcoxon(differences.mean(axis=2), axis=-1, method="asymptotic").pvalue
    shift, true_difference = visible_shift(seeds, cases, changes)
    shifted, shifted_own, _ = compared(draw(rng, studies, losses, seeds, cases, shift=shift, **changes))
    last, last_own = (Interval(*(field[:, -1] for field in one)) for one in (shifted, shifted_own))
    everyone = {}
    if moved:  # if the unstable loss were pooled with the others
        own_squares = mean_squares(differences)
        square = seed_square(dsc.mean(axis=-1), own_squares.groups)
        everyone["all_pooled_claims"] = claims(intervals(differences, moderated(own_squares, square, losses)))
    return everyone | {
        "claims": claims(found),
        "coverage": holds(found),
        "coverage_of_difference": small_difference(rng, studies, seeds, cases, losses, changes),
        "coverage_of_large_difference": holds(last, true_difference),
        "difference": true_difference,
        "power": np.mean((holm(shifted.p_value)[:, -1] < 0.05) & (last.estimate > 0)),
        "half_width": np.median(found.high - found.low) / 2,
        "own_claims": claims(own),
        "own_coverage": holds(own),
        "own_coverage_of_large_difference": holds(last_own, true_difference),
        "own_power": np.mean((holm(shifted_own.p_value)[:, -1] < 0.05) & (last_own.estimate > 0)),
        "own_half_width": np.median(own.high - own.low) / 2,
        "warnings": np.mean(spreads_differ(dsc.mean(axis=-1))),
        "plain_bootstrap_coverage": np.mean((low <= 0) & (high >= 0)),
        "plain_bootstrap_claims": np.mean(((low > 0) | (high < 0)).any(axis=1)),
        "wilcoxon_claims": np.mean((holm(ranks) < 0.05).any(axis=1)),
        "pooled_seeds_claims": np.mean((holm(pooled(dsc, differences)) < 0.05).any(axis=1)),
    }


def small_difference(rng, studies, seeds, cases, losses, changes, shift=0.2):
    """How often the interval of the last loss holds its true difference, about two points."""
    dsc = draw(rng, studies, losses, seeds, cases, shift=shift, **changes)
    found, _, _ = compared(dsc, only=losses - 2)
    return holds(found, truth(shift, **changes)[0])


def drawn_studies(rng, studies):
    """Studies whose size and seed effect are drawn from what is usual: 3 to 5 seeds, 20 to 100 cases, 2 to 4 losses."""
    parts = []
    for _ in range(50):
        sizes = int(rng.integers(3, 6)), int(rng.integers(20, 101)), int(rng.integers(2, 5))
        changes = {
            "seed_loss": rng.uniform(0.03, 0.15),
            "seed": rng.uniform(0, 0.1),
            "case_loss": rng.uniform(0.1, 0.4),
            "noise": rng.uniform(0.2, 0.6),
            "lost": rng.choice([0.0, 0.03]),
        }
        parts.append(level(rng, max(1, studies // 50), *sizes, changes))
    return {name: float(np.mean([part[name] for part in parts])) for name in parts[0]}


def shown_share(rng, studies, seeds, cases, shift, changes):
    """The share of studies with two losses that show the difference, in the right direction."""
    dsc = draw(rng, studies, 2, seeds, cases, shift=shift, **changes)
    found = intervals(dsc[:, 1] - dsc[:, 0])
    return np.mean((found.p_value < 0.05) & (found.estimate > 0))


def true_seeds(rng, studies, cases, shift, changes):
    """The smallest number of seeds with which 80 % of the studies show the difference; by bisection."""
    low, high = 2, 120
    while low < high:
        middle = (low + high) // 2
        if shown_share(rng, studies, middle, cases, shift, changes) >= 0.8:
            high = middle
        else:
            low = middle + 1
    return low


def planning(rng, studies, cases, shift, changes):
    """True number of seeds, what the formula gives for the true variances, and what pilot studies predict."""
    difference, parts = truth(shift, **changes)
    wanted = true_seeds(rng, studies, cases, shift, changes)
    row = {
        "difference": difference,
        "seeds_true": wanted,
        "seeds_from_true_variances": seeds_needed(parts, difference, groups=cases),
    }
    for pilot in (3, 5, 10):
        dsc = draw(rng, PILOTS, 2, pilot, cases, shift=shift, **changes)
        found = dsc[:, 1] - dsc[:, 0]
        shown = intervals(found).p_value < 0.05
        planned, holds = predictions(found, None, wanted)
        known, known_holds = predictions(found, difference, wanted)
        row |= {
            f"pilot{pilot}_median": np.median(planned),
            f"pilot{pilot}_quarter": np.quantile(planned, 0.25, method="nearest"),
            f"pilot{pilot}_three_quarters": np.quantile(planned, 0.75, method="nearest"),
            f"pilot{pilot}_within_30": np.mean(np.abs(planned / wanted - 1) <= 0.3),
            f"pilot{pilot}_range_holds": np.mean(holds),
            f"pilot{pilot}_median_if_not_shown": np.median(planned[~shown]),
            f"pilot{pilot}_median_known_difference": np.median(known),
            f"pilot{pilot}_within_30_known_difference": np.mean(np.abs(known / wanted - 1) <= 0.3),
            f"pilot{pilot}_range_holds_known_difference": np.mean(known_holds),
        }
    return row


def predictions(pilots, difference, wanted):
    """Predicted seeds of each pilot, more than can be planned for as infinitely many, and whether the range holds."""
    seeds, holds = [], []
    for one in pilots:
        size = one.mean() if difference is None else difference
        usual, fewest, most = (number or np.inf for number in seeds_range(mean_squares(one), size))
        seeds.append(usual)
        holds.append(fewest <= wanted <= most)
    return np.array(seeds), np.array(holds)


def read_table(path):
    """By study, its sizes and its quantities."""
    found = {}
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            _, quantities = found.setdefault(row["study"], ((row["seeds"], row["cases"], row["losses"]), {}))
            quantities[row["quantity"]] = float(row["value"])
    return found


def page_tables(path):
    """The tables of docs/statistics.md, as Markdown; the studies whose sizes are drawn come first."""
    found = read_table(path)
    levels = [name for name, (_, values) in found.items() if "claims" in values]
    levels.sort(key=lambda name: name != "drawn")
    lines = ["| study | seeds | cases | losses | " + " | ".join(SHOWN.values()) + " |", "|---" * (4 + len(SHOWN)) + "|"]
    for name in levels:
        sizes, values = found[name]
        cells = (size.replace("-", " to ") for size in sizes)
        lines.append(f"| {name} | {' | '.join(cells)} | {' | '.join(f'{100 * values[key]:.1f}' for key in SHOWN)} |")
    plans = {name: (sizes, values) for name, (sizes, values) in found.items() if "seeds_true" in values}
    lines += ["", "| study | cases | true difference | true | formula |", "|---|---|---|---|---|"]
    for name, (sizes, values) in plans.items():
        number = f"{values['seeds_true']:g} | {values['seeds_from_true_variances']:g}"
        lines.append(f"| {name} | {sizes[1]} | {100 * values['difference']:.1f} | {number} |")
    lines += ["", "| pilot | prediction | within 30 % | if not shown | difference known | within 30 % | range holds |"]
    lines.append("|---" * 7 + "|")
    for name, (_, values) in plans.items():
        for pilot in (3, 5, 10):
            of = {key.removeprefix(f"pilot{pilot}_"): value for key, value in values.items()}
            middle = f"{counted(of['quarter'])}, {counted(of['three_quarters'])}"
            cells = [f"{counted(of['median'])} [{middle}]", f"{100 * of['within_30']:.0f} %"]
            cells += [counted(of["median_if_not_shown"]), counted(of["median_known_difference"])]
            cells += [f"{100 * of[f'{key}_known_difference']:.0f} %" for key in ("within_30", "range_holds")]
            lines.append(f"| {name}, {pilot} seeds | {' | '.join(cells)} |")
    return "\n".join(lines)


def counted(seeds):
    """A number of seeds; those beyond what is planned for have no number."""
    return ">200" if np.isinf(seeds) else f"{seeds:g}"


def main():
    """Run all simulations and write one long table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=2000, help="simulated studies per setting")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "statistics-calibration.csv")
    parser.add_argument("--tables", action="store_true", help="print the tables of the docs from --out, and stop")
    options = parser.parse_args()
    if options.tables:
        print(page_tables(options.out))
        return
    began = time.process_time()
    rows = []
    for index, (name, (seeds, cases, losses, changes)) in enumerate(STUDIES.items()):
        found = level(np.random.default_rng([10, index]), options.studies, seeds, cases, losses, changes)
        rows += [(name, seeds, cases, losses, key, value) for key, value in found.items()]
        print(f"{name:28s} S={seeds} C={cases} L={losses}", *(f"{k} {v:.3f}" for k, v in found.items()), flush=True)
    found = drawn_studies(np.random.default_rng(11), options.studies)
    rows += [("drawn", "3-5", "20-100", "2-4", key, value) for key, value in found.items()]
    print(f"{'drawn':28s}", *(f"{k} {v:.3f}" for k, v in found.items()), flush=True)
    for index, (name, (cases, shift, changes)) in enumerate(PLANS.items()):
        found = planning(np.random.default_rng([12, index]), options.studies, cases, shift, changes)
        rows += [(name, "", cases, 2, key, value) for key, value in found.items()]
        print(f"{name:28s}", *(f"{k} {v:.3g}" for k, v in found.items()), flush=True)
    about = (platform.python_version(), *(version(library) for library in LIBRARIES))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("study", "seeds", "cases", "losses", "quantity", "value", "studies", "python", *LIBRARIES))
        writer.writerows((*row[:5], f"{row[5]:.5g}", options.studies, *about) for row in rows)
    print(f"{time.process_time() - began:.0f} s of processor time, {os.cpu_count()} cores seen; wrote {options.out}")


if __name__ == "__main__":
    main()
