"""Which input the kernels by words take, and their launches."""

from typing import TYPE_CHECKING, Any

from sizewise.stats.kernels.field_order import Fields, Grouped, Planes, gradient_constants
from sizewise.stats.kernels.launch import Launch
from sizewise.stats.kernels.layout import Layout, memory_of, word_bytes
from sizewise.stats.kernels.shapes import WordShape, word_gradient_shape, word_sums_shape
from sizewise.stats.kernels.word_gradient import word_gradient
from sizewise.stats.kernels.word_sums import word_sums

if TYPE_CHECKING:
    from sizewise.stats.kernels.call import Call


def sums_shape(call: "Call", takes_labels: bool) -> WordShape | None:
    """How sums by words go over such input; None where the other kernel takes it."""
    if call.sigmoid or not takes_labels:
        return None
    memory = memory_of(call.tensors[0], call.layout)
    return word_sums_shape(call.classes, memory, call.itemsize, word_of(call, memory, 0))


def gradient_shape(call: "Call") -> WordShape | None:
    """The same for the gradient."""
    if call.sigmoid or call.target_constants["SHARES"]:
        return None
    memory = memory_of(call.tensors[0], call.layout)
    return word_gradient_shape(call.classes, memory, call.itemsize, word_of(call, memory, 0, 3))


def word_of(call: "Call", memory: str, *places: int) -> int:
    """The bytes of each of these tensors that are read or written at once."""
    layout = Layout(call.layout.sizes, tuple(call.layout.strides[place] for place in places))
    return word_bytes([call.tensors[place] for place in places], layout, memory)


def tile_constants(call: "Call", shape: WordShape, programs: int) -> dict[str, Any]:
    """The constants of both kernels."""
    flags = {name: call.flags[name] for name in ("AXES", "HAS_MASK", "HAS_IGNORE", "UNLABELLED")}
    return {
        "K": call.classes,
        "CHUNK": shape.chunk,
        "BLOCK": shape.block,
        "VECTOR": shape.vector,
        "BYTES": shape.bytes,
        "GATHERED": shape.gathered,
        **flags,
        **call.ends(shape.block, programs),
    }


def sums_launch(call: "Call", shape: WordShape, order: Grouped, programs: int) -> Launch:
    """The first stage of the forward pass."""
    constants = {
        "KINDS": order.kinds,
        "PARAMETERS": order.parameters,
        "GROUPS": order.groups,
        "TEMPERATURES": order.temperatures,
        "FIRSTS": order.firsts,
        "BESIDES": order.besides,
        **tile_constants(call, shape, programs),
    }
    return Launch(word_sums, call.rows * programs, shape.warps, call.numbers(programs, 0, 1, 2), constants)


def gradient_launch(call: "Call", shape: WordShape, fields: Fields, planes: Planes, programs: int) -> Launch:
    """The backward pass."""
    constants = {
        **gradient_constants(fields, planes),
        **tile_constants(call, shape, programs),
        "RUNS": shape.runs,
    }
    return Launch(word_gradient, call.rows * programs, shape.warps, call.numbers(programs, 0, 1, 2, 3), constants)
