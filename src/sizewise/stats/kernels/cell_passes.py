"""Both passes over the cells of CUDA tensors; the arguments and results are those of the reference."""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from sizewise.stats import cell_sums as reference
from sizewise.stats.fields import Kind
from sizewise.stats.kernels.call import Call
from sizewise.stats.kernels.cell_gradient_tiles import cell_gradient_tiles
from sizewise.stats.kernels.cell_tiles import cell_tiles
from sizewise.stats.kernels.cell_walk import REGISTERS, fits_product, starts_of, sums_shape, walk_of
from sizewise.stats.kernels.field_order import Fields, Planes, every_plane, temperature_of
from sizewise.stats.kernels.kept_tensors import numbers_on
from sizewise.stats.kernels.launch import Launch, programs_per_row
from sizewise.stats.kernels.layout import joint_layout
from sizewise.stats.kernels.passes import form_of, on_device_of, prepared
from sizewise.stats.kernels.shapes import MOST_UNROLLED, Shape

GRADIENT_SHAPE = Shape(1, 128, 1, 4, 32)


def takes(logits: Tensor, maps: Tensor, classes: Sequence[int], sigmoid: bool, kinds: Sequence[int]) -> bool:
    """Whether the kernels cover such input; the reference covers all."""
    channels = logits.shape[1]
    return (
        logits.dtype != torch.float64
        and logits.numel() > 0
        and maps.numel() > 0
        and (tuple(classes) == tuple(range(channels)) if sigmoid else channels <= MOST_UNROLLED)
        and not {Kind.KEPT_PIXELS, Kind.KEPT_SIZE} & set(kinds)
        and joint_layout([logits, logits, logits, maps, torch.empty_like(logits)]) is not None
    )


class CellCall(Call):
    """What both passes have in common."""

    def __init__(
        self,
        tensors: list[Tensor],
        has_mask: bool,
        classes: Sequence[int],
        most: int,
        options: tuple,
        shape: Shape,
    ) -> None:
        ignore_index, sigmoid, kinds, parameters = options
        fields = list(zip(kinds, parameters, strict=True))
        super().__init__(tensors, has_mask, ignore_index, sigmoid, fields)
        self.regions = 2 if sigmoid else 1
        self.images = tensors[0].shape[0]
        self.per_plane = self.images * most * self.channels * self.regions
        self.maps_classes = (0,) if sigmoid else tuple(classes)
        self.constants = {
            "KINDS": tuple(int(kind) for kind in kinds),
            "PARAMETERS": tuple(float(one) for one in parameters),
            "CLASSES": self.maps_classes,
            "K": self.classes,
            "BLOCK": shape.block,
            **self.flags,
        }


