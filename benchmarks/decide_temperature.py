"""Which temperature to decide at: how each rule does on the cases that it was not fitted on.

    python benchmarks/decide_temperature.py RUN... --out TABLE.npz
    python benchmarks/decide_temperature.py --rules TABLE.npz... --out OUT.csv

The first predicts the validation and test cases of trained runs and keeps, for each case and temperature, the Dice of
its decisions and the likelihood of its labels. The second draws validation cases from these many times, fits a rule on
them and scores it on all others: gains over argmax in points, and how bad the worst twentieth of the draws is. The
table under results/ is of seven small networks (monai-unet-small, 400 to 1,440 steps on a CPU at 96² to 256², one of
them trained far too short), not of good ones: what is compared is how a rule fares with few validation cases.
"""

import argparse
import csv
import math
from pathlib import Path

import numpy as np
import torch

from sizewise.decisions.decide import decide
from sizewise.decisions.score_fit import FURTHEST, PULL, TEMPERATURES
from sizewise.train.calibration import sampled_pixels
from sizewise.train.datasets import OpenDatasets
from sizewise.train.decided_labels import background_of
from sizewise.train.ensemble import load_predictor
from sizewise.train.predict import read_members
from sizewise.train.preparation import UNLABELLED
from sizewise.train.task import make_task

# Those that are tried, and others between them where the likelihood's may fall.
GRID = np.array(sorted({*TEMPERATURES, *np.exp(np.linspace(math.log(0.35), math.log(4), 15)).round(4)}))
TRIED = np.isin(GRID, TEMPERATURES)
DRAWS = 400
PIXELS = 20_000  # of a case: enough for its Dice
CASES = (2, 5, 10, 20, 50, 100)


def main() -> None:
    """Tables of runs, or what the rules make of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path, help="run folders, or tables with --rules")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rules", action="store_true")
    options = parser.parse_args()
    if options.rules:
        tables = {name: one for path in options.paths for name, one in np.load(path).items()}
        lines = compare(tables)
        if options.out:
            with open(options.out, "w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(lines)
    else:
        np.savez_compressed(options.out, **{run.name: table_of(run) for run in options.paths})


def table_of(run: Path) -> np.ndarray:
    """(3, cases, temperatures): Dice, −log p summed over pixels, and argmax's Dice in the first column of the third."""
    (member,) = read_members([run])
    task = make_task(member.config, OpenDatasets().open(member.config), member.split)
    network, fabric = load_predictor([member], task, device="auto")
    cases = task.cases((*member.split.validation, *member.split.test))
    rows = []
    for logits, target in sampled_pixels(task, network, cases, fabric=fabric):
        thin = max(1, target.numel() // PIXELS) | 1
        z, target = logits[..., ::thin].float(), target[..., ::thin]
        valid = target != UNLABELLED
        dice = [dice_of(decide(z, background=background_of(task), temperature=t), target, valid) for t in GRID]
        likely = []
        for t in GRID:
            loss = torch.nn.functional.cross_entropy(z / t, target.long().where(valid, 0), reduction="none")
            likely.append(float((loss * valid).double().sum()))
        argmax = dice_of(z.argmax(1), target, valid)
        rows.append([dice, likely, [argmax] + [0.0] * (len(GRID) - 1)])
    print(run.name, len(rows), "cases", flush=True)
    return np.array(rows).transpose(1, 0, 2)


def dice_of(found: torch.Tensor, target: torch.Tensor, valid: torch.Tensor) -> float:
    """Mean over the classes that either has, class 0 left out."""
    values = []
    for k in range(1, int(max(found.max(), target.where(valid, 0).max())) + 1):
        a, b = (found == k) & valid, (target == k) & valid
        if int(a.sum() + b.sum()):
            values.append(2 * float((a & b).sum()) / float(a.sum() + b.sum()))
    return float(np.mean(values)) if values else float("nan")


def by_likelihood(dice: np.ndarray, likely: np.ndarray) -> int:
    """The place of the temperature that fits best."""
    return int(likely.sum(0).argmin())


def by_score(dice: np.ndarray, likely: np.ndarray) -> int:
    """The best score of those that are tried; of equal ones the lowest."""
    return int(np.where(TRIED, np.nanmean(dice, 0), -1).argmax())


def shown(errors: float):
    """The score's where it is so many standard errors better than the likelihood's, over the same cases."""

    def rule(dice: np.ndarray, likely: np.ndarray) -> int:
        likeliest, best = by_likelihood(dice, likely), by_score(dice, likely)
        gains = (dice[:, best] - dice[:, likeliest])[~np.isnan(dice[:, best] - dice[:, likeliest])]
        if len(gains) < 2:
            return likeliest
        return best if gains.mean() > errors * gains.std(ddof=1) / math.sqrt(len(gains)) else likeliest

    return rule


def pulled(dice: np.ndarray, likely: np.ndarray) -> int:
    """As ``fit_decision(by="score")`` does: the score, pulled to the likelihood's."""
    likeliest = by_likelihood(dice, likely)
    away = np.minimum(np.abs(np.log(GRID / GRID[likeliest])), math.log(FURTHEST))
    candidates = TRIED | (np.arange(len(GRID)) == likeliest)
    return int(np.where(candidates, np.nansum(dice, 0) - PULL * away**2, -np.inf).argmax())


RULES = {
    "T = 1": lambda dice, likely: int(np.abs(GRID - 1).argmin()),
    "likelihood": by_likelihood,
    "score": by_score,
    "score where shown": shown(1.0),
    "score, pulled": pulled,
}


def compare(tables: dict) -> list[list]:
    """Gain over argmax on cases that were not drawn: the mean, and the mean of the worst twentieth."""
    lines: list[list] = [["network", "argmax_dsc", "cases", "rule", "drawn", "gain", "gain_of_the_worst_twentieth"]]
    for name, (dice, likely, extra) in tables.items():
        argmax = extra[:, 0]
        for label, rule in RULES.items():
            for n in (n for n in CASES if n < 0.7 * len(argmax)):
                random = np.random.default_rng(n)
                gains = []
                for _ in range(DRAWS):
                    order = random.permutation(len(argmax))
                    fitted, others = order[:n], order[n:]
                    place = rule(dice[fitted], likely[fitted])
                    gains.append(100 * np.nanmean(dice[others, place] - argmax[others]))
                worst = np.sort(gains)[: DRAWS // 20].mean()
                of = [name, f"{100 * np.nanmean(argmax):.2f}", len(argmax), label, n]
                lines.append([*of, f"{np.mean(gains):.2f}", f"{worst:.2f}"])
                print(*lines[-1], sep=",", flush=True)
    return lines


if __name__ == "__main__":
    main()
