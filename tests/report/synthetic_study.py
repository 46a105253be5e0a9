"""A study folder as ``sizewise compare`` leaves it, with made-up numbers: what the report's tests read."""

import csv
import json
import shutil
import zlib
from pathlib import Path
from urllib.parse import quote

import numpy as np

from sizewise.metrics.cases_csv import COLUMNS

LOSSES = {"CE": "", "Dice": "", "DiceCE": "0.1", "RCE": "1"}
SHIFT = {"CE": 0.0, "Dice": -0.35, "DiceCE": 0.1, "RCE": 0.5}
NASTY = "</script><img src=x onerror=alert(1)>"


def make_study(
    folder: Path,
    *,
    data: tuple[str, ...] = ("kvasir-seg", "spots", "streets"),
    seeds: int = 3,
    cases: int = 24,
    classes: tuple[str, ...] = ("background", "polyp", "vessel"),
    weights: tuple[str, ...] = (),
    overlays: int = 7,
    nasty: bool = False,
    losses: tuple[str, ...] = tuple(LOSSES),
    runs: bool = True,
    decisions: tuple[str, ...] = ("argmax",),
) -> Path:
    """Write the folder; everything follows from a fixed seed."""
    random = np.random.default_rng(0)
    names = [NASTY if nasty and number == 2 else name for number, name in enumerate(classes)]
    rows: list[tuple] = []
    for data_name in data:
        case_names = [
            f"case {number:03d}" + (f" {NASTY}/$x_1$&" if nasty and number == 0 else "") for number in range(cases)
        ]
        hard = random.normal(size=(cases, len(names)))
        true = np.exp(random.normal(-3, 1, size=(cases, len(names)))).clip(0, 0.6)
        true[random.random(true.shape) < 0.05] = 0
        for loss in losses:
            for weight in weights if weights and LOSSES[loss] else (LOSSES[loss],):
                for seed in range(seeds):
                    run = f"{len(rows):08x}"
                    mine = _scores(random, run, data_name, loss, weight, seed, case_names, hard, true)
                    mine = [row for decision in decisions for row in _decided(mine, decision)]
                    rows += mine
                    if runs:
                        place = folder / "runs" / f"{quote(data_name, safe='')}-net-{loss}-s{seed}-{run[::-1]}x"
                        _run_folder(random, place, data_name, loss, weight, seed, names, case_names[:overlays], mine)
                        if decisions[1:]:
                            kept = {"temperature": 1.25, "cases": 8, "epoch": 12}
                            (place / "decision.json").write_text(json.dumps(kept))
                        for decision in decisions[1:]:
                            (place / "overlays" / decision).mkdir()
                            for picture in (place / "overlays").glob("*.npz"):
                                shutil.copy(picture, place / "overlays" / decision)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "results.csv", rows)
    study = {
        "data": list(data), "losses": list(losses), "seeds": list(range(seeds)), "reference": "CE", "models": ["net"],
        "name": NASTY if nasty else "four-losses", "commands": ["sizewise compare --data synthetic --losses CE,Dice,RCE"],
    }  # fmt: skip
    (folder / "study.json").write_text(json.dumps(study))
    return folder


def _scores(random, run, data, loss, weight, seed, cases, hard, true) -> list[tuple]:
    of = (run, data, "net", loss, weight, str(seed), "argmax")
    effect = SHIFT[loss] + 0.15 * random.normal() - (0.2 * abs(np.log10(float(weight))) if weight else 0)
    rows = []
    for at, case in enumerate(cases):
        for class_id in range(1, true.shape[1]):
            t = true[at, class_id]
            score = 1 / (1 + np.exp(-(1.6 + effect + 0.8 * hard[at, class_id] + 0.3 * random.normal())))
            predicted = t * (1 + {"Dice": -0.2}.get(loss, 0.02) + 0.15 * random.normal())
            values = {"dsc": score, "iou": score / (2 - score), "nsd": score**1.5, "hd95": 40 * (1 - score)}
            if t == 0:
                values, predicted = dict.fromkeys(values, None), 0.0
            values |= {"size_error": predicted - t, "relative_size_error": (predicted - t) / t if t else None}
            values["true_proportion"] = t
            rows += [(*of, case, class_id, metric, "" if v is None else repr(float(v))) for metric, v in values.items()]
    for class_id in range(1, true.shape[1]):
        mean = float(np.mean([float(r[10]) for r in rows if r[8] == class_id and r[9] == "dsc" and r[10]]))
        rows += [
            (*of, "all", class_id, "dsc_pooled", repr(mean)),
            (*of, "all", class_id, "iou_pooled", repr(mean / (2 - mean))),
        ]
    return rows


