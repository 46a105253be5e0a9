"""The list of commands. Heavy imports wait inside each, so that ``--help`` answers at once."""

import typer

from sizewise.cli import bench, compare, data, evaluate, losses, nnunet, predict, report, train


def make_app() -> typer.Typer:
    """The program with all its commands."""
    app = typer.Typer(
        help="Train and compare segmentation models with losses whose size bias is explicit.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()  # one command alone would otherwise become the program itself
    def _program() -> None:
        pass

    app.command("compare")(compare.command)
    app.command("data")(data.command)
    app.command("evaluate")(evaluate.command)
    app.command("predict")(predict.command)
    app.command("train")(train.command)
    app.command("report")(report.command)
    app.command("losses")(losses.command)
    app.command("nnunet")(nnunet.command)
    app.command("bench")(bench.command)
    return app
