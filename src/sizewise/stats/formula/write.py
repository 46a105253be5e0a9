"""From recorded operations to the source of a Triton kernel that does them all in one program."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sizewise.stats.formula.expressions import ELEMENTWISE, number
from sizewise.stats.formula.mirror import Mirror
from sizewise.stats.formula.record import Operation, Recording
from sizewise.stats.formula.shapes import SHAPING
from sizewise.stats.formula.values import UNKNOWN, Dim, Ids, Unsupported, Value, kind_of, merged, where_it_lies

AXES = "nkr"
HEAD = """\
def {name}(sums, value, coefficients, {inputs}N, NB: tl.constexpr, K: tl.constexpr, KB: tl.constexpr, R: tl.constexpr):
    n = tl.arange(0, NB)[:, None, None]
    k = tl.arange(0, KB)[None, :, None]
    r = tl.arange(0, R)[None, None, :]
    one = tl.zeros([1, 1, 1], tl.int32)
    in_n = n < N
    in_k = k < K
    in_r = r < R
    place = (n * K + k) * R + r
    plane = N * K * R
    inside = in_n & in_k & in_r
"""


class Writer:
    """Writes one line for each operation; a tensor is known by where it lies and how it is laid out.

    Autograd hands out saved tensors under new names, but at the old place.
    """

    def __init__(self, recording: Recording) -> None:
        self.lines: list[str] = []
        self.values: dict[tuple, Value] = {}
        self.inputs: list[Tensor] = []
        self.mirrors: list[Mirror] = []
        self.fields, self.images, self.classes = recording.sums.shape[:3]
        self.sigmoid, self.device = recording.sums.dim() == 4, recording.sums.device
        planes = []
        for place in range(self.fields):
            code = self.add(f"tl.load(sums + {place} * plane + place, mask=inside, other=1.0).to(tl.float64)")
            planes.append(Value(code, self.dims_of(recording.sums.shape[1:], outer=True), "float"))
        self.keep(recording.sums, Value("", (), "float", planes=tuple(planes)))
        for operation in recording.operations:
            self.take(operation)
        value, coefficients = self.value_of(recording.value), self.value_of(recording.coefficients)
        self.lines.append(f"tl.store(value + one, {value.code}.to(value.dtype.element_ty))")
        if coefficients.planes is None:
            raise Unsupported("the derivative is not one plane for each field")
        for place, one in enumerate(coefficients.planes):
            where = f"coefficients + {place} * plane + place"
            code = f"({one.code} + tl.zeros([NB, KB, R], tl.float64)).to(coefficients.dtype.element_ty)"
            self.lines.append(f"tl.store({where}, {code}, mask=inside)")

    def source(self, name: str) -> str:
        """The kernel as text."""
        inputs = "".join(f"input_{place}, " for place in range(len(self.inputs)))
        return HEAD.format(name=name, inputs=inputs) + "".join(f"    {line}\n" for line in self.lines)

    def add(self, expression: str) -> str:
        """A new variable for ``expression``."""
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {expression}")
        return name

    def keep(self, tensor: Tensor, value: Value) -> None:
        """Remember what is known of a tensor."""
        self.values[where_it_lies(tensor)] = value

    def constant(self, amount: float, shape: Sequence[int], dtype: torch.dtype) -> Value:
        """The same number everywhere."""
        kind = kind_of(dtype)
        if kind == "bool":
            raise Unsupported("a constant that is true or false")
        code = self.add(f"tl.full([1, 1, 1], {number(amount)}, tl.{kind}64)")
        return Value(code, self.dims_of(shape, outer=False), kind, constant=float(amount))

    def dims_of(self, shape: Sequence[int], *, outer: bool) -> tuple[Dim, ...]:
        """Which axis each dim is, from its size and place.

        The number of images was chosen to differ from every other size. ``outer``: the tensor comes from outside of the
        formula, as class weights do; all others that are asked for are the same along k, however many classes.
        """
        dims = []
        for place, size in enumerate(shape):
            axis = "k"
            if size == 1:
                axis = ""
            elif size == self.images:
                axis = "n"
            elif self.sigmoid and place == len(shape) - 1 and size == 2 and self._ends_in_regions(shape, outer):
                axis = "r"
            ids: Ids = UNKNOWN if axis == "k" and not (outer and size == self.classes) else None
            dims.append(Dim(size, axis, ids))
        return tuple(dims)

    def _ends_in_regions(self, shape: Sequence[int], outer: bool) -> bool:
        """Whether the last dim of a sigmoid's tensor, of size 2, is that of its regions rather than of two channels."""
        return len(shape) == 3 or outer or (len(shape) == 2 and shape[0] not in (1, self.images))

    def value_of(self, argument: Any) -> Value:
        """What is known of an argument, as a block of its own."""
        value = self.known(argument)
        if value.piece is None:
            return value
        source, axis, place = value.piece
        return Value(self.at(source, axis, place), value.dims, value.kind)

    def known(self, argument: Any) -> Value:
        """What is known of an argument; a tensor that no operation made is one more input of the kernel."""
        if not isinstance(argument, Tensor):
            if isinstance(argument, bool) or not isinstance(argument, (int, float)):
                raise Unsupported(f"an argument {argument!r}")
            return self.constant(argument, (), torch.float64 if isinstance(argument, float) else torch.int64)
        known = self.values.get(where_it_lies(argument))
        if known is not None:
            return known
        known = self.input(argument)
        self.keep(argument, known)
        return known

    def input(self, tensor: Tensor) -> Value:
        """A tensor that the kernel reads in every launch, so that it may change in place."""
        if not tensor.is_contiguous():
            raise Unsupported("an input that is not contiguous")
        dims = self.dims_of(tensor.shape, outer=True)
        if any(dim.axis == "n" or dim.ids is not None for dim in dims):
            raise Unsupported(f"an input of the shape {tuple(tensor.shape)}")
        steps = [f"{dim.axis} * {step}" for dim, step in zip(dims, tensor.stride(), strict=True) if dim.axis]
        masks = [f"in_{dim.axis}" for dim in dims if dim.axis]
        where = f"input_{len(self.inputs)} + {' + '.join(steps) or 'one'}"
        kind = kind_of(tensor.dtype)
        code = self.add(f"tl.load({where}, mask={' & '.join(masks) or 'one == 0'}, other=1).to(tl.{_dtype(kind)})")
        if self.is_elsewhere(tensor):
            self.mirrors.append(Mirror(tensor, self.device))
            tensor = self.mirrors[-1].copy
        self.inputs.append(tensor)
        return Value(code, dims, kind)

    def is_elsewhere(self, tensor: Tensor) -> bool:
        """Whether a tensor, as λ that stayed on the CPU, cannot be read by the kernel."""
        return tensor.device != self.device

    def at(self, value: Value, axis: str, place: int) -> str:
        """The block at one place along an axis."""
        if value.kind == "bool":
            return self.add(
                f"tl.max((({axis} == {place}) & {value.code}).to(tl.int32), {AXES.index(axis)}, keep_dims=True) != 0"
            )
        return self.add(f"tl.sum(tl.where({axis} == {place}, {value.code}, 0), {AXES.index(axis)}, keep_dims=True)")

    def take(self, operation: Operation) -> None:
        """Write one operation."""
        if operation.name in SHAPING:
            results = SHAPING[operation.name](self, operation)
        elif operation.name in ELEMENTWISE:
            results = [self.elementwise(operation)]
        else:
            raise Unsupported(f"the operation {operation.name}")
        tensors = [operation.result] if isinstance(operation.result, Tensor) else list(operation.result)
        for tensor, value in zip(tensors, results, strict=True):
            self.keep(tensor, value)

    def elementwise(self, operation: Operation) -> Value:
        """An operation on each element, for each field where there are planes."""
        if operation.options.get("alpha", 1) != 1 or operation.options.get("rounding_mode"):
            raise Unsupported(f"{operation.name} with {operation.options}")
        operands = [None if one is None else self.value_of(one) for one in operation.arguments]
        result: Tensor = operation.result
        stacked = [one for one in operands if one is not None and one.planes is not None]
        if not stacked:
            return self.apply(operation, operands, tuple(result.shape), kind_of(result.dtype))
        planes = []
        for place in range(self.fields):
            here = [one if one is None or one.planes is None else one.planes[place] for one in operands]
            if any(one is not None and one.planes is None and len(one.dims) == result.dim() for one in operands):
                raise Unsupported("planes meet a tensor with a dim of fields")
            planes.append(self.apply(operation, here, tuple(result.shape[1:]), kind_of(result.dtype)))
        return Value("", (), kind_of(result.dtype), planes=tuple(planes))

    def apply(self, operation: Operation, operands: Sequence[Value | None], shape: tuple[int, ...], kind: str) -> Value:
        """One line for one elementwise operation."""
        dims = []
        for place, size in enumerate(shape):
            behind = len(shape) - place
            here = [one.dims[-behind] for one in operands if one is not None and len(one.dims) >= behind]
            dims.append(merged(here, size))
        code = self.add(ELEMENTWISE[operation.name](kind, *operands))
        return Value(code, tuple(dims), kind)

    def reduce(self, value: Value, places: Sequence[int], keep: bool, how: str) -> Value:
        """The sum, minimum or "any" of a value along some of its dims."""
        code, kind = value.code, value.kind
        if how == "sum" and kind == "bool":
            code, kind = f"{code}.to(tl.int64)", "int"
        if how == "any":
            code = f"({code} != 0).to(tl.int64)" if kind != "bool" else f"{code}.to(tl.int64)"
        neutral = {"sum": "0", "any": "0", "amin": 'float("inf")'}[how]
        function = {"sum": "tl.sum", "any": "tl.max", "amin": "tl.min"}[how]
        for place in places:
            dim = value.dims[place]
            if dim.ids == UNKNOWN:  # the same all along
                code = f"{code} * {dim.size}" if how == "sum" else code
            elif dim.axis:
                code = f"{function}(tl.where({inside(dim)}, {code}, {neutral}), {AXES.index(dim.axis)}, keep_dims=True)"
        code = self.add(f"{code} != 0" if how == "any" else code)
        gone = {place % len(value.dims) for place in places}
        dims = [Dim(1) if place in gone else dim for place, dim in enumerate(value.dims) if keep or place not in gone]
        return Value(code, tuple(dims), "bool" if how == "any" else kind)


def inside(dim: Dim) -> str:
    """Where along its axis a dim has values."""
    if dim.ids is None:
        return f"in_{dim.axis}"
    if not dim.ids or isinstance(dim.ids, str):
        raise Unsupported("a choice that is not known")
    if dim.ids == tuple(range(dim.ids[0], dim.ids[-1] + 1)):
        return f"({dim.axis} >= {dim.ids[0]}) & ({dim.axis} <= {dim.ids[-1]})"
    return "(" + " | ".join(f"({dim.axis} == {one})" for one in dim.ids) + ")"


def _dtype(kind: str) -> str:
    return "int1" if kind == "bool" else f"{kind}64"
