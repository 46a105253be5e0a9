"""Losses that are written down: ``CE + 0.5 * Tversky(alpha=0.3, beta=0.7)``. Read as a formula, never run as code."""

import ast
import re
from collections.abc import Callable
from typing import Any

from sizewise import terms
from sizewise.checks import closest
from sizewise.criterion import Criterion
from sizewise.terms.per_component import per_component
from sizewise.user_code import import_named, is_user_code

SIGNS = "+*("
WRAPPER = "per_component"
EXAMPLE = "CE + 0.5 * Tversky(alpha=0.3, beta=0.7)"


def is_formula(text: Any) -> bool:
    """Whether a loss is written down rather than named.

    >>> is_formula("CE + Dice"), is_formula("my_package.losses:Mine"), is_formula("RCE-L1")
    (True, True, False)
    """
    return isinstance(text, str) and (any(sign in text for sign in SIGNS) or is_user_code(text))


def read_formula(text: str, named: Callable[..., Criterion], names: tuple[str, ...]) -> Criterion:
    """A sum of terms and named losses with numbers before them, each with options in brackets.

    Args:
        text: the formula; or ``package.module:name`` of a loss of the user's own, a subclass or a function without
            arguments.
        named: makes a loss by its name, with options.
        names: those that it knows.

    Raises:
        ValueError: with what cannot be read, and an example.

    >>> import sizewise as sw
    >>> sw.loss("CE + 0.5 * Tversky(alpha=0.3, beta=0.7)")
    Loss(CrossEntropy() + 0.5 * Tversky(alpha=0.3, beta=0.7))
    >>> sw.loss("2 * (DiceCE(weight=1) + SizeKL(classes='foreground'))", ignore_index=255)
    Loss(2 * CrossEntropy() + 2 * Dice() + 2 * SizeKL(classes='foreground'), ignore_index=255)
    """
    if is_user_code(text):
        return _users_own(text)
    plain = text.strip()
    hyphenated = {name.replace("-", "_"): name for name in names if "-" in name}
    for plain_name, name in hyphenated.items():  # RCE-KL would be read as a difference
        plain = re.sub(rf"\b{name}\b", plain_name, plain)
    try:
        tree = ast.parse(plain, mode="eval")
    except SyntaxError as error:
        wanted = f"Write a sum of terms, as {EXAMPLE}."
        raise ValueError(f"the loss {text!r} cannot be read: {error.msg}. {wanted}") from error
    return _Reader(text, named, names, hyphenated).criterion(tree.body)


class _Reader:
    def __init__(
        self, text: str, named: Callable[..., Criterion], names: tuple[str, ...], hyphenated: dict[str, str]
    ) -> None:
        self.text, self.named, self.hyphenated = text, named, hyphenated
        self.names = (*names, *(name for name in terms.__all__ if name not in names))

    def criterion(self, node: ast.expr) -> Criterion:
        """A sum, a multiple, or one term."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self.criterion(node.left) + self.criterion(node.right)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            number, term = (node.left, node.right) if _is_number(node.left) else (node.right, node.left)
            if not _is_number(number):
                self.refuse(node, "a number times a term")
            return ast.literal_eval(number) * self.criterion(term)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == WRAPPER:
            if len(node.args) != 1 or node.keywords:
                self.refuse(node, "one term in the brackets, as per_component(Dice(smooth=0.5)),")
            return per_component(self.criterion(node.args[0]))
        if isinstance(node, ast.Call):
            return self.term(node.func, self.options(node))
        return self.term(node, {})

    def term(self, node: ast.expr, options: dict[str, Any]) -> Criterion:
        """A term's class or a named loss."""
        if not isinstance(node, ast.Name):
            self.refuse(node, "the name of a term or a loss")
        name = self.hyphenated.get(ast.unparse(node), ast.unparse(node))
        if name not in self.names:
            listed = ", ".join(self.names)
            raise ValueError(f"the loss {self.text!r} has {name!r}; the names are {listed}.{closest(name, self.names)}")
        own = getattr(terms, name, None)
        return self.named(name, **options) if own is None else own(**options)

    def options(self, node: ast.Call) -> dict[str, Any]:
        """What stands in brackets: name=value, with numbers, words and lists as values."""
        if node.args or any(one.arg is None for one in node.keywords):
            self.refuse(node, "options by name, as Tversky(alpha=0.3)")
        found = {}
        for one in node.keywords:
            try:
                found[str(one.arg)] = ast.literal_eval(one.value)
            except ValueError:
                self.refuse(one.value, "a number, a word in quotes or a list")
        return found

    def refuse(self, node: ast.expr, wanted: str) -> None:
        """Say what stands where something else was wanted."""
        found = ast.unparse(node)
        raise ValueError(f"the loss {self.text!r} has {found!r} where {wanted} was wanted, as in {EXAMPLE}.")


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)


def _users_own(text: str) -> Criterion:
    found = import_named(text)
    made = found if isinstance(found, Criterion) else found() if callable(found) else found
    if not isinstance(made, Criterion):
        raise ValueError(
            f"the loss {text!r} must be a term or a sum of terms, or make one when it is called without arguments, got "
            f"{type(made).__name__}. Subclass a term, as sizewise.Dice."
        )
    return made
