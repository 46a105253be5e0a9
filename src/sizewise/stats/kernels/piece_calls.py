"""What both passes over logits smaller than the target are launched with, and the launch of the sums."""

from typing import TYPE_CHECKING

from torch import Tensor

from sizewise.stats.kernels.axis_pieces import Pieces, piece_table, pieces_of
from sizewise.stats.kernels.field_order import (
    LABEL_KINDS,
    SIZE_KINDS,
    Fields,
    Grouped,
)
from sizewise.stats.kernels.launch import MOST_PIXELS_A_PROGRAM, Launch, programs_per_row
from sizewise.stats.kernels.layout import padded
from sizewise.stats.kernels.shapes import PieceShape, piece_shape
from sizewise.stats.kernels.upsampled_forward import sums_of_pieces
from sizewise.stats.upsampling import CORNERS

if TYPE_CHECKING:
    from sizewise.stats.kernels.call import Call


class Grid:
    """The pieces of each axis, innermost first, and their tables; axes that are missing have one cell of one pixel."""

    def __init__(self, logits: Tensor, target: Tensor, upsample: str, shape: PieceShape) -> None:
        self.corners, self.shape = upsample == CORNERS, shape
        sizes = list(zip(logits.shape[2:], target.shape[2:], strict=True))[::-1]
        self.axes = len(sizes)
        sizes += [(1, 1)] * (3 - len(sizes))
        width = pieces_of(*sizes[0], self.corners, shape.columns)
        most_lines = max(1, shape.pixels // width.longest)
        most = (shape.columns, min(shape.lines, most_lines), 1)
        self.pieces: list[Pieces] = [
            pieces_of(*size, self.corners, longest) for size, longest in zip(sizes, most, strict=True)
        ]
        self.tables = [
            piece_table(*size, self.corners, longest, logits.device) for size, longest in zip(sizes, most, strict=True)
        ]

    @property
    def numbers(self) -> list[int]:
        """Pixels, cells and pieces of each axis."""
        axes = [one.axis for one in self.pieces]
        return [
            *[axis.pixels for axis in axes],
            *[axis.cells for axis in axes],
            *[len(one) for one in self.pieces],
        ]

    @property
    def constants(self) -> dict[str, int]:
        """What the kernels are compiled for."""
        return {
            "CHUNK": self.shape.chunk,
            "LANES": self.shape.block,
            "COLUMNS": self.pieces[0].longest,
            "LINES": self.pieces[1].longest,
            "AXES": self.axes,
            "CORNERS": self.corners,
        }


def strides_of(call: "Call", tensors: list[Tensor]) -> list[int]:
    """Of each tensor: per image, per channel (0 where one serves all), and along three axes."""
    numbers = []
    for place, tensor in enumerate(tensors):
        per_channel = tensor.stride(1) if tensor.shape[1] > 1 else 0
        numbers += [tensor.stride(0), per_channel, *padded(call.layout.strides[place])]
    return numbers


def sums_launch(
    call: "Call", tensors: list[Tensor], fields: Fields, order: Grouped, upsample: str
) -> tuple[Launch, list[Tensor], int]:
    """The launch that takes the sums of each program, its tables, and how many programs share a row."""
    grid = Grid(tensors[0], tensors[1], upsample, piece_shape(call.classes))
    units = len(grid.pieces[0]) * len(grid.pieces[1]) * len(grid.pieces[2])
    # a tile of pieces for what elsewhere is a tile of pixels
    programs = programs_per_row(units, call.rows, grid.shape, call.processors, 2)
    programs = max(programs, -(-call.pixels // MOST_PIXELS_A_PROGRAM))
    kinds = {kind for kind, _ in fields}
    sized = bool(kinds & {*SIZE_KINDS}) or (bool(call.flags["SHARES"]) and bool(kinds & {*LABEL_KINDS}))
    numbers = [programs, call.channels, call.rows, call.ignore, *grid.numbers]
    numbers += strides_of(call, tensors)
    constants = {
        "KINDS": order.kinds,
        "PARAMETERS": order.parameters,
        "TEMPERATURES": order.temperatures,
        "GROUPS": order.groups,
        "FIRSTS": order.firsts,
        "BESIDES": order.besides,
        "SIZED": sized,
        "K": call.classes,
        **grid.constants,
        **{name: value for name, value in call.flags.items() if name != "AXES"},
        "LABEL": call.label,
        "DTYPE": call.triton_dtype,
    }
    launch = Launch(
        sums_of_pieces, call.rows * programs, grid.shape.warps, tuple(numbers), constants, **grid.shape.options
    )
    return launch, grid.tables, programs
