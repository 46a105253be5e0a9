"""From a graph of torch operations to the source of a Triton kernel that does them all in one program."""

import re
from collections.abc import Sequence
from typing import Any

from torch import SymInt, Tensor, fx

from sizewise.criterion.fused.axes import AXES, ONE, Dim, Unsupported, Value, kind_of, merged
from sizewise.criterion.fused.elementwise import ELEMENTWISE, number
from sizewise.criterion.fused.shaping import SHAPING
from sizewise.criterion.fused.trace import Trace
from sizewise.stats.cell_sums import LOSS_BITS, SHARE_BITS
from sizewise.stats.fields import NUMBERS_OF_PIXELS, Field, Kind

NAME = "formula"
HEAD = """\
def {name}({arguments}, N, M, NB: tl.constexpr, MB: tl.constexpr, FIRST: tl.constexpr, K: tl.constexpr,
    KB: tl.constexpr, R: tl.constexpr):
    k = tl.arange(0, KB)[:, None, None, None]
    r = tl.arange(0, R)[None, :, None, None]
    n = tl.arange(0, NB)[None, None, :, None]
    m = tl.arange(0, MB)[None, None, None, :]
    one = tl.zeros([1, 1, 1, 1], tl.int32)
    in_n = n < N
    in_m = m < M
    in_k = k < K
    in_r = r < R
    place = (n * K + k) * R + r
    plane = N * K * R
    inside = in_n & in_k & in_r
    cell_place = ((n * M + m) * K + k) * R + r
    cell_plane = N * M * K * R
    cell_inside = inside & in_m & (k >= FIRST)
"""
VARIABLE = re.compile(r"\bv\d+\b")


