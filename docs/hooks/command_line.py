"""The reference of the command line, made from the commands themselves when the site is built."""

from collections.abc import Iterator
from typing import Any

MARKER = "<!-- the commands -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    return markdown.replace(MARKER, commands_markdown()) if MARKER in markdown else markdown


def commands_markdown() -> str:
    """A section for each command: what it does, its usage, and a table of its options."""
    import typer

    from sizewise.cli.commands import make_app

    commands = typer.main.get_command(make_app()).commands  # type: ignore[attr-defined]
    return "\n\n".join(command_markdown(name, command) for name, command in sorted(commands.items()))


def command_markdown(name: str, command: Any) -> str:
    """One command."""
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    usage = " ".join(["sizewise", name, *(one.name.upper() for one in arguments)])
    usage += "".join(f" {one.opts[0]} {word(one)}" for one in options if one.required)
    rest = " [OPTIONS]" if any(not one.required for one in options) else ""
    lines = [f"## sizewise {name}", command.help, f"```bash\n{usage}{rest}\n```"]
    if command.params:
        rows = ["| option | takes | is |", "|---|---|---|", *(row(one) for one in [*arguments, *options])]
        lines.append("\n".join(rows))
    return "\n\n".join(lines)


def row(parameter: Any) -> str:
    """One argument or option."""
    if parameter.param_type_name == "argument":
        flags = f"`{parameter.name.upper()}`"
    else:
        flags = ", ".join(f"`{flag}`" for flag in [*parameter.opts, *parameter.secondary_opts])
    cells = [flags, word(parameter), ". ".join(notes(parameter))]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def notes(parameter: Any) -> Iterator[str]:
    """What it is, whether it must be given, and what it is otherwise."""
    if parameter.help:
        yield parameter.help.rstrip(".")
    if parameter.required:
        yield "Required"
    elif not getattr(parameter, "is_flag", False) and parameter.default not in (None, "", []):
        yield f"Default: `{parameter.default}`"


def word(parameter: Any) -> str:
    """What kind of value it takes."""
    if getattr(parameter, "is_flag", False):
        return ""
    if parameter.metavar:
        return str(parameter.metavar)
    annotation = parameter.type_descriptor.annotation
    return {"str": "TEXT", "int": "NUMBER", "float": "NUMBER", "Path": "PATH"}.get(annotation.__name__, "TEXT")
