"""``sizewise COMMAND``: finds the command, prints errors as one sentence, and sets the exit code."""

import os
import sys


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 some runs failed, 2 wrong use or bad input, 130 interrupted."""
    from sizewise.errors import BadInput, RunFailed

    try:
        from sizewise.cli.commands import make_app
    except ModuleNotFoundError as error:
        if error.name != "typer":
            raise
        print("sizewise: the command line needs typer. Install it with: pip install 'sizewise[train]'", file=sys.stderr)
        sys.exit(2)
    try:
        make_app()()  # leaves through sys.exit: with 2 for wrong use
    except (BadInput, RunFailed) as error:
        if os.environ.get("SIZEWISE_DEBUG"):
            raise
        print(f"sizewise: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, BadInput) else 1)
    except KeyboardInterrupt:
        print("sizewise: interrupted.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
