"""Torch operations that choose elements by their places, and their derivatives."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch import fx

from sizewise.criterion.fused.axes import ONE, Dim, Unsupported, Value

if TYPE_CHECKING:
    from sizewise.criterion.fused.write import Writer


def select(writer: "Writer", node: fx.Node) -> Value:
    """One place along a dim."""
    value, place, index = writer.value(argument(node, 0)), argument(node, 1), argument(node, 2)
    if value.planes is None:
        return piece_of(writer, value, place % len(value.dims), index)
    rank = len(value.planes[0].dims) + 1
    if place % rank == 0:
        return value.planes[index]
    pieces = [piece_of(writer, one, place % rank - 1, index) for one in value.planes]
    return Value("", (), value.kind, planes=tuple(writer.value(one) for one in pieces))


def piece_of(writer: "Writer", value: Value, place: int, index: int) -> Value:
    """One slice of a value, not written yet."""
    dim = value.dims[place]
    dims = value.dims[:place] + value.dims[place + 1 :]
    if not dim.axis:  # the same all along
        return value.with_dims(dims)
    if isinstance(dim.chosen, tuple):
        return Value("", dims, value.kind, piece=(value, dim.axis, dim.chosen[index]))
    if index < 0:
        length = {"k": writer.classes, "r": 2}.get(dim.axis)
        if length is None:
            raise Unsupported("the last image alone")
        index += length - (0 if dim.chosen is None else dim.chosen.start)
    return Value("", dims, value.kind, piece=(value, dim.axis, index + (0 if dim.chosen is None else dim.chosen.start)))


def select_backward(writer: "Writer", node: fx.Node) -> Value:
    """The values at one place, and 0 at all others."""
    value = writer.value(argument(node, 0))
    shape, place, index = (argument(node, at) for at in (1, 2, 3))
    place %= len(shape)
    axis = writer.axis(shape, place)
    if value.planes is not None or index < 0:
        raise Unsupported("the derivative of this choice")
    if value.constant == 0:
        return zeros(writer, shape)
    dims = [*value.dims[:place], Dim(writer.size(shape[place]), axis), *value.dims[place:]]
    return Value(writer.add(f"tl.where({axis} == {index}, {value.code}, 0)"), tuple(dims), value.kind)


def unbind(writer: "Writer", node: fx.Node) -> list[Value]:
    """Every slice along a dim."""
    value = writer.value(argument(node, 0))
    place = argument(node, 1) or 0
    if value.planes is not None:
        if place % (len(value.planes[0].dims) + 1):
            raise Unsupported("slices within all fields")
        return list(value.planes)
    place %= len(value.dims)
    return [piece_of(writer, value, place, index) for index in range(len(node.meta["val"]))]


def cut(writer: "Writer", node: fx.Node) -> Value:
    """``x[..., start:]``, whose places stay where they are."""
    value = writer.value(argument(node, 0))
    place, start, end, step = _slice(node.args[1:])
    size = node.meta["val"].shape[place]
    if value.planes is not None and place == 0 and isinstance(size, int):
        return Value("", (), value.kind, planes=value.planes[start : start + size])
    if value.planes is not None or step != 1:
        raise Unsupported("this slice")
    place %= len(value.dims)
    dim = value.dims[place]
    if start == 0 and writer.size(size) == dim.size:
        return value
    if not dim.axis:
        return value.with_dims((*value.dims[:place], Dim(writer.size(size)), *value.dims[place + 1 :]))
    if writer.size(size) == "1":
        piece = writer.value(piece_of(writer, value, place, start))
        return piece.with_dims((*piece.dims[:place], ONE, *piece.dims[place:]))
    if dim.chosen is not None or start < 0 or not _is_end(end, dim, writer):
        raise Unsupported("this slice")
    here = Dim(writer.size(size), dim.axis, slice(start, None))
    return value.with_dims((*value.dims[:place], here, *value.dims[place + 1 :]))


def cut_backward(writer: "Writer", node: fx.Node) -> Value:
    """The values at their places, and 0 at all others."""
    value, shape = writer.value(argument(node, 0)), argument(node, 1)
    place, start, end, step = _slice(node.args[2:])
    place %= len(shape)
    axis = writer.axis(shape, place)
    whole = Dim(writer.size(shape[place]), axis)
    if value.planes is not None or step != 1 or start < 0:
        raise Unsupported("the derivative of this slice")
    if value.constant == 0:
        return zeros(writer, shape)
    condition = f"{axis} >= {start}" if _is_end(end, whole, writer) else f"({axis} >= {start}) & ({axis} < {end})"
    dims = (*value.dims[:place], whole, *value.dims[place + 1 :])
    return Value(writer.add(f"tl.where({condition}, {value.code}, 0)"), dims, value.kind)


def _slice(arguments: Sequence[Any]) -> tuple[int, int, Any, int]:
    place, start, end, step = [*arguments, None, None, None, None][:4]
    return place or 0, start or 0, end, step or 1


def _is_end(end: Any, dim: Dim, writer: "Writer") -> bool:
    """Whether a slice goes to the end of its dim."""
    if end is None or (isinstance(end, int) and end >= 1 << 60):
        return True
    return writer.size(end) == dim.size


def zeros(writer: "Writer", shape: Sequence[Any]) -> Value:
    """0 in the given shape."""
    return writer.value(0.0).with_dims(tuple(Dim(writer.size(size)) for size in shape))


def argument(node: fx.Node, place: int) -> Any:
    """An argument by its place, None where it was left out."""
    return node.args[place] if len(node.args) > place else None
