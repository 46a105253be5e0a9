"""``sizewise losses``: the named losses, and the formulas and defaults of the terms that they are summed from."""

SYMBOLS = (
    "T: pixels of a class, P: sum of its probabilities, I: the same inside its true region, nll: sum of −log p there, "
    "Ω: all pixels that count, p̂ = P/|Ω| of softmax(τ z), t: the true share, ε: smooth, τ: temperature."
)
# Options that every term has, of which the default is to take all classes alike.
SHARED = ("classes", "class_weight", "target", "pixels")


def command() -> None:
    """List the named losses with their formulas and defaults."""
    from sizewise.cli.show import show_sentences, show_table
    from sizewise.losses import ALIASES, loss, loss_names

    short = {full: alias for alias, full in ALIASES.items()}
    show_table(
        "Losses: sw.loss(NAME), sizewise train --loss NAME",
        ["name", "is"],
        [[f"{short[name]}, {name}" if name in short else name, repr(loss(name))] for name in loss_names()],
    )
    show_table('Terms: sw.NAME(…), or in --loss, as "CE + 0.5 * Tversky"', ["name", "is", "defaults"], term_rows())
    show_sentences(SYMBOLS)


def term_rows() -> list[list[str]]:
    """Name, formula and defaults of each term, as its docstring and its signature have them.

    >>> [row[2] for row in term_rows() if row[0] == "Focal"]
    ['gamma=2.0, scope=batch']
    """
    from inspect import Parameter, signature

    from sizewise import terms

    rows = []
    for name in terms.__all__:
        term = getattr(terms, name)
        options = [one for one in signature(term).parameters.values() if one.name not in SHARED]
        defaults = [
            one.name if one.default is Parameter.empty else f"{one.name}={one.default}"
            for one in options
            if one.default is not None
        ]
        rows.append([name, str(term.__doc__).splitlines()[0], ", ".join(defaults)])
    return rows
