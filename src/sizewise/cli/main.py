"""``sizewise COMMAND``: finds the command, prints errors as one sentence, and sets the exit code."""

import os
import sys


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 some runs failed, 2 wrong use or bad input, 130 interrupted."""
    from sizewise.data.file_names import ignore_pillow_warnings
    from sizewise.errors import BadInput, RunFailed

    ignore_pillow_warnings()
    try:
        from sizewise.cli.commands import make_app
    except ModuleNotFoundError as error:
        if error.name != "typer":
            raise
        print("sizewise: the command line needs typer. Install it with: pip install 'sizewise[train]'", file=sys.stderr)
        sys.exit(2)
    try:
        make_app()()  # leaves through sys.exit: with 2 for wrong use
    except (SystemExit, KeyboardInterrupt) as left:
        if not _was_interrupted(left):
            raise
        print("sizewise: interrupted.", file=sys.stderr)
        sys.exit(130)
    except (BadInput, RunFailed) as error:
        if os.environ.get("SIZEWISE_DEBUG"):
            raise
        print(f"sizewise: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, BadInput) else 1)


def _was_interrupted(left: BaseException | None) -> bool:
    """Whether Ctrl-C is the reason: typer turns it into an exit code of its own, which changed between versions."""
    while left is not None and not isinstance(left, KeyboardInterrupt):
        left = left.__cause__ or left.__context__
    return left is not None


if __name__ == "__main__":
    main()
