"""How the kernels go through the fields: those of one softmax together."""

from collections.abc import Sequence
from typing import NamedTuple

from sizewise.stats.fields import Kind

LABEL_KINDS = (Kind.FOCAL, Kind.OVERLAP)
SIZE_KINDS = (Kind.SIZE, Kind.KEPT_SIZE)
ROW_KINDS = (Kind.PIXELS, Kind.KEPT_PIXELS)

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


class Grouped(NamedTuple):
    """The order of fields for sums by words: those per row, then those per class, grouped by their softmax.

    ``groups`` is the place of each field's softmax in ``temperatures``, −1 for a field per row; a temperature of 0 is
    no softmax at all. ``firsts`` is the first field of each group, ``besides`` whether one of them needs 1 − p.
    """

    kinds: tuple[int, ...]
    parameters: tuple[float, ...]
    places: tuple[int, ...]
    groups: tuple[int, ...]
    temperatures: tuple[float, ...]
    firsts: tuple[int, ...]
    besides: tuple[int, ...]


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


def group_fields(fields: Fields) -> Grouped:
    """Fields in groups of one softmax; the count goes with the label's other fields where there are any."""
    first = 1.0 if any(kind in LABEL_KINDS for kind, _ in fields) else 0.0

    def rank(place: int) -> tuple:
        kind, parameter = fields[place]
        temperature = first if kind == Kind.COUNT else temperature_of(kind, parameter)
        return kind not in ROW_KINDS, temperature != first, temperature, kind != Kind.COUNT

    places = sorted(range(len(fields)), key=rank)
    ordered = [fields[place] for place in places]
    ranks = [rank(place)[:3] for place in places]
    starts = [place for place, one in enumerate(ranks) if one[0] and one not in ranks[:place]]
    groups = tuple(sum(start <= place for start in starts) - 1 for place in range(len(ordered)))
    besides = [False] * len(starts)
    for group, (kind, parameter) in zip(groups, ordered, strict=True):
        if kind == Kind.FOCAL and parameter != 0:
            besides[group] = True
    return Grouped(
        tuple(int(kind) for kind, _ in ordered),
        tuple(float(parameter) for _, parameter in ordered),
        tuple(places),
        groups,
        tuple(float(ranks[start][2]) for start in starts),
        tuple(starts),
        tuple(int(one) for one in besides),
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
