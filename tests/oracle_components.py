"""Components, cells and component-wise terms in slow, obvious numpy. Imports nothing of sizewise, and no scipy."""

import itertools

import numpy as np
import oracle


def components(region):
    """Each component as a list of coordinates, by flooding from every pixel in the order of memory."""
    left = {tuple(place) for place in np.argwhere(region)}
    steps = [step for step in itertools.product((-1, 0, 1), repeat=region.ndim) if any(step)]
    found = []
    for place in map(tuple, np.argwhere(region)):
        if place not in left:
            continue
        component, waiting = [], [place]
        left.remove(place)
        while waiting:
            here = waiting.pop()
            component.append(here)
            for step in steps:
                there = tuple(np.add(here, step))
                if there in left:
                    left.remove(there)
                    waiting.append(there)
        found.append(component)
    return found


def cells(region):
    """For each pixel the number of its nearest component, from 1; the first of several, 0 without any."""
    found = components(region)
    result = np.zeros(region.shape, int)
    for place in np.ndindex(region.shape):
        distances = [min(sum((np.subtract(place, one)) ** 2) for one in component) for component in found]
        result[place] = 1 + int(np.argmin(distances)) if distances else 0
    return result


def per_component(
    name, logits, target, mask, ignore_index, activation, *, classes, scope="image", reduction="mean", **options
):
    """The term with the cell as its mask and its class as the only one, averaged over components, classes, images."""
    soft = np.issubdtype(target.dtype, np.floating)
    images, _channels, *spatial = logits.shape
    target = target if soft or activation == "sigmoid" else target.reshape(images, 1, *spatial)
    target = target.reshape(images, -1, *spatial)
    by_image = []
    for n in range(images):
        by_class = {}
        for k in classes:
            own = target[n, k if activation == "sigmoid" or soft else 0]
            kept = np.ones(spatial, bool)
            if mask is not None:
                kept = mask[n].reshape(-1, *spatial)
                kept = kept[k if len(kept) > 1 else 0]
            valid = kept if ignore_index is None or soft else kept & (own != ignore_index)
            wanted = own > 0.5 if soft else own == (1 if activation == "sigmoid" else k)
            map_of_cells = cells(wanted & valid)
            values = []
            for number in range(1, map_of_cells.max(initial=0) + 1):
                inside = (valid & (map_of_cells == number))[None]
                if activation == "sigmoid":
                    given = logits[n : n + 1, k : k + 1], target[n : n + 1, k : k + 1]
                    values.append(oracle.term(name, *given, inside, ignore_index, activation, **options))
                else:
                    given = logits[n : n + 1], target[n : n + 1]
                    values.append(oracle.term(name, *given, inside, ignore_index, activation, classes=[k], **options))
            if values:
                by_class[k] = values
        by_image.append(by_class)
    if scope == "batch":
        pooled = {}
        for by_class in by_image:
            for k, values in by_class.items():
                pooled[k] = pooled.get(k, []) + values
        by_image = [pooled]
    over_classes = np.sum if reduction == "sum" and activation == "softmax" else np.mean
    means = [over_classes([np.mean(values) for values in by_class.values()]) for by_class in by_image if by_class]
    return float(np.mean(means)) if means else 0.0