class Writer:
    """Writes one line for each operation; a tensor is known by its node, an axis by the symbol of its size.

    Attributes:
        planes: for each plane of coefficients that the kernel writes, its term and the place of its field.
        cell_planes: the same for those of the sums of cells.
        cells_read: the places of the fields of cells that the kernel reads; known once there is a source.
    """

    def __init__(
        self, trace: Trace, fields: int, classes: int, sigmoid: bool, cell_fields: Sequence[Field] = ()
    ) -> None:
        self.trace, self.fields, self.classes, self.sigmoid = trace, fields, classes, sigmoid
        self.units, self.cell_fields = [unit_of(field) for field in cell_fields], len(cell_fields)
        self.numbers_of_pixels = [place for place, field in enumerate(cell_fields) if field in NUMBERS_OF_PIXELS]
        self.lines: list[str] = []
        self.known: dict[fx.Node, Any] = {}
        self.pieces: dict[tuple[str, str, int], str] = {}
        self.planes: list[tuple[int, int]] = []
        self.cell_planes: list[tuple[int, int]] = []
        self.cell_names: list[str] = []
        self.cells_read: tuple[int, ...] = ()
        self.known[trace.sums] = self._sums()
        if trace.cells is not None:
            self.known[trace.cells] = self._cells(trace.cells)
        for place, (node, tensor) in enumerate(trace.buffers):
            self.known[node] = self._buffer(place, node, tensor)
        for node in trace.graph.nodes:
            if node.op == "call_function":
                self.known[node] = self._result(node)
            elif node.op not in ("placeholder", "output"):
                raise Unsupported(f"a tensor of the formula's own, {node.target}")
        self._store()

    def source(self) -> str:
        """The kernel as text, without what it does not need."""
        needed: set[str] = set()
        kept = []
        for line in reversed(self.lines):
            name, _, expression = line.partition(" = ")
            stores = line.startswith(("tl.store", "write"))
            if stores or name in needed:
                needed.update(VARIABLE.findall(line if stores else expression))
                kept.append(line)
        self.cells_read = tuple(place for place, name in enumerate(self.cell_names) if name in needed)
        inputs = [f"input_{place}" for place in range(len(self.trace.buffers))]
        head = HEAD.format(
            name=NAME, arguments=", ".join(["sums", "truth", "cells", "total", "kept", "cell_kept", "scale", *inputs])
        )
        return head + "".join(f"    {line}\n" for line in reversed(kept))

    def add(self, expression: str) -> str:
        """A new variable for ``expression``."""
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {expression}")
        return name

    def size(self, size: Any) -> str:
        """A size as source text; ``size`` is a number, a symbol, or a node that computes one."""
        if isinstance(size, fx.Node):
            size = size.meta["val"]
        if isinstance(size, int):
            return str(size)
        expression = size.node.expr
        names = {self.trace.images: "N", self.trace.classes: "K", **self.trace.cell_symbols}
        if not expression.free_symbols <= set(names) or not expression.is_polynomial():
            raise Unsupported(f"the size {expression}")
        by_name = {str(symbol): name for symbol, name in names.items()}
        text = re.sub(r"\bs\d+\b", lambda found: by_name[found.group()], str(expression))
        return "N*M" if text == "M*N" else text

    def axis(self, shape: Sequence[Any], place: int) -> str:
        """Which axis a dim of a whole tensor is: by its symbol, or by its place, since axes come in order."""
        text = self.size(shape[place])
        if text in ("N", "K", "M", "N*M"):
            return text.lower().replace("*", "")
        if len(shape) == 3:
            return "nkr"[place]
        if len(shape) == 2 and self.size(shape[0]) in ("N", "K", "M", "N*M"):
            return ("kr" if self.size(shape[0]) == "K" else ("n", "k"))[place]
        if not self.sigmoid and text == str(self.classes) and place == len(shape) - 1:
            return "k"
        raise Unsupported(f"a dim of size {text} that may be any axis")

    def value(self, argument: Any) -> Value:
        """What is known of an argument, as a block of its own."""
        if isinstance(argument, fx.Node):
            argument = self.known[argument]
        if isinstance(argument, Value):
            if argument.piece is None:
                return argument
            return Value(self.at(*argument.piece), argument.dims, argument.kind)
        if isinstance(argument, str):  # a size
            return self.value(int(argument)) if argument.isdigit() else self._size_value(argument)
        if isinstance(argument, bool) or not isinstance(argument, (int, float)):
            raise Unsupported(f"an argument {argument!r}")
        kind = "float" if isinstance(argument, float) else "int"
        return Value(number(argument, kind), (), kind, constant=float(argument))

    def _size_value(self, size: str) -> Value:
        return Value(self.add(f"tl.full([1, 1, 1, 1], {size}, tl.int64)"), (), "int")

    def at(self, value: Value, axis: str, place: int) -> str:
        """The block at one place along an axis, written once."""
        key = (value.code, axis, place)
        if key not in self.pieces:
            expression = f"tl.sum(tl.where({axis} == {place}, {value.code}, 0), {AXES.index(axis)}, keep_dims=True)"
            if value.kind == "bool":
                picked = f"(({axis} == {place}) & {value.code}).to(tl.int32)"
                expression = f"tl.max({picked}, {AXES.index(axis)}, keep_dims=True) != 0"
            self.pieces[key] = self.add(expression)
        return self.pieces[key]

    def reduce(self, value: Value, places: Sequence[int], keep: bool, how: str) -> Value:
        """The sum, minimum or "any" of a value along some of its dims."""
        code, kind = value.code, value.kind
        counts = how == "any" or (how == "sum" and kind == "bool")
        if counts:  # threads hand on half as many words as of int64; no block has 2^31 elements
            code = f"{code}.to(tl.int32)" if kind == "bool" else f"({code} != 0).to(tl.int32)"
        neutral = {"sum": "0", "any": "0", "amin": 'float("inf")', "amax": '-float("inf")'}[how]
        function = {"sum": "tl.sum", "any": "tl.max", "amin": "tl.min", "amax": "tl.max"}[how]
        for place in places:
            dim = value.dims[place]
            if dim.axis:
                code = f"tl.where({dim.inside}, {code}, {neutral})"
                for axis in dim.axis:
                    code = f"{function}({code}, {AXES.index(axis)}, keep_dims=True)"
            elif how == "sum" and dim.size != "1":  # the same all along
                code = f"{code} * ({dim.size})"
        gone = {place % len(value.dims) for place in places}
        dims = tuple(ONE if place in gone else dim for place, dim in enumerate(value.dims) if keep or place not in gone)
        if how == "any":
            return Value(self.add(f"{code} != 0"), dims, "bool")
        return Value(self.add(f"{code}.to(tl.int64)" if counts else code), dims, "int" if counts else kind)

    def elementwise(self, name: str, operands: Sequence[Value | None], kind: str) -> Value:
        """One line for one elementwise operation."""
        given = [one for one in operands if one is not None]
        if name.startswith("aten.add.") and len(given) == 2:  # what autograd adds up is mostly 0
            for zero, other in (given, given[::-1]):
                if zero.constant == 0 and other.kind == kind and len(other.dims) >= len(zero.dims):
                    return other
        if all(one.constant is not None for one in given):  # Triton needs a tensor to work on
            first = given[0]
            solid = Value(
                self.add(f"tl.full([1, 1, 1, 1], {first.code}, tl.{_dtype(first.kind)})"), first.dims, first.kind
            )
            operands = [solid if one is first else one for one in operands]
        rank = max(len(one.dims) for one in given)
        dims = [
            merged([one.dims[-behind] for one in given if len(one.dims) >= behind]) for behind in range(rank, 0, -1)
        ]
        return Value(self.add(ELEMENTWISE[name](kind, *operands)), tuple(dims), kind)

    def _result(self, node: fx.Node) -> Any:
        """What is known of an operation's result: a value, several of them, or a size."""
        found, name = node.meta.get("val"), str(node.target)
        if isinstance(found, (int, SymInt)):
            return self.size(found)
        if name == "<built-in function getitem>":
            return self.known[node.args[0]][node.args[1]]  # type: ignore[index]
        if name in SHAPING:
            return SHAPING[name](self, node)
        if name not in ELEMENTWISE:
            raise Unsupported(f"the operation {name}")
        if node.kwargs.get("alpha", 1) != 1 or node.kwargs.get("rounding_mode"):
            raise Unsupported(f"{name} with {node.kwargs}")
        assert isinstance(found, Tensor)
        kind = kind_of(found.dtype)
        operands = [None if one is None else self.value(one) for one in node.args]
        if not any(one is not None and one.planes for one in operands):
            return self.elementwise(name, operands, kind)
        if any(one is not None and not one.planes and len(one.dims) == found.dim() for one in operands):
            raise Unsupported("planes meet a tensor with a dim of fields")
        results = []
        for place in range(next(len(one.planes) for one in operands if one is not None and one.planes)):
            here = [one if one is None or one.planes is None else one.planes[place] for one in operands]
            results.append(self.elementwise(name, here, kind))
        return Value("", (), kind, planes=tuple(results))

    def _sums(self) -> Value:
        planes, *shape = self.trace.sums.meta["val"].shape
        dims = tuple(Dim(self.size(size), axis if size != 1 else "") for size, axis in zip(shape, "nkr", strict=False))
        values = []
        for place in range(planes):
            pointer = f"sums + {place}" if place < self.fields else f"truth + {place - self.fields}"
            code = self.add(f"tl.load({pointer} * plane + place, mask=inside, other=1.0).to(tl.float64)")
            values.append(Value(code, dims, "float"))
        return Value("", (), "float", planes=tuple(values))

    def _cells(self, node: fx.Node) -> Value:
        """The sums of cells, (fields, N, M, K), from integers, and behind them how many pixels were no numbers."""
        planes, *shape = node.meta["val"].shape
        dims = tuple(Dim(self.size(size), axis if size != 1 else "") for size, axis in zip(shape, "nmkr", strict=False))
        strange = self.add(f"{_cells_plane(planes)} != 0")
        values = []
        for place, unit in enumerate(self.units):
            value = f"{_cells_plane(place)}.to(tl.float64) * {unit!r}"
            if place not in self.numbers_of_pixels:
                value = f'tl.where({strange}, float("nan"), {value})'
            values.append(Value(self.add(value), dims, "float"))
        self.cell_names = [one.code for one in values]
        return Value("", (), "float", planes=tuple(values))

    def _buffer(self, place: int, node: fx.Node, tensor: Tensor) -> Value:
        """A constant of the criterion, which the kernel reads in every launch, so that it may change in place."""
        sizes = [self.size(size) for size in node.meta["val"].shape]
        axes = ["" if size == "1" else self._buffer_axis(sizes, at) for at, size in enumerate(sizes)]
        steps = [f"{axis} * {step}" for axis, step in zip(axes, tensor.stride(), strict=True) if axis]
        masks = [f"in_{axis}" for axis in axes if axis]
        kind = kind_of(tensor.dtype)
        where = f"input_{place} + {' + '.join(steps) or 'one'}"
        code = f"tl.load({where}, mask={' & '.join(masks) or 'one == 0'}, other=1).to(tl.{_dtype(kind)})"
        dims = tuple(Dim(size, axis) for size, axis in zip(sizes, axes, strict=True))
        return Value(self.add(code), dims, kind)

    def _buffer_axis(self, sizes: Sequence[str], place: int) -> str:
        if sizes[place] == "K" or (not self.sigmoid and sizes[place] == str(self.trace.classes)):
            return "k"
        # The formula has compared it with the two regions of a channel, else it would be a symbol.
        if self.sigmoid and sizes[place] == "2" and place == len(sizes) - 1 and str(self.trace.classes) != "2":
            return "r"
        raise Unsupported(f"a constant of the shape ({', '.join(sizes)})")

    def _store(self) -> None:
        """L; and what is kept: the planes of coefficients, ∂L/∂term of each term, then the terms' values."""
        trace = self.trace
        scale = self.add("tl.load(scale + one).to(tl.float64)")
        self._store_planes(trace.coefficients, self.planes, "", scale)
        self._store_planes(trace.cell_coefficients, self.cell_planes, "cell_", scale)
        factors = [self.value(0.0 if one is None else one).code for one in trace.factors]
        total, *values = (f"{self.value(one).code} * {scale}" for one in (trace.total, *trace.values))
        numbers = [f"kept + {len(self.planes)} * plane + {place}" for place in range(len(factors) + len(values))]
        for where, code in zip(["total", *numbers], [total, *factors, *values], strict=True):
            self.lines.append(f"tl.store({where} + one, (one + {code}).to(kept.dtype.element_ty))")

    def _store_planes(
        self, nodes: Sequence[fx.Node | None], planes: list[tuple[int, int]], prefix: str, scale: str
    ) -> None:
        """∂term/∂sums, a plane for each that is not 0."""
        block = "[KB, R, NB, MB]" if prefix else "[KB, R, NB, 1]"
        for term, node in enumerate(nodes):
            if node is None:
                continue
            value = self.value(node)
            if value.planes is None:
                raise Unsupported("a derivative that is not one plane for each field")
            for field, plane in enumerate(value.planes):
                if plane.constant == 0:
                    continue
                code = f"(({plane.code}) * {scale} + tl.zeros({block}, tl.float64)).to(kept.dtype.element_ty)"
                where = f"{prefix}kept + {len(planes)} * {prefix}plane + {prefix}place"
                stored = (
                    f"write({where}, {code}, cell_inside, False)"
                    if prefix
                    else f"tl.store({where}, {code}, mask=inside)"
                )
                self.lines.append(stored)
                planes.append((term, field))


def _cells_plane(place: int) -> str:
    """The integers of one field of the cells, 0 of classes without any.

    With ``tl.load`` Triton would lay classes, which are neighbours in memory, across threads: to choose one would be a
    sum over threads. And a machine instruction alone would not tell the compiler what is 0.
    """
    return f"tl.where(cell_inside, read(cells + {place} * cell_plane + cell_place, cell_inside, False), 0)"


def unit_of(field: Field) -> float:
    """What 1 stands for in the integers that are sums of cells."""
    return 2.0 ** -(LOSS_BITS if field.kind == Kind.FOCAL else SHARE_BITS)


def _dtype(kind: str) -> str:
    return "int1" if kind == "bool" else f"{kind}64"
