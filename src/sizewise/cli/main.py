"""``sizewise COMMAND``: finds the command, prints errors as one sentence, and sets the exit code."""

import errno
import io
import os
import sys


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 some runs failed, 2 wrong use or bad input, 130 interrupted."""
    _settle_surroundings()
    try:
        from sizewise.cli.lost_interrupts import lost_interrupts_come_again

        with lost_interrupts_come_again():
            code = _run()  # may leave through sys.exit
    except BaseException as left:
        if not _was_interrupted(left):
            raise
        print("sizewise: interrupted.", file=sys.stderr)
        code = 130
    sys.exit(code)


def _run() -> int:
    """What was asked for; imports are here, since most of a short command's time is theirs."""
    from sizewise.data.file_names import ignore_pillow_warnings
    from sizewise.errors import BadInput, RunFailed

    ignore_pillow_warnings()
    _refuse_odd_words()
    try:
        from sizewise.cli.commands import make_app
    except ModuleNotFoundError as error:
        if error.name != "typer":
            raise
        print("sizewise: the command line needs typer. Install it with: pip install 'sizewise[train]'", file=sys.stderr)
        return 2
    try:
        make_app()()  # leaves through sys.exit: with 2 for wrong use
    except (BadInput, RuntimeError, OSError, MemoryError) as error:
        known = not isinstance(error, RuntimeError) or isinstance(error, RunFailed) or _is_out_of_memory(error)
        if os.environ.get("SIZEWISE_DEBUG") or not known:
            raise
        print(f"sizewise: {sentence(error)}", file=sys.stderr)
        return 2 if isinstance(error, BadInput) else 1
    return 0


def sentence(error: BaseException) -> str:
    """What the user reads. Disks fill up and lose their permissions while any file is written: one place says it.

    >>> print(sentence(OSError(28, "No space left", "a.csv")))
    'a.csv': No space left. Nothing that was saved before is lost; make room and repeat the command.
    """
    if isinstance(error, MemoryError) or _is_out_of_memory(error):
        return "out of memory. Ask for less at a time, or use a larger machine."
    if not isinstance(error, OSError):
        return str(error)
    where = f"'{error.filename}': " if error.filename else ""
    what_to_do = {
        **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "make room and repeat the command"),
        **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "allow it and repeat the command"),
        errno.EFBIG: "raise the largest size that files may have here (ulimit -f) and repeat the command",
        errno.EMFILE: "raise the number of files that may be open (ulimit -n) and repeat the command",
        errno.ENAMETOOLONG: "name a shorter path",
    }.get(error.errno or 0, "repeat the command")
    return f"{where}{error.strerror or error}. Nothing that was saved before is lost; {what_to_do}."


def _is_out_of_memory(error: BaseException) -> bool:
    """Torch's errors by their words: most commands have not imported it. Those that quote them say more already."""
    from sizewise.errors import BadInput, RunFailed

    said = type(error).__name__ == "OutOfMemoryError" or "DefaultCPUAllocator" in str(error)
    return said and not isinstance(error, BadInput | RunFailed)


def _settle_surroundings() -> None:
    """What a shell or a batch system may have done to this process, and nobody meant for it."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed, as by >&-: what is printed goes nowhere
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 open until the end
    os.environ["MPLBACKEND"] = "agg"  # figures go to files; a backend for screens may not be there
    wrong = ""
    if sys.flags.optimize > 1:
        wrong = "without docstrings there are no options. Unset PYTHONOPTIMIZE, and leave -OO out."
    try:
        os.getcwd()
    except OSError:
        wrong = "the folder that this was started in is gone. Change to another."
    if wrong:
        print(f"sizewise: {wrong}", file=sys.stderr)
        sys.exit(2)


def _refuse_odd_words() -> None:
    """Words that no table or page can hold are refused before anything is done with them."""
    for word in sys.argv[1:]:
        if any("\ud800" <= letter <= "\udfff" for letter in word):
            print(f"sizewise: the argument {word!a} is not UTF-8. Rename what it names.", file=sys.stderr)
            sys.exit(2)
    for stream in (sys.stdout, sys.stderr):  # a terminal of another encoding gets what it can show
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _was_interrupted(left: BaseException | None) -> bool:
    """Whether Ctrl-C is the reason: typer turns it into an exit code of its own, and an import may into its error."""
    while left is not None and not isinstance(left, KeyboardInterrupt):
        left = left.__cause__ or left.__context__
    return left is not None


if __name__ == "__main__":
    main()
