"""From the library's words to those of the command line.

A sentence of the library calls an argument by its name between backticks: ``Use a smaller `batch_size` ``, or ``say
`ignore_index=255` ``. Whoever typed a command reads ``--batch-size`` and ``--ignore-index 255`` instead.
"""

import functools
import inspect
import re
import shlex
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, get_args, get_type_hints

from typer.models import OptionInfo

from sizewise.errors import BadInput, RunFailed

MENTION = re.compile(r"`(\w+)(?:=([^`]*))?`")
ALIASES = {  # what a command calls an argument of the library
    "folder": "out",
    "accelerator": "device",
    "predictions": "pred",
    "targets": "target",
    "name": "data_name",
    "keep_on_device": "stream",
    "loss": "losses",  # a study has several
    "model": "models",
}
_running: ContextVar[dict[str, str]] = ContextVar("options of the command that runs")


def speaks_in_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command, whose errors call the library's arguments by their flags."""
    options = option_flags(command)

    @functools.wraps(command)
    def spoken(*arguments: Any, **given: Any) -> Any:
        _running.set(options)
        try:
            return command(*arguments, **given)
        except (BadInput, RunFailed) as error:
            error.args = (in_flags(str(error)), *error.args[1:])
            raise

    return spoken


def in_flags(text: str) -> str:
    """The text with each argument that the running command takes called by its flag; other words stay."""
    options = _running.get({})
    return MENTION.sub(lambda found: _flag(found, options), text) if options else text


def _quoted(value: str) -> str:
    """As a shell takes it: a pattern would else be matched with the names of files."""
    return shlex.quote(value) if set(value) & set("*?[](){}|^$&;<>\\") else value


def option_flags(command: Callable[..., Any]) -> dict[str, str]:
    """The flag of each option by the parameter's name; of a switch it ends with a space, as it takes no value.

    >>> import typer
    >>> from typing import Annotated
    >>> def command(n: Annotated[int, typer.Option()] = 1, on: Annotated[bool, typer.Option("--on")] = False): ...
    >>> option_flags(command)
    {'n': '--n', 'on': '--on '}
    """
    flags = {}
    hints = get_type_hints(command, include_extras=True)
    for name in inspect.signature(command).parameters:
        kind, *notes = get_args(hints[name]) or (None,)
        for option in (note for note in notes if isinstance(note, OptionInfo)):
            words = (option.default, *(option.param_decls or ()))  # in an annotation the first flag takes that place
            spelled = next((one for one in words if isinstance(one, str) and one.startswith("--")), "")
            switch = kind is bool or bool in get_args(kind)
            flags[name] = (spelled or "--" + name.replace("_", "-")) + (" " if switch else "")
    return flags


def _flag(found: re.Match[str], options: dict[str, str]) -> str:
    name, value = found[1], found[2]
    flag = options.get(name) or options.get(ALIASES.get(name, ""))
    if flag is not None:
        return flag.strip() if value is None or flag.endswith(" ") else f"{flag} {_quoted(value)}"
    return found[0]
