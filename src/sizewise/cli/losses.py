"""``sizewise losses``: the named losses with formula and defaults."""


def command() -> None:
    """List the named losses with their formulas and defaults."""
    from sizewise.cli.show import show_table
    from sizewise.losses import ALIASES, loss, loss_names

    short = {full: alias for alias, full in ALIASES.items()}
    show_table(
        "Losses: sw.loss(NAME), sizewise train --loss NAME",
        ["name", "is"],
        [[f"{short[name]}, {name}" if name in short else name, repr(loss(name))] for name in loss_names()],
    )
