"""The library's words become flags of the command that runs, and of no other."""

import inspect
from typing import Annotated

import pytest
import typer

from sizewise.cli.commands import COMMANDS
from sizewise.cli.derived_options import attribute_help
from sizewise.cli.flags import in_flags, option_flags, speaks_in_flags
from sizewise.errors import BadInput, RunFailed
from sizewise.train.config import RunConfig
from sizewise.train.setting_words import LOSS_OPTIONS, setting_types


def spoken(text, command):
    """What a user of the command reads when the library says ``text``."""

    def failing(**given):
        raise BadInput(text)

    failing.__signature__ = inspect.signature(command)
    failing.__annotations__ = command.__annotations__
    with pytest.raises(BadInput) as error:
        speaks_in_flags(failing)()
    return str(error.value)


@pytest.mark.parametrize(
    ("command", "said", "read"),
    [
        ("train", "`batch_size` must be at least 1.", "--batch-size must be at least 1."),
        ("train", "Say `ignore_index=255`.", "Say --ignore-index 255."),
        ("train", "With `merge=True` they become one.", "With --merge they become one."),
        ("train", "Use another `folder`, or `accelerator=cpu`.", "Use another --out, or --device cpu."),
        ("train", "say so with `groups=^[^_]+`:", "say so with --groups '^[^_]+':"),
        ("train", "read it with `name=folder`", "read it with --name folder"),
        ("train", "the word `stored`, and `nothing=here`", "the word `stored`, and `nothing=here`"),
        ("compare", "`epochs` must be at least 1.", "--epochs must be at least 1."),
        ("compare", "Use `precision=float32`.", "Use --precision float32."),
        ("compare", "`loss=Dicee`: there is no loss 'Dicee'", "--losses Dicee: there is no loss 'Dicee'"),
        ("evaluate", "`predictions` 'a' and `targets` 'b'", "--pred 'a' and --target 'b'"),
        ("losses", "`batch_size` is no word of this command", "`batch_size` is no word of this command"),
    ],
)
def test_arguments_become_flags(command, said, read):
    assert spoken(said, COMMANDS[command].command) == read


def test_outside_of_a_command_words_stay():
    assert in_flags("`no_such_argument` stays") == "`no_such_argument` stays"


def test_other_errors_keep_their_kind_and_are_translated_too():
    @speaks_in_flags
    def command(out: Annotated[str, typer.Option()] = "") -> None:
        raise RunFailed("name another `out`")

    with pytest.raises(RunFailed, match="name another --out"):
        command()


def test_train_has_an_option_for_every_setting_with_what_the_class_says_of_it():
    """A setting is written down once, in RunConfig."""
    flags, helps = option_flags(COMMANDS["train"].command), attribute_help(RunConfig)
    settings = set(RunConfig.__dataclass_fields__) - {"loss_options", "definitions"} | set(LOSS_OPTIONS)
    assert settings == set(setting_types()) <= set(flags)
    hints = inspect.signature(COMMANDS["train"].command).parameters
    for name in settings - set(LOSS_OPTIONS):
        assert hints[name].annotation.__metadata__[0].help == helps[name]
        assert len(helps[name]) > 3
