"""Torch operations that choose, join, repeat or add up elements, by name."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch import fx

from sizewise.criterion.fused.axes import ONE, Dim, Unsupported, Value, kind_of, merged
from sizewise.criterion.fused.choosing import argument, cut, cut_backward, select, select_backward, unbind

if TYPE_CHECKING:
    from sizewise.criterion.fused.write import Writer

Shaping = Callable[["Writer", fx.Node], Any]


def same(writer: "Writer", node: fx.Node) -> Value:
    """The same numbers."""
    return writer.known[argument(node, 0)]


def each_plane(single: Callable[["Writer", fx.Node, Value, int], Value]) -> Shaping:
    """A rule for one tensor whose first dim may be that of the fields, which each plane has lost (1, else 0)."""

    def rule(writer: "Writer", node: fx.Node) -> Value:
        value = writer.value(argument(node, 0))
        if value.planes is None:
            return single(writer, node, value, 0)
        results = [single(writer, node, plane, 1) for plane in value.planes]
        return Value("", (), results[0].kind, planes=tuple(results))

    return rule


def reduction(how: str) -> Shaping:
    """``sum``, ``any``, ``amin``, ``amax`` or ``mean`` along dims."""

    def single(writer: "Writer", node: fx.Node, value: Value, lost: int) -> Value:
        dims, keep, rank = argument(node, 1), bool(argument(node, 2)), len(value.dims) + lost
        wanted = range(rank) if dims is None or dims == [] else [dims] if isinstance(dims, int) else dims
        places = [one % rank - lost for one in wanted]
        if min(places, default=0) < 0:
            raise Unsupported("the fields are reduced")
        if how != "mean":
            return writer.reduce(value, places, keep, how)
        total = writer.reduce(value, places, keep, "sum")
        sizes = " * ".join(f"({value.dims[place].size})" for place in places) or "1"
        return Value(writer.add(f"{total.code} / ({sizes})"), total.dims, "float")

    return each_plane(single)


def expand(writer: "Writer", node: fx.Node, value: Value, lost: int) -> Value:
    """Repeat along dims of size 1, or along new ones in front."""
    wanted = argument(node, 1)[lost:]
    dims = []
    for place, size in enumerate(wanted):
        old = place - len(wanted) + len(value.dims)
        own = value.dims[old] if old >= 0 else ONE
        keeps = own.axis or own.size != "1" or size == -1
        dims.append(own if keeps else Dim(writer.size(size)))
    return value.with_dims(tuple(dims))


def view(writer: "Writer", node: fx.Node, value: Value, lost: int) -> Value:
    """Other dims for the same elements: rows of cells as images and their cells, or back; dims of size 1 as well."""
    wanted = [writer.size(size) for size in argument(node, 1)[lost:]]
    if wanted.count("-1") == 1:
        wanted = [writer.size(size) for size in node.meta["val"].shape[lost:]]
    left, dims = list(value.dims), []
    while wanted:
        size = wanted.pop(0)
        if left and left[0].size == size:
            dims.append(left.pop(0))
        elif size == "1":
            dims.append(ONE)
        elif left and left[0].size == "1":
            left.pop(0)
            wanted.insert(0, size)
        elif left and left[0].size == "N*M" and size == "N" and wanted[:1] == ["M"]:
            rows = left.pop(0)
            wanted.pop(0)
            dims += [Dim("N", "n" if rows.axis else ""), Dim("M", "m" if rows.axis else "")]
        elif size == "N*M" and [one.size for one in left[:2]] == ["N", "M"]:
            images, cells = left.pop(0), left.pop(0)
            if bool(images.axis) != bool(cells.axis):
                raise Unsupported("rows that are the same for all images, or for all cells")
            dims.append(Dim("N*M", images.axis + cells.axis))
        else:
            raise Unsupported(f"{', '.join(one.size for one in value.dims)} seen as {argument(node, 1)}")
    if any(one.size != "1" for one in left):
        raise Unsupported("dims that were left over")
    return value.with_dims(tuple(dims))


def unsqueeze(writer: "Writer", node: fx.Node, value: Value, lost: int) -> Value:
    """A new dim of size 1."""
    place = argument(node, 1) % (len(value.dims) + lost + 1) - lost
    if place < 0:
        raise Unsupported("a new dim before the fields")
    return value.with_dims((*value.dims[:place], ONE, *value.dims[place:]))


def squeeze(writer: "Writer", node: fx.Node, value: Value, lost: int) -> Value:
    """Without dims of size 1."""
    wanted = argument(node, 1)
    places = {one % (len(value.dims) + lost) - lost for one in ([wanted] if isinstance(wanted, int) else wanted)}
    if any(place < 0 or value.dims[place].axis for place in places):
        raise Unsupported("a dim that cannot be left out")
    gone = {place for place in places if value.dims[place].size == "1"}
    return value.with_dims(tuple(dim for place, dim in enumerate(value.dims) if place not in gone))


def stack(writer: "Writer", node: fx.Node) -> Value:
    """Planes; slices of one value side by side; or the two regions of a sigmoid channel."""
    parts = [writer.known[one] for one in argument(node, 0)]
    result = node.meta["val"]
    place = (argument(node, 1) or 0) % result.dim()
    if any(one.planes is not None for one in parts):
        raise Unsupported("planes are stacked")
    if result.dim() == (4 if writer.sigmoid else 3):  # one dim more than a tensor of the formula has
        if place or len(parts) not in (writer.fields, writer.cell_fields):
            raise Unsupported(f"{len(parts)} tensors stacked along dim {place}")
        return Value("", (), "float", planes=tuple(writer.value(one) for one in parts))

    def with_dim(value: Value, dim: Dim) -> Value:
        return value.with_dims((*value.dims[:place], dim, *value.dims[place:]))

    pieces = [one.piece for one in parts if one.piece is not None]
    if len(pieces) == len(parts) and all(one[:2] == pieces[0][:2] for one in pieces):
        source, axis, _ = pieces[0]
        places = tuple(one[2] for one in pieces)
        if len(places) > 1 and len(set(places)) == len(places):
            return with_dim(Value(source.code, parts[0].dims, source.kind), Dim(str(len(places)), axis, places))
    solid = [writer.value(one) for one in parts]
    if all(one.code == solid[0].code for one in solid):  # the same all along
        return with_dim(solid[0], Dim(str(len(parts))))
    if writer.sigmoid and len(parts) == 2 and place == 2:  # axes come in order: n, k, r
        dims = tuple(merged(list(pair)) for pair in zip(solid[0].dims, solid[1].dims, strict=True))
        code = writer.add(f"tl.where(r == 0, {solid[0].code}, {solid[1].code})")
        return with_dim(Value(code, dims, kind_of(result.dtype)), Dim("2", "r"))
    raise Unsupported(f"{len(parts)} tensors stacked along dim {place}")


def filled(amount: float | None) -> Shaping:
    """A constant tensor; ``None``: its number is the argument after its shape, or the first of ``scalar_tensor``."""

    def rule(writer: "Writer", node: fx.Node) -> Value:
        result = node.meta["val"]
        found: Any = amount
        if found is None:
            first = argument(node, 0)
            found = argument(node, 1) if isinstance(first, (list, tuple)) else first
        if isinstance(found, bool) or not isinstance(found, (int, float)) or kind_of(result.dtype) == "bool":
            raise Unsupported("a constant that is no number")
        dims = tuple(Dim(writer.size(size)) for size in result.shape)
        kind = kind_of(result.dtype)
        constant = writer.value(float(found) if kind == "float" else int(found))
        if len(dims) == (4 if writer.sigmoid else 3) and result.shape[0] in (writer.fields, writer.cell_fields):
            return Value("", (), kind, planes=(constant.with_dims(dims[1:]),) * int(result.shape[0]))
        return constant.with_dims(dims)

    return rule


SHAPING: dict[str, Shaping] = {
    "aten.detach.default": same,
    "aten.alias.default": same,
    "aten.sum.dim_IntList": reduction("sum"),
    "aten.sum.default": reduction("sum"),
    "aten.mean.dim": reduction("mean"),
    "aten.mean.default": reduction("mean"),
    "aten.any.dim": reduction("any"),
    "aten.any.default": reduction("any"),
    "aten.amin.default": reduction("amin"),
    "aten.amax.default": reduction("amax"),
    "aten.expand.default": each_plane(expand),
    "aten.view.default": each_plane(view),
    "aten._unsafe_view.default": each_plane(view),
    "aten.reshape.default": each_plane(view),
    "aten.unsqueeze.default": each_plane(unsqueeze),
    "aten.squeeze.dim": each_plane(squeeze),
    "aten.squeeze.dims": each_plane(squeeze),
    "aten.select.int": select,
    "aten.select_backward.default": select_backward,
    "aten.unbind.int": unbind,
    "aten.slice.Tensor": cut,
    "aten.slice_backward.default": cut_backward,
    "aten.stack.default": stack,
    "aten.zeros.default": filled(0.0),
    "aten.zeros_like.default": filled(0.0),
    "aten.new_zeros.default": filled(0.0),
    "aten.ones.default": filled(1.0),
    "aten.ones_like.default": filled(1.0),
    "aten.full.default": filled(None),
    "aten.scalar_tensor.default": filled(None),
}
