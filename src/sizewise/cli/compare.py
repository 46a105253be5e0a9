"""``sizewise compare``: a study."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sizewise.cli.derived_options import engine_options, shared_options, takes
from sizewise.study.engines.engine import ENGINES


@takes(after=[*shared_options(), *engine_options()])
def command(
    data: Annotated[str, typer.Option(help="data sets, separated by commas: folders, or synthetic")] = "",
    losses: Annotated[str, typer.Option(help="as CE,Dice,RCE; see `sizewise losses`")] = "",
    seeds: Annotated[str, typer.Option(help="how many, as 3, or which, as 0,1,5")] = "",
    weights: Annotated[str, typer.Option(help="values of λ, as 0.1,1 (default: each loss's own)")] = "",
    temperatures: Annotated[str, typer.Option(help="values of τ for size terms (default: 10)")] = "",
    models: Annotated[str, typer.Option(help="as fpn-resnet50,unet-resnet50 (default: the recipe's)")] = "",
    decisions: Annotated[
        str, typer.Option(help="as argmax,dice: each from the same weights, also of a study that is finished")
    ] = "",
    reference: Annotated[str, typer.Option(help="the loss that others are compared with (default: the first)")] = "",
    study: Annotated[
        Path | None, typer.Option(help="a YAML file with these, and what every run shares as `settings:`")
    ] = None,
    out: Annotated[Path, typer.Option(help="the study folder; a study there is continued or added to")] = Path("study"),
    engine: Annotated[str, typer.Option(help=f"what carries out the runs: {' or '.join(ENGINES)}")] = "local",
    device: Annotated[str, typer.Option(help="auto, cpu or cuda")] = "auto",
    compile: Annotated[
        str, typer.Option(help="on, off, or auto: torch.compile on one GPU where a run is long enough to pay for it")
    ] = "auto",
    threads: Annotated[int, typer.Option(help="of each run on a CPU (default: the cores that others leave free)")] = 0,
    save_seconds: Annotated[float, typer.Option(help="at least this long between two saves")] = 20.0,
    logger: Annotated[str, typer.Option(help="wandb, mlflow, tensorboard, or MODULE:NAME of your own")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="say what the study can show, and stop there")] = False,
    **more: Any,
) -> None:
    """Compare losses: run all of them with several seeds under one protocol, and report what can be concluded."""
    from dataclasses import replace

    from sizewise.cli.command_line import command_line
    from sizewise.cli.outlook_screen import show_outlook
    from sizewise.cli.report_screen import show_report
    from sizewise.errors import BadInput
    from sizewise.report.build import assemble, write_report
    from sizewise.study.compare import compare, outlook
    from sizewise.study.engines.engine import make_engine
    from sizewise.study.report_logging import log_study_report
    from sizewise.study.study_words import parse_study
    from sizewise.train.config import Runtime
    from sizewise.train.datasets import OpenDatasets
    from sizewise.train.loggers.logger import logger_words
    from sizewise.train.setting_words import setting_types
    from sizewise.wording import counted

    if device not in ("auto", "cpu", "cuda"):
        raise BadInput(f"--device must be auto, cpu or cuda, got {device!r}.")
    if compile not in ("auto", "on", "off"):
        raise BadInput(f"--compile must be auto, on or off, got {compile!r}.")
    chosen = {name: value for name, value in more.items() if value is not None}
    settings = {name: chosen.pop(name) for name in list(chosen) if name in setting_types()}
    given = {
        "data": data,
        "losses": losses,
        "seeds": seeds,
        "weights": weights,
        "temperatures": temperatures,
        "models": models,
        "decisions": decisions,
        "reference": reference,
        "settings": tuple(f"{name}={value}" for name, value in settings.items()),
    }
    config, datasets = parse_study(given, study), OpenDatasets()
    runtime = Runtime(
        accelerator=device,  # type: ignore[arg-type]
        compile=compile,  # type: ignore[arg-type]
        save_seconds=save_seconds,
        logger=logger,
        threads=threads,
    )
    logger_words(logger)
    runner = make_engine(engine, chosen)
    # Elsewhere steps take another time than on this machine; here they are timed with the threads that a run gets.
    timed_on = replace(runtime, threads=runner.threads(runtime)) if engine == "local" else None
    show_outlook(outlook(config, folder=out, datasets=datasets, timed_on=timed_on))
    if dry_run:
        return
    outcome = compare(
        config,
        folder=out,
        datasets=datasets,
        command=command_line(),
        runtime=runtime,
        engine=runner,
    )
    if outcome.elsewhere:
        busy = counted(len(outcome.elsewhere), "run is", "runs are")
        print(f"{busy} in the hands of another process: `sizewise report {out}` shows everything when it is done.")
    if (out / "results.csv").exists():
        made = assemble(out)
        written = write_report(made, out)
        show_report(made.page, written)
        if logger:
            log_study_report(logger, out)
    if outcome.failed:
        lost = counted(len(outcome.failed), "run")
        print(f"{lost} failed; why is in {out}/runs/*/failed.json. Run this again to retry.")
        raise typer.Exit(1)