class SumsCall(CellCall):
    """The launch that fills the table, with ``image_fields`` also takes the sums of images; and what reads both.

    ``read`` says which of the fields are taken, all by default; the planes of the others stay 0.
    """

    def __init__(
        self,
        tensors: list[Tensor],
        has_mask: bool,
        classes: Sequence[int],
        most: int,
        options: tuple,
        image_fields: Fields = (),
        read: Sequence[int] | None = None,
    ) -> None:
        ignore_index, sigmoid, kinds, parameters = options
        planes = tuple(range(len(kinds))) if read is None else tuple(read)
        taken = ([kinds[place] for place in planes], [parameters[place] for place in planes])
        shape = sums_shape(len(planes), 2 if sigmoid else len(classes))
        super().__init__(tensors, has_mask, classes, most, (ignore_index, sigmoid, *taken), shape)
        self.planes = planes
        self.table_shape = (len(kinds) + 1, self.images * most, self.channels, self.regions)
        bits = [reference.LOSS_BITS if kind == Kind.FOCAL else reference.SHARE_BITS for kind in kinds]
        self.units = [2.0**-one for one in bits]
        self.certain = [kind in (Kind.COUNT, Kind.PIXELS) for kind in kinds]  # whatever the logits are
        walk = walk_of(tensors[0], self.pixels, self.rows, shape, self.processors)
        nll = (Kind.FOCAL, 0.0)
        fits = not self.flags["SHARES"] and fits_product(walk.steps, shape.vector, self.classes)
        described = {
            "PLANES": planes,
            "STRANGE": len(kinds),
            "PRODUCT": list(image_fields).index(nll) if fits and nll in image_fields else -1,
            "IMAGE_KINDS": tuple(int(kind) for kind, _ in image_fields),
            "IMAGE_PARAMETERS": tuple(float(parameter) for _, parameter in image_fields),
            "IMAGE_STARTS": starts_of(image_fields, self.classes),
            "BITS": walk.bits,
            "VECTOR": shape.vector,
            **self.ends(shape.block, walk.programs),
            "EVEN": walk.even,
        }
        constants = self.constants | described
        ordered = {name: constants[name] for name in cell_tiles.arg_names if name in constants}
        numbers = (*self.numbers(walk.programs, 0, 1, 2, 3), most, self.per_plane, *walk[:3])
        nvidia = self.device.type == "cuda" and torch.version.hip is None
        limit = {"maxnreg": REGISTERS} if nvidia else {}  # more would leave some programs to a second round
        self.launch = Launch(cell_tiles, self.rows * walk.programs, shape.warps, numbers, ordered, **limit)
        if image_fields:
            places = tuple(range(len(image_fields)))
            self.set_second_stage(described["IMAGE_KINDS"], places, walk.programs)
        self.tensors = []

    def compilations(
        self, logits: Tensor, target: Tensor, mask: Tensor | None, maps: Tensor, record: Tensor
    ) -> list[Callable[[], None]]:
        """What there is to compile, for threads that do it side by side."""
        table = torch.empty(1, dtype=torch.int64, device=self.device)
        some = torch.empty(1, dtype=self.dtype, device=self.device)
        kept = logits if mask is None else mask
        return [
            partial(self.launch.compile, logits, target, kept, maps, table, some),
            partial(self.add_programs.compile, some, some, record, target),
        ]

    def both(
        self,
        logits: Tensor,
        target: Tensor,
        mask: Tensor | None,
        maps: Tensor,
        record: Tensor,
        *,
        stream: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The sums of images, and those of cells as integers, see :func:`cell_tiles`."""
        table = torch.zeros(self.table_shape, dtype=torch.int64, device=self.device)
        workspace = torch.empty(self.workspace_size, dtype=self.dtype, device=self.device)
        self.launch(logits, target, logits if mask is None else mask, maps, table, workspace, stream=stream)
        return self.second_stage(workspace, record, target, stream), table

    def __call__(self, logits: Tensor, target: Tensor, mask: Tensor | None, maps: Tensor) -> Tensor:
        table = torch.zeros(self.table_shape, dtype=torch.int64, device=self.device)
        self.launch(logits, target, logits if mask is None else mask, maps, table, logits)
        return self.as_floats(table)

    def as_floats(self, table: Tensor) -> Tensor:
        """The sums as numbers, NaN where a pixel's probabilities are."""
        certain = numbers_on(self.device, torch.bool, *self.certain).view(-1, 1, 1, 1)
        units = numbers_on(self.device, torch.float64, *self.units).view(-1, 1, 1, 1)
        sums = (table[:-1] * units).where((table[-1] == 0) | certain, torch.nan).to(self.dtype)
        return sums if self.sigmoid else sums.squeeze(-1)


class GradientCall(CellCall):
    """The launch that adds to a gradient, or with ``image_planes`` writes that of images and cells together.

    ``planes`` says the term and the place of the field of each plane of coefficients; ``image_planes`` the same for
    those of the sums of images, whose fields are ``image_fields``.
    """

    def __init__(
        self,
        tensors: list[Tensor],
        has_mask: bool,
        classes: Sequence[int],
        most: int,
        options: tuple,
        planes: Planes | None = None,
        image_fields: Fields = (),
        image_planes: Planes = (),
        *,
        writes: bool = False,
    ) -> None:
        super().__init__(tensors, has_mask, classes, most, options, GRADIENT_SHAPE)
        fields = list(zip(options[2], options[3], strict=True))
        of_cells = [(*fields[place], term) for term, place in (every_plane(fields) if planes is None else planes)]
        of_images = [(*image_fields[place], term) for term, place in image_planes]
        both = [temperature_of(kind, parameter) for kind, parameter, _ in (*of_cells, *of_images)]
        temperatures = tuple(sorted({float(one) for one in both} - {0.0}))
        self.empty = not temperatures
        described: dict[str, tuple[float, ...]] = {}
        for prefix, some in (("", of_cells), ("IMAGE_", of_images)):
            own = [temperature_of(kind, parameter) for kind, parameter, _ in some]
            described[prefix + "KINDS"] = tuple(int(kind) for kind, _, _ in some)
            described[prefix + "PARAMETERS"] = tuple(float(parameter) for _, parameter, _ in some)
            described[prefix + "GROUPS"] = tuple(temperatures.index(one) if one else -1 for one in own)
            described[prefix + "TERMS"] = tuple(term for _, _, term in some)
        programs = programs_per_row(self.pixels, self.rows, GRADIENT_SHAPE, self.processors, 1)
        maps = self.maps_classes
        places = (0, 1) if self.sigmoid else [maps.index(k) if k in maps else -1 for k in range(self.channels)]
        described |= {"TEMPERATURES": temperatures, "PLACES": tuple(places)}
        constants = self.constants | self.ends(GRADIENT_SHAPE.block, programs) | described | {"WRITES": writes}
        ordered = {name: constants[name] for name in cell_gradient_tiles.arg_names if name in constants}
        numbers = (*self.numbers(programs, 0, 1, 2, 3, 4), most, self.per_plane)
        self.launch = Launch(cell_gradient_tiles, self.rows * programs, GRADIENT_SHAPE.warps, numbers, ordered)
        self.tensors = []

    def __call__(
        self,
        coefficients: Tensor,
        image_coefficients: Tensor,
        upstream: Tensor,
        logits: Tensor,
        target: Tensor,
        mask: Tensor | None,
        maps: Tensor,
        gradient: Tensor,
        *,
        stream: int | None = None,
    ) -> None:
        if not self.empty:
            kept = logits if mask is None else mask
            factors = (coefficients, image_coefficients, upstream)
            self.launch(*factors, logits, target, kept, maps, gradient, stream=stream)


def cell_sums(
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None,
    maps: Tensor,
    classes: Sequence[int],
    most: int,
    *options: object,
) -> Tensor:
    """See :func:`sizewise.stats.cell_sums.cell_sums`."""
    key = (
        "cell sums",
        form_of(logits, target, mask),
        form_of(maps, target, None)[:3],
        tuple(classes),
        most,
        _key(options),
    )
    tensors = [logits, target, logits if mask is None else mask, maps]
    call = prepared(key, lambda: SumsCall(tensors, mask is not None, classes, most, options))
    with on_device_of(logits):
        return call(logits, target, mask, maps)


def add_cell_gradient(
    gradient: Tensor,
    coefficients: Tensor,
    logits: Tensor,
    target: Tensor,
    mask: Tensor | None,
    maps: Tensor,
    classes: Sequence[int],
    most: int,
    *options: object,
) -> None:
    """Add what :func:`sizewise.stats.cell_sums.cell_gradient` returns to ``gradient``, laid out as the logits are."""
    form = (form_of(logits, target, mask), form_of(maps, target, None)[:3], gradient.stride(), gradient.dtype)
    key = ("cell gradient", form, tuple(classes), most, _key(options))
    tensors = [logits, target, logits if mask is None else mask, maps, gradient]
    call = prepared(key, lambda: GradientCall(tensors, mask is not None, classes, most, options))
    one = numbers_on(coefficients.device, coefficients.dtype, 1.0)  # all planes are of one term, whose factor is 1
    with on_device_of(logits):
        call(coefficients, one, one, logits, target, mask, maps, gradient)


def _key(options: tuple) -> tuple:
    ignore_index, sigmoid, kinds, parameters = options
    return ignore_index, sigmoid, tuple(kinds), tuple(parameters)
