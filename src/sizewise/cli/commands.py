"""The list of commands. Heavy imports wait inside each, so that ``--help`` answers at once."""

from typing import Annotated

import typer

from sizewise.cli import (
    advise,
    bench,
    compare,
    data,
    decide,
    diagnose,
    evaluate,
    export,
    losses,
    nnunet,
    predict,
    report,
    train,
)
from sizewise.cli.flags import speaks_in_flags

COMMANDS = {
    "advise": advise,
    "compare": compare,
    "data": data,
    "decide": decide,
    "diagnose": diagnose,
    "evaluate": evaluate,
    "export": export,
    "predict": predict,
    "train": train,
    "report": report,
    "losses": losses,
    "nnunet": nnunet,
    "bench": bench,
}


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"sizewise {version('sizewise')}")
        raise typer.Exit


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
    def _program(
        version: Annotated[
            bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show it.")
        ] = False,
    ) -> None:
        pass

    for name, module in COMMANDS.items():
        app.command(name)(speaks_in_flags(module.command))
    return app