def _decided(rows, decision) -> list[tuple]:
    """The same runs under another decision: a little better, most in the middle."""
    if decision == "argmax":
        return rows
    better = {"dsc", "iou", "nsd", "dsc_pooled", "iou_pooled"}

    def value(row):
        if row[9] not in better or not row[10]:
            return row[10]
        score, jitter = float(row[10]), (hash_of(row) - 0.5) * 0.02
        return repr(min(1.0, max(0.0, score + 0.15 * score * (1 - score) + jitter * (1 - score))))

    return [(*row[:6], decision, *row[7:10], value(row)) for row in rows]


def hash_of(row) -> float:
    """A number from 0 to 1 that looks random and is the same every time."""
    return zlib.crc32(repr(row).encode()) / 2**32


def _run_folder(random, place, data, loss, weight, seed, names, cases, rows) -> None:
    (place / "overlays").mkdir(parents=True)
    config = {"data": data, "model": "net", "loss": loss, "weight": weight, "seed": seed, "epochs": 12}
    (place / "config.json").write_text(json.dumps(config))
    (place / "versions.json").write_text(json.dumps({"sizewise": "0.1", "torch": "2.9", "device": "cpu"}))
    (place / "problem.json").write_text(json.dumps({"classes": names, "spatial_dims": 2, "activation": "softmax"}))
    lines = ["epoch,learning_rate,train_loss,val_loss,val_dsc"]
    for epoch in range(1, 13):
        score = (0.8 + 0.05 * SHIFT[loss]) * (1 - np.exp(-epoch / 4)) + 0.01 * random.normal()
        lines.append(f"{epoch},0.001,{1 / epoch:.4f},{1.2 / epoch:.4f},{score:.4f}")
    (place / "history.csv").write_text("\n".join(lines) + "\n")
    cost = {
        "step_ms": 20 + random.random(),
        "peak_memory_mib": 900 + 20 * random.random(),
        "train_seconds": 60 + random.random(),
    }
    (place / "cost.json").write_text(json.dumps(cost | {"memory_of": "device"}))
    _write(place / "cases.csv", rows)
    y, x = np.mgrid[:96, :128]
    for number, case in enumerate(cases):
        rng = np.random.default_rng(number)
        cy, cx, r = 48 + 10 * rng.normal(), 64 + 14 * rng.normal(), 16 + 8 * rng.random()
        image = (90 + 60 * np.exp(-((y - cy) ** 2 + (x - cx) ** 2) / (2 * r**2)) + 12 * rng.normal(size=y.shape)).clip(
            0, 255
        )
        target = ((y - cy) ** 2 + (x - cx) ** 2 < r**2).astype(np.uint8)
        off = 3 * random.normal(size=2)
        predicted = ((y - cy - off[0]) ** 2 + (x - cx - off[1]) ** 2 < (0.95 * r) ** 2).astype(np.uint8)
        colour = np.stack([image, image * 0.8, image * 0.7], -1).astype(np.uint8)
        np.savez_compressed(
            place / "overlays" / f"{quote(case, safe=' ')}.npz", image=colour, target=target, predicted=predicted
        )


def _write(path: Path, rows: list[tuple]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)
