"""How the kernels go through the fields: those of one softmax together."""

from collections.abc import Sequence
from typing import NamedTuple

from sizewise.stats.fields import Kind

LABEL_KINDS = (Kind.FOCAL, Kind.OVERLAP)
SIZE_KINDS = (Kind.SIZE, Kind.KEPT_SIZE)

Fields = Sequence[tuple[int, float]]
Planes = Sequence[tuple[int, int]]
"""For each plane of coefficients: the term it belongs to, and the place of its field."""


class Sorted(NamedTuple):
    """The forward kernel's order of fields: without a softmax, those of τ = 1, then each other temperature."""

    kinds: tuple[int, ...]
    parameters: tuple[float, ...]
    places: tuple[int, ...]
    temperatures: tuple[float, ...]
    starts: tuple[int, ...]
    paired: tuple[int, ...]


def temperature_of(kind: int, parameter: float) -> float:
    """The temperature of the softmax that a field needs; 0 for none."""
    if kind in SIZE_KINDS:
        return parameter
    return 1.0 if kind in LABEL_KINDS else 0.0


def sort_fields(fields: Fields, chunks: int, can_pair: bool) -> Sorted:
    """Fields in groups of one softmax, where each one's sums start, and which two come from one comparison."""

    def rank(place: int) -> tuple:
        kind, parameter = fields[place]
        temperature = temperature_of(kind, parameter)
        is_nll = kind == Kind.FOCAL and parameter == 0
        return temperature != 0, temperature != 1, temperature, kind == Kind.COUNT, not is_nll

    places = sorted(range(len(fields)), key=rank)
    ordered = [fields[place] for place in places]
    temperatures, starts, start, last = [], [], 0, 0.0
    for kind, parameter in ordered:
        temperature = temperature_of(kind, parameter)
        temperatures.append(temperature if temperature != last else 0.0)
        last = temperature
        starts.append(start)
        start += 1 if kind in (Kind.PIXELS, Kind.KEPT_PIXELS) else chunks
    paired = [0] * len(fields)
    pair = [(int(Kind.COUNT), 0.0), (int(Kind.FOCAL), 0.0)]
    for place in range(1, len(ordered)):
        if can_pair and [(int(kind), parameter) for kind, parameter in ordered[place - 1 : place + 1]] == pair:
            paired[place - 1 : place + 1] = [1, 2]
    return Sorted(
        tuple(int(kind) for kind, _ in ordered),
        tuple(float(parameter) for _, parameter in ordered),
        tuple(places),
        tuple(temperatures),
        tuple(starts),
        tuple(paired),
    )


def every_plane(fields: Fields) -> list[tuple[int, int]]:
    """One plane for each field, in order, all of one term; those of counts have no gradient and are never read."""
    return [(0, place) for place in range(len(fields))]


def gradient_constants(fields: Fields, planes: Planes) -> dict[str, tuple]:
    """The label's fields, and the size fields by temperature, as the backward kernel takes them.

    Each of them is a slot, into which the kernel adds up the planes of coefficients that belong there: first the
    label's fields, then the sizes by temperature, then the sizes over every kept pixel.
    """
    used = {place for _, place in planes}
    labels = [
        (kind, parameter) for place, (kind, parameter) in enumerate(fields) if place in used and kind in LABEL_KINDS
    ]
    sizes, kept_sizes = (
        {parameter for place, (kind, parameter) in enumerate(fields) if place in used and kind == wanted}
        for wanted in (Kind.SIZE, Kind.KEPT_SIZE)
    )
    temperatures = sorted({*sizes, *kept_sizes, *([1.0] if labels else [])}, key=lambda one: (one != 1, one))

    def slot(place: int) -> int:
        kind, parameter = fields[place]
        if kind in LABEL_KINDS:
            return labels.index((kind, parameter))
        if kind not in SIZE_KINDS:
            return -1
        return len(labels) + temperatures.index(parameter) + (len(temperatures) if kind == Kind.KEPT_SIZE else 0)

    return {
        "KINDS": tuple(int(kind) for kind, _ in labels),
        "GAMMAS": tuple(float(gamma) for _, gamma in labels),
        "TEMPERATURES": tuple(temperatures),
        "SIZES": tuple(int(one in sizes) for one in temperatures),
        "KEPT_SIZES": tuple(int(one in kept_sizes) for one in temperatures),
        "SLOTS": tuple(slot(place) for _, place in planes),
        "TERMS": tuple(term for term, _ in planes),
    }
