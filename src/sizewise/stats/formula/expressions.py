"""Torch's elementwise operations as expressions of Triton; NaN goes through them as it does in torch."""

from collections.abc import Callable
from typing import Any

from sizewise.stats.formula.values import Unsupported, Value

Expression = Callable[..., str]


def number(amount: float) -> str:
    """A number as source text."""
    text = repr(amount)
    return f'float("{text}")' if text in ("inf", "-inf", "nan") else text


def as_kind(value: Value, kind: str) -> str:
    """The variable, cast where it is of another kind."""
    if value.kind == kind:
        return value.code
    return f"({value.code} != 0)" if kind == "bool" else f"{value.code}.to(tl.{kind}64)"


def as_float(value: Value) -> str:
    """The variable as float64."""
    return as_kind(value, "float")


def infix(sign: str) -> Expression:
    """An operator between two values of the result's kind."""
    return lambda kind, a, b: f"{as_kind(a, kind)} {sign} {as_kind(b, kind)}"


def compare(sign: str) -> Expression:
    """A comparison, in floats if either is one."""

    def expression(kind: str, a: Value, b: Value) -> str:
        common = "float" if "float" in (a.kind, b.kind) else "int"
        return f"{as_kind(a, common)} {sign} {as_kind(b, common)}"

    return expression


def clamp(kind: str, a: Value, low: Value | None = None, high: Value | None = None) -> str:
    """Bounds that leave NaN alone, which ``tl.maximum`` would not."""
    code = as_kind(a, kind)
    if low is not None:
        code = f"tl.where({code} < {as_kind(low, kind)}, {as_kind(low, kind)}, {code})"
    if high is not None:
        code = f"tl.where({code} > {as_kind(high, kind)}, {as_kind(high, kind)}, {code})"
    return code


def sign(kind: str, a: Value) -> str:
    """−1, 0 or 1."""
    code = as_kind(a, kind)
    return f"({code} > 0).to(tl.{kind}64) - ({code} < 0).to(tl.{kind}64)"


def where(kind: str, condition: Value, a: Value, b: Value) -> str:
    """One of two."""
    return f"tl.where({as_kind(condition, 'bool')}, {as_kind(a, kind)}, {as_kind(b, kind)})"


def xlogy(kind: str, a: Value, b: Value) -> str:
    """a log b, 0 where a is 0."""
    x, y = as_float(a), as_float(b)
    return f"tl.where(({x} == 0) & ({y} == {y}), 0.0, {x} * tl.log({y}))"


def power(kind: str, a: Value, exponent: Value) -> str:
    """Small whole powers and roots alone."""
    code = as_float(a)
    known: dict[float | None, str] = {
        1.0: code,
        2.0: f"{code} * {code}",
        3.0: f"{code} * {code} * {code}",
        0.5: f"tl.sqrt({code})",
        -1.0: f"1.0 / {code}",
        -2.0: f"1.0 / ({code} * {code})",
    }
    if exponent.constant not in known:
        raise Unsupported(f"the power {exponent.constant}")
    return known[exponent.constant]


def unary(form: str) -> Expression:
    """A function of one value of the result's kind."""
    return lambda kind, a: form.format(as_kind(a, kind))


def cast(kind: str, a: Value) -> str:
    """Another dtype; in the kernel floats stay float64."""
    return as_kind(a, kind)


def ratio(kind: str, a: Value, b: Value) -> str:
    """a / b in floats."""
    return f"{as_float(a)} / {as_float(b)}"


ELEMENTWISE: dict[str, Any] = {
    "aten.add.Tensor": infix("+"),
    "aten.add.Scalar": infix("+"),
    "aten.sub.Tensor": infix("-"),
    "aten.sub.Scalar": infix("-"),
    "aten.rsub.Scalar": lambda kind, a, b: infix("-")(kind, b, a),
    "aten.mul.Tensor": infix("*"),
    "aten.mul.Scalar": infix("*"),
    "aten.div.Tensor": ratio,
    "aten.div.Scalar": ratio,
    "aten.neg.default": unary("-{}"),
    "aten.abs.default": lambda kind, a: f"tl.abs({as_kind(a, kind)})",
    "aten.sgn.default": sign,
    "aten.sign.default": sign,
    "aten.log.default": lambda kind, a: f"tl.log({as_float(a)})",
    "aten.exp.default": lambda kind, a: f"tl.exp({as_float(a)})",
    "aten.sqrt.default": lambda kind, a: f"tl.sqrt({as_float(a)})",
    "aten.reciprocal.default": lambda kind, a: f"1.0 / {as_float(a)}",
    "aten.pow.Tensor_Scalar": power,
    "aten.xlogy.Tensor": xlogy,
    "aten.clamp.default": clamp,
    "aten.clamp_min.default": clamp,
    "aten.where.self": where,
    "aten.masked_fill.Scalar": lambda kind, a, mask, b: where(kind, mask, b, a),
    "aten.eq.Scalar": compare("=="),
    "aten.ne.Scalar": compare("!="),
    "aten.gt.Scalar": compare(">"),
    "aten.ge.Scalar": compare(">="),
    "aten.lt.Scalar": compare("<"),
    "aten.le.Scalar": compare("<="),
    "aten.eq.Tensor": compare("=="),
    "aten.gt.Tensor": compare(">"),
    "aten.ge.Tensor": compare(">="),
    "aten.lt.Tensor": compare("<"),
    "aten.le.Tensor": compare("<="),
    "aten.bitwise_and.Tensor": infix("&"),
    "aten.bitwise_or.Tensor": infix("|"),
    "aten.logical_and.default": lambda kind, a, b: f"{as_kind(a, 'bool')} & {as_kind(b, 'bool')}",
    "aten.logical_not.default": lambda kind, a: f"({as_kind(a, 'bool')} == 0)",
    "aten.bitwise_not.default": lambda kind, a: f"({as_kind(a, 'bool')} == 0)",
    "aten._to_copy.default": cast,
    "aten.clone.default": cast,
}
