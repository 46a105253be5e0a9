"""Torch's elementwise operations as expressions of Triton; NaN goes through them as it does in torch."""

from collections.abc import Callable

from sizewise.criterion.fused.axes import Unsupported, Value

Expression = Callable[..., str]


def number(amount: float, kind: str = "float") -> str:
    """A number as source text."""
    text = repr(float(amount)) if kind == "float" else repr(int(amount))
    return f'float("{text}")' if text in ("inf", "-inf", "nan") else f"({text})" if text.startswith("-") else text


def as_kind(value: Value, kind: str) -> str:
    """The variable, cast where it is of another kind."""
    if value.constant is not None and kind != "bool":
        return number(value.constant, kind)
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


def extreme(sign: str) -> Expression:
    """The larger or smaller of two; NaN if either is."""

    def expression(kind: str, a: Value, b: Value) -> str:
        x, y = as_kind(a, kind), as_kind(b, kind)
        return f"tl.where(({x} {sign} {y}) | ({x} != {x}), {x}, {y})"

    return expression


def xlogy(kind: str, a: Value, b: Value) -> str:
    """a log b, 0 where a is 0."""
    x, y = as_float(a), as_float(b)
    return f"tl.where(({x} == 0) & ({y} == {y}), 0.0, {x} * tl.log({y}))"


def power(kind: str, a: Value, exponent: Value) -> str:
    """Small whole powers by multiplication, others of positive numbers by logarithm."""
    code, wanted = as_float(a), exponent.constant
    if wanted is None:
        raise Unsupported("a power that is not a number")
    if wanted != int(wanted):
        return f"tl.sqrt({code})" if wanted == 0.5 else f"tl.exp({wanted!r} * tl.log({code}))"
    if not 1 <= abs(wanted) <= 4:
        raise Unsupported(f"the power {wanted}")
    product = " * ".join([code] * int(abs(wanted)))
    return product if wanted > 0 else f"1.0 / ({product})"


def unary(form: str) -> Expression:
    """A function of one value of the result's kind."""
    return lambda kind, a: form.format(as_kind(a, kind))


def of_float(form: str) -> Expression:
    """A function of one float."""
    return lambda kind, a: form.format(as_float(a))


def ratio(kind: str, a: Value, b: Value) -> str:
    """a / b in floats, as a · (1 / b): the compiler finds the same 1 / b in a value and in its derivatives.

    It is within two units of the last place of float64, far below what the results keep. And a GPU's division goes a
    long way round where a is 0, as for every cell that is none.
    """
    if b.constant is not None or (a.constant is not None and a.constant == 1):
        return f"{as_float(a)} / {as_float(b)}"
    return f"{as_float(a)} * (1.0 / {as_float(b)})"


ELEMENTWISE: dict[str, Expression] = {
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
    "aten.abs.default": unary("tl.abs({})"),
    "aten.sgn.default": sign,
    "aten.sign.default": sign,
    "aten.log.default": of_float("tl.log({})"),
    "aten.exp.default": of_float("tl.exp({})"),
    "aten.sqrt.default": of_float("tl.sqrt({})"),
    "aten.rsqrt.default": of_float("1.0 / tl.sqrt({})"),
    "aten.sigmoid.default": of_float("1.0 / (1.0 + tl.exp(-{}))"),
    "aten.reciprocal.default": of_float("1.0 / {}"),
    "aten.pow.Tensor_Scalar": power,
    "aten.xlogy.Tensor": xlogy,
    "aten.maximum.default": extreme(">"),
    "aten.minimum.default": extreme("<"),
    "aten.clamp.default": clamp,
    "aten.clamp_min.default": clamp,
    "aten.clamp_max.default": lambda kind, a, high: clamp(kind, a, None, high),
    "aten.where.self": where,
    "aten.masked_fill.Scalar": lambda kind, a, mask, b: where(kind, mask, b, a),
    "aten.eq.Scalar": compare("=="),
    "aten.ne.Scalar": compare("!="),
    "aten.gt.Scalar": compare(">"),
    "aten.ge.Scalar": compare(">="),
    "aten.lt.Scalar": compare("<"),
    "aten.le.Scalar": compare("<="),
    "aten.eq.Tensor": compare("=="),
    "aten.ne.Tensor": compare("!="),
    "aten.gt.Tensor": compare(">"),
    "aten.ge.Tensor": compare(">="),
    "aten.lt.Tensor": compare("<"),
    "aten.le.Tensor": compare("<="),
    "aten.bitwise_and.Tensor": infix("&"),
    "aten.bitwise_or.Tensor": infix("|"),
    "aten.logical_and.default": lambda kind, a, b: f"{as_kind(a, 'bool')} & {as_kind(b, 'bool')}",
    "aten.logical_or.default": lambda kind, a, b: f"{as_kind(a, 'bool')} | {as_kind(b, 'bool')}",
    "aten.logical_not.default": lambda kind, a: f"({as_kind(a, 'bool')} == 0)",
    "aten.bitwise_not.default": lambda kind, a: f"({as_kind(a, 'bool')} == 0)",
    "aten._to_copy.default": lambda kind, a: as_kind(a, kind),
    "aten.clone.default": lambda kind, a: as_kind(a, kind),
}
