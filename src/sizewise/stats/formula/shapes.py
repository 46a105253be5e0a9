"""Torch operations that choose, join, repeat or add up elements."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from torch import Tensor

from sizewise.stats.formula.record import Operation
from sizewise.stats.formula.values import UNKNOWN, Dim, Ids, Unsupported, Value, kind_of, merged

if TYPE_CHECKING:
    from sizewise.stats.formula.write import Writer

Shaping = Callable[["Writer", Operation], list[Value]]


def same(writer: "Writer", operation: Operation) -> list[Value]:
    """The same numbers."""
    return [writer.value_of(operation.arguments[0])]


def each_plane(single: Shaping) -> Shaping:
    """A handler of one tensor whose first dim may be that of the fields; it then takes each plane."""

    def handler(writer: "Writer", operation: Operation) -> list[Value]:
        value = writer.value_of(operation.arguments[0])
        if value.planes is None:
            return single(writer, operation, value)  # type: ignore[call-arg]
        results = [single(writer, operation, plane)[0] for plane in value.planes]  # type: ignore[call-arg]
        return [Value("", (), results[0].kind, planes=tuple(results))]

    return handler


def places(operation: Operation, value: Value, dims: Sequence[int] | None) -> list[int]:
    """Which dims of ``value`` are meant, counted from its end: planes have lost the first one."""
    rank = operation.arguments[0].dim()
    wanted = [one % rank - rank for one in (dims or range(rank))]
    if any(-one > len(value.dims) for one in wanted):
        raise Unsupported("the fields are reduced")
    return [one % len(value.dims) for one in wanted]


def reduction(how: str) -> Shaping:
    """``sum``, ``any``, ``amin`` or ``mean`` along dims."""

    def single(writer: "Writer", operation: Operation, value: Value) -> list[Value]:
        dims = operation.arguments[1] if len(operation.arguments) > 1 else None
        keep = bool(operation.arguments[2]) if len(operation.arguments) > 2 else False
        where = places(operation, value, [dims] if isinstance(dims, int) else dims)
        if how != "mean":
            return [writer.reduce(value, where, keep, how)]
        size = 1
        for place in where:
            if value.dims[place].axis == "n":
                raise Unsupported("a mean over the images, whose number the derivative would fix")
            size *= value.dims[place].size
        total = writer.reduce(value, where, keep, "sum")
        return [Value(writer.add(f"{total.code} / {float(size)!r}"), total.dims, "float")]

    return each_plane(single)  # type: ignore[arg-type]


def expand(writer: "Writer", operation: Operation, value: Value) -> list[Value]:
    """Repeat along dims of size 1, or along new ones in front."""
    shape = operation.result.shape
    if len(value.dims) < operation.arguments[0].dim():  # a plane
        shape = shape[1:]
    wanted = writer.dims_of(shape, outer=False)
    dims = []
    for place, dim in enumerate(wanted):
        old = place - len(wanted) + len(value.dims)
        keeps = old >= 0 and value.dims[old].size == dim.size
        if old >= 0 and not keeps and value.dims[old].axis:
            raise Unsupported("one place of an axis is repeated")
        dims.append(value.dims[old] if keeps else dim)
    return [value.with_dims(tuple(dims))]


def unsqueeze(writer: "Writer", operation: Operation) -> list[Value]:
    """A new dim of size 1."""
    value = writer.value_of(operation.arguments[0])
    if value.planes is not None:
        raise Unsupported("a new dim beside the fields")
    place = operation.arguments[1] % operation.result.dim()
    return [value.with_dims((*value.dims[:place], Dim(1), *value.dims[place:]))]


def squeeze(writer: "Writer", operation: Operation) -> list[Value]:
    """Without a dim of size 1."""
    value = writer.value_of(operation.arguments[0])
    place = operation.arguments[1] % max(1, len(value.dims))
    if value.planes is not None or value.dims[place].axis:
        raise Unsupported("a dim that cannot be left out")
    return [value.with_dims(value.dims[:place] + value.dims[place + 1 :])]


def select(writer: "Writer", operation: Operation) -> list[Value]:
    """One place along a dim."""
    value = writer.value_of(operation.arguments[0])
    place, index = operation.arguments[1] % operation.arguments[0].dim(), operation.arguments[2]
    if value.planes is not None:
        if place:
            raise Unsupported("a choice within all fields")
        return [value.planes[index]]
    return [piece_of(value, place, index)]


def piece_of(value: Value, place: int, index: int) -> Value:
    """One slice of a value, not written yet."""
    dim = value.dims[place]
    dims = value.dims[:place] + value.dims[place + 1 :]
    if not dim.axis or isinstance(dim.ids, str):  # the same all along
        return value.with_dims(dims)
    id = index % dim.size if dim.ids is None else dim.ids[index]
    return Value("", dims, value.kind, piece=(value, dim.axis, id))


def unbind(writer: "Writer", operation: Operation) -> list[Value]:
    """Every slice along a dim."""
    value = writer.value_of(operation.arguments[0])
    place = (operation.arguments[1] if len(operation.arguments) > 1 else 0) % operation.arguments[0].dim()
    if value.planes is not None:
        if place:
            raise Unsupported("slices within all fields")
        return list(value.planes)
    return [piece_of(value, place, index) for index in range(value.dims[place].size)]


def cut(writer: "Writer", operation: Operation) -> list[Value]:
    """``x[..., start:]``, whose places stay where they are."""
    value = writer.value_of(operation.arguments[0])
    place, start, end, step = _slice(operation.arguments[1:])
    if value.planes is not None or step != 1:
        raise Unsupported("this slice")
    place %= len(value.dims)
    dim = value.dims[place]
    indices = range(dim.size)[start:end]
    if len(indices) == dim.size:
        return [value]
    ids: Ids = UNKNOWN
    if not isinstance(dim.ids, str):
        ids = tuple(indices) if dim.ids is None else tuple(dim.ids[one] for one in indices)
    dims = list(value.dims)
    dims[place] = Dim(len(indices), dim.axis, ids)
    return [value.with_dims(tuple(dims))]


def cut_backward(writer: "Writer", operation: Operation) -> list[Value]:
    """The values at their places, and 0 at all others."""
    value = writer.value_of(operation.arguments[0])
    shape = operation.arguments[1]
    place, start, end, step = _slice(operation.arguments[2:])
    place %= len(shape)
    if value.planes is not None or step != 1:
        raise Unsupported("the derivative of this slice")
    axis = writer.dims_of(shape, outer=False)[place].axis
    indices = range(shape[place])[start:end]
    if not axis or not indices:
        raise Unsupported("the derivative of an empty slice")
    condition = f"({axis} >= {indices[0]}) & ({axis} <= {indices[-1]})"
    dims = list(value.dims)
    dims[place] = Dim(shape[place], axis)
    return [Value(writer.add(f"tl.where({condition}, {value.code}, 0.0)"), tuple(dims), value.kind)]


def _slice(arguments: Sequence[int | None]) -> tuple[int, int | None, int | None, int]:
    place, start, end, step = [*arguments, None, None, None][:4]
    return place or 0, start, end, step or 1


def stack(writer: "Writer", operation: Operation) -> list[Value]:
    """Planes, chosen classes, classes put back in their places, or the two regions of a sigmoid."""
    tensors = operation.arguments[0]
    result: Tensor = operation.result
    place = (operation.arguments[1] if len(operation.arguments) > 1 else 0) % result.dim()
    parts = [writer.known(tensor) for tensor in tensors]
    if any(one.planes is not None for one in parts):
        raise Unsupported("planes are stacked")
    if place == 0 and len(parts) == writer.fields and result.dim() == (4 if writer.sigmoid else 3):
        return [Value("", (), "float", planes=tuple(writer.value_of(one) for one in tensors))]
    axis = writer.dims_of(result.shape, outer=False)[place].axis
    if axis == "k" or len(parts) == 1:
        return [_classes(writer, parts, place)]
    if axis == "r" and len(parts) == 2:
        first, second = (writer.value_of(one) for one in tensors)
        dims = [merged(list(pair), pair[0].size) for pair in zip(first.dims, second.dims, strict=True)]
        dims.insert(place, Dim(2, "r"))
        code = writer.add(f"tl.where(r == 0, {first.code}, {second.code})")
        return [Value(code, tuple(dims), kind_of(result.dtype))]
    raise Unsupported(f"{len(parts)} tensors stacked along dim {place}")


def _classes(writer: "Writer", parts: list[Value], place: int) -> Value:
    """Slices of one value along k, side by side: some of its classes, or each in its place and 0 elsewhere.

    What is the same all along k, as weights of the two regions of any sigmoid channel, has no slices, just itself.
    """
    used = [index for index, one in enumerate(parts) if one.constant != 0]
    sources = [one if one.piece is None else one.piece[0] for one in (parts[index] for index in used)]
    if not used or any(source.code != sources[0].code for source in sources):
        raise Unsupported("different tensors are stacked")
    pieces = [piece for index in used if (piece := parts[index].piece) is not None]
    if any(axis != "k" for _, axis, _ in pieces):
        raise Unsupported("slices change their axis")
    dims = list(parts[used[0]].dims)
    ids = tuple(id for _, _, id in pieces)
    if len(ids) == len(parts):  # all of them are slices
        dims.insert(place, Dim(len(parts), "k", None if ids == tuple(range(writer.classes)) else ids))
        return Value(sources[0].code, tuple(dims), sources[0].kind)
    if len(used) == len(parts) and not ids:  # the same for every class
        dims.insert(place, Dim(len(parts), "k", UNKNOWN) if len(parts) > 1 else Dim(1))
        return Value(sources[0].code, tuple(dims), sources[0].kind)
    if len(parts) != writer.classes or (ids and ids != tuple(used)):
        raise Unsupported("slices change their places")
    condition = " | ".join(f"(k == {index})" for index in used)
    dims.insert(place, Dim(writer.classes, "k"))
    return Value(writer.add(f"tl.where({condition}, {sources[0].code}, 0.0)"), tuple(dims), sources[0].kind)


def filled(amount: float | None) -> Shaping:
    """A constant tensor; ``None``: the first argument is the number."""

    def handler(writer: "Writer", operation: Operation) -> list[Value]:
        given = operation.arguments[0] if amount is None else amount
        return [writer.constant(given, operation.result.shape, operation.result.dtype)]

    return handler


SHAPING: dict[str, Shaping] = {
    "aten.detach.default": same,
    "aten.alias.default": same,
    "aten.sum.dim_IntList": reduction("sum"),
    "aten.sum.default": reduction("sum"),
    "aten.mean.dim": reduction("mean"),
    "aten.mean.default": reduction("mean"),
    "aten.any.dim": reduction("any"),
    "aten.amin.default": reduction("amin"),
    "aten.expand.default": each_plane(expand),  # type: ignore[arg-type]
    "aten.unsqueeze.default": unsqueeze,
    "aten.squeeze.dim": squeeze,
    "aten.select.int": select,
    "aten.unbind.int": unbind,
    "aten.slice.Tensor": cut,
    "aten.slice_backward.default": cut_backward,
    "aten.stack.default": stack,
    "aten.zeros.default": filled(0.0),
    "aten.zeros_like.default": filled(0.0),
    "aten.ones_like.default": filled(1.0),
    "aten.scalar_tensor.default": filled(None),
}
