"""``sizewise predict``: label maps out."""

import shlex
from pathlib import Path
from typing import Annotated

import typer


def command(
    runs: Annotated[
        list[Path], typer.Argument(help="run folders, from `sizewise train`; of several the mean is decided")
    ],
    data: Annotated[str, typer.Option(help="a data set, a folder of images, or one image")],
    out: Annotated[Path, typer.Option(help="where the label maps go")] = Path("predictions"),
    subset: Annotated[str, typer.Option(help="of a data set: test, validation, train, unlabelled or all")] = "test",
    score: Annotated[bool, typer.Option("--score", help="also score the cases that have a true label map")] = False,
    decide: Annotated[
        str, typer.Option(help="what labels are best for: argmax (accuracy), dice, iou or size")
    ] = "argmax",
    temperature: Annotated[
        float | None, typer.Option(help="of --decide (default: fitted on the run's validation cases, and kept)")
    ] = None,
    flips: Annotated[bool, typer.Option("--flips", help="also mirrored, as in training; the mean is decided")] = False,
    overlap: Annotated[float | None, typer.Option(help="of windows, where training saw patches (default: 0.5)")] = None,
    keep_largest: Annotated[
        bool, typer.Option("--keep-largest", help="components, of classes where validation scores rise by it")
    ] = False,
    save_probabilities: Annotated[
        bool, typer.Option("--save-probabilities", help="also write CASE.npy, classes first, for `sizewise decide`")
    ] = False,
    groups: Annotated[str, typer.Option(help="cases that belong together: a pattern, as patient\\d+, or a CSV")] = "",
    device: Annotated[str, typer.Option(help="auto, cpu or cuda")] = "auto",
    threads: Annotated[int, typer.Option(help="of torch on a CPU (default: the cores that others leave free)")] = 0,
) -> None:
    """Write a label map for each image, in the image's own size and geometry."""
    from sizewise.cli.score_screen import show_scores
    from sizewise.cli.show import show_next
    from sizewise.data.file_names import is_volume
    from sizewise.data.recognise import SYNTHETIC
    from sizewise.metrics.cases_csv import read_cases
    from sizewise.metrics.registry import LengthUnit
    from sizewise.train.machine import cpu_threads, free_threads
    from sizewise.train.predict import deciding_options, predict_folder, scored_names, scoring_options

    run = runs[0]
    how = [*(["--flips"] if flips else []), *(["--keep-largest"] if keep_largest else [])]
    how += ["--decide", decide] if decide != "argmax" else []
    for name, value in (("temperature", temperature), ("overlap", overlap), ("groups", groups or None)):
        how += [f"--{name}", str(value)] if value is not None else []
    with cpu_threads(threads or free_threads()):
        files = predict_folder(
            runs,
            data,
            out=out,
            subset=subset,
            score=score,
            groups=groups,
            decide=decide,
            temperature=temperature,
            flips=flips,
            overlap=overlap,
            keep_largest=keep_largest,
            save_probabilities=save_probabilities,
            device=device,
        )
    if score:
        table = out / "cases.csv"
        unit: LengthUnit = "mm" if any(map(is_volume, files)) else "pixels"
        title = f"Scores of {' + '.join(map(str, runs))} on {data}"
        show_scores(read_cases(table), title=title, names=scored_names(run), length_unit=unit)
        print(f"Wrote {table}: one line per case, class and metric.")
        show_next(shlex.join(["sizewise", "diagnose", str(run)]) + "  # what limits it")
        return
    if save_probabilities:
        kept = len(runs) == 1 and not flips and overlap is None  # else the run's temperature is of other probabilities
        more = [word for name, value in deciding_options(run, kept=kept).items() for word in (f"--{name}", value)]
        show_next(shlex.join(["sizewise", "decide", "--probabilities", str(out), "--out", "decided", *more]))
        return
    again = [
        "sizewise",
        "predict",
        *map(str, runs),
        "--data",
        data,
        "--out",
        str(out),
        "--subset",
        subset,
        *how,
        "--score",
    ]
    written = files[0].parent if files else out
    folder = shlex.quote(str(written))
    evaluate = f"sizewise evaluate --pred {folder} --target FOLDER_OF_TRUE_LABEL_MAPS --cases predicted --out scores"
    evaluate += "".join(f" --{name} {value}" for name, value in scoring_options(run).items())
    if data in SYNTHETIC:  # whose true label maps lie in no folder
        show_next(shlex.join(again))
    elif written != out:  # multi-label: a folder for each class
        show_next(
            f"{shlex.join(again)}  # scores all classes, where the data has true label maps",
            f"{evaluate}  # one class",
        )
    else:
        show_next(evaluate)
