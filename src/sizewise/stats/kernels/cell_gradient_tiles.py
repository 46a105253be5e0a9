"""The gradient of the sums per cell: each pixel reads the coefficients of its cells, and those of its image."""

# Triton compiles these functions: arguments are what it makes of them, tuples grow by adding, and every branch needs
# its own return.
# mypy: ignore-errors

import triton
import triton.language as tl

from sizewise.stats.kernels.arithmetic import inverse_of
from sizewise.stats.kernels.cell_values import beside, wanted_share
from sizewise.stats.kernels.pixel_gradient import focal_slope
from sizewise.stats.kernels.raw_access import read
from sizewise.stats.kernels.tile import (
    LN_2,
    OVERLAP,
    SIZE,
    exponentials,
    load_classes,
    pixel_offsets,
    row_start,
    subtract_maximum,
)


@triton.jit
def add_coefficient(
    weight,
    pull,
    coefficient,
    shifted,
    e,
    total,
    share,
    label,
    k: tl.constexpr,
    KIND: tl.constexpr,
    PARAMETER: tl.constexpr,
    SHARES: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """Add ∂L/∂field of class k to what pulls at p_k, or for a loss to what pulls at the label."""
    inverse = inverse_of(total)
    p = e[k] * inverse
    if KIND == SIZE:
        weight += coefficient
    elif KIND == OVERLAP:
        if SHARES:
            weight += tl.where(p < share[k], coefficient, 0.0)
        else:
            weight += tl.where(label == k, coefficient, 0.0)
    else:
        y = wanted_share(share, label, k, SHARES, DTYPE)
        slope = tl.full(y.shape, 1.0, DTYPE)
        if PARAMETER != 0.0:
            minus_log = (tl.log2(total) - shifted[k]) * LN_2
            slope = focal_slope(minus_log, beside(e, k) * inverse, p, PARAMETER)
        pull += tl.where(y > 0, coefficient * y * slope, 0.0)
    return weight, pull


@triton.jit
def cell_gradient_tiles(
    coefficients,
    image_coefficients,
    upstream,
    logits,
    target,
    mask,
    maps,
    gradient,
    pixels,
    programs,
    channels,
    rows,
    ignore,
    width,
    height,
    z_image,
    z_channel,
    z_outer,
    z_middle,
    z_inner,
    y_image,
    y_channel,
    y_outer,
    y_middle,
    y_inner,
    m_image,
    m_channel,
    m_outer,
    m_middle,
    m_inner,
    c_image,
    c_channel,
    c_outer,
    c_middle,
    c_inner,
    g_image,
    g_channel,
    g_outer,
    g_middle,
    g_inner,
    most,
    per_plane,
    KINDS: tl.constexpr,
    PARAMETERS: tl.constexpr,
    GROUPS: tl.constexpr,
    TERMS: tl.constexpr,
    IMAGE_KINDS: tl.constexpr,
    IMAGE_PARAMETERS: tl.constexpr,
    IMAGE_GROUPS: tl.constexpr,
    IMAGE_TERMS: tl.constexpr,
    TEMPERATURES: tl.constexpr,
    WRITES: tl.constexpr,
    CLASSES: tl.constexpr,
    PLACES: tl.constexpr,
    K: tl.constexpr,
    BLOCK: tl.constexpr,
    AXES: tl.constexpr,
    SIGMOID: tl.constexpr,
    SHARES: tl.constexpr,
    HAS_MASK: tl.constexpr,
    HAS_IGNORE: tl.constexpr,
    UNLABELLED: tl.constexpr,
    EVEN: tl.constexpr,
    WIDE: tl.constexpr,
    LABEL: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """``coefficients`` are planes of ∂term/∂field, (planes, images · most, channels, regions).

    Each plane has its field's KIND and PARAMETER, its TERM, and its GROUP: which of TEMPERATURES, each τ once, its
    gradient comes from, −1 for none. ``image_coefficients`` are the same for the sums of images, and behind them
    ∂L/∂term; ``upstream`` is a factor on all. With w the coefficients of a pixel's image and cells, a size adds
    τ s_j (w_j − Σ_l w_l s_l), an overlap the same where the target has the class, and a focal sum p_j Σ_l q_l − q_j.
    CLASSES[i] is the class of map i, PLACES[k] the number of the cells of class (sigmoid: region) k among those that
    are read, −1 for none. WRITES: the gradient is written; else added to what is there.
    """
    program = tl.program_id(0)
    row = program // programs
    part = program % programs
    image = row // channels if SIGMOID else row
    z_start = row_start(logits, row, z_image, z_channel, channels, SIGMOID)
    y_start = row_start(target, row, y_image, y_channel, channels, SIGMOID)
    m_start = row_start(mask, row, m_image, m_channel, channels, SIGMOID)
    c_start = row_start(maps, row, c_image, c_channel, channels, SIGMOID)
    g_start = row_start(gradient, row, g_image, g_channel, channels, SIGMOID)
    REGIONS: tl.constexpr = 2 if SIGMOID else 1
    own = coefficients + (image.to(tl.int64) * most - 1) * channels * REGIONS
    per_class = tl.full([], g_channel, tl.int64)
    plane = tl.full([], per_plane, tl.int64)

    factor = tl.load(upstream).to(DTYPE)
    image_plane = rows * K
    behind = image_coefficients + len(IMAGE_KINDS) * image_plane
    of_term = ()
    for i in tl.static_range(len(KINDS)):
        of_term = of_term + (tl.load(behind + TERMS[i]).to(DTYPE) * factor,)
    of_image = ()
    for i in tl.static_range(len(IMAGE_KINDS)):
        one = tl.load(behind + IMAGE_TERMS[i]).to(DTYPE) * factor
        for k in tl.static_range(K):
            of_image = of_image + (one * tl.load(image_coefficients + i * image_plane + row * K + k).to(DTYPE),)

    first = part.to(tl.int64) if WIDE else part
    for tile in range(first, tl.cdiv(pixels, BLOCK), programs):
        pixel = tile * BLOCK + tl.arange(0, BLOCK)[None, :]
        inside = tl.full([1, BLOCK], 1, tl.int1) if EVEN else pixel < pixels
        z_offsets = pixel_offsets(pixel, width, height, z_outer, z_middle, z_inner, AXES)
        y_offsets = pixel_offsets(pixel, width, height, y_outer, y_middle, y_inner, AXES)
        c_offsets = pixel_offsets(pixel, width, height, c_outer, c_middle, c_inner, AXES)
        logit = load_classes(z_start, z_channel, z_offsets, inside, 0.0, K, 1, SIGMOID, DTYPE)
        valid = inside
        if HAS_MASK:
            m_offsets = pixel_offsets(pixel, width, height, m_outer, m_middle, m_inner, AXES)
            valid = inside & (tl.load(m_start + m_offsets, mask=inside, other=0) != 0)
        if SHARES:
            share = load_classes(y_start, y_channel, y_offsets, inside, 0.0, K, 1, SIGMOID, DTYPE)
            if SIGMOID:
                share = (1.0 - share[1], share[1])
            label = tl.zeros([1, BLOCK], tl.int32)
        else:
            share = ()
            label = tl.load(y_start + y_offsets, mask=inside, other=0).to(LABEL)
            if HAS_IGNORE:
                valid = valid & (label != ignore)
            label = tl.where((label >= 0) & (label < K), label, -1).to(tl.int32)
        shifted = subtract_maximum(logit, valid, 1, HAS_MASK or HAS_IGNORE)

        places = ()
        counted = ()
        for i in tl.static_range(len(CLASSES)):
            own_map = c_start + i * tl.full([], c_channel, tl.int64)
            number = tl.load(own_map + c_offsets, mask=inside, other=0).to(tl.int32)
            counts = valid & (number > 0) & (number <= most)
            column = row % channels if SIGMOID else CLASSES[i]
            for r in tl.static_range(REGIONS):
                places = places + ((number * channels + column) * REGIONS + r,)
                counted = counted + (counts,)

        values = ()
        for t in tl.static_range(len(TEMPERATURES)):
            e, total = exponentials(shifted, TEMPERATURES[t], 1)
            weights = ()
            pulls = ()
            for k in tl.static_range(K):
                weight = tl.zeros([1, BLOCK], DTYPE)
                pull = tl.zeros([1, BLOCK], DTYPE)
                for i in tl.static_range(len(IMAGE_KINDS)):
                    if IMAGE_GROUPS[i] == t:
                        weight, pull = add_coefficient(
                            weight,
                            pull,
                            of_image[i * K + k],
                            shifted,
                            e,
                            total,
                            share,
                            label,
                            k,
                            IMAGE_KINDS[i],
                            IMAGE_PARAMETERS[i],
                            SHARES,
                            DTYPE,
                        )
                if PLACES[k] >= 0:
                    for i in tl.static_range(len(KINDS)):
                        if GROUPS[i] == t:
                            # as tl.load, each thread's pixels would go through shared memory for it and back
                            found = read(own + i * plane + places[PLACES[k]], counted[PLACES[k]], False)
                            weight, pull = add_coefficient(
                                weight,
                                pull,
                                found.to(DTYPE) * of_term[i],
                                shifted,
                                e,
                                total,
                                share,
                                label,
                                k,
                                KINDS[i],
                                PARAMETERS[i],
                                SHARES,
                                DTYPE,
                            )
                weights = weights + (weight,)
                pulls = pulls + (pull,)
            mean = tl.zeros([1, BLOCK], DTYPE)
            pulled = tl.zeros([1, BLOCK], DTYPE)
            for k in tl.static_range(K):
                mean += weights[k] * e[k]
                pulled += pulls[k]
            inverse = inverse_of(total)
            mean *= inverse
            added = ()
            for k in tl.static_range(K):
                p = e[k] * inverse
                value = TEMPERATURES[t] * (p * (weights[k] - mean)) + p * pulled - pulls[k]
                if t > 0:
                    value += values[k]
                added = added + (value,)
            values = added

        g_offsets = pixel_offsets(pixel, width, height, g_outer, g_middle, g_inner, AXES)
        for k in tl.static_range(K):
            if not SIGMOID or k == 1:
                place = g_start + g_offsets
                if not SIGMOID:
                    place += k * per_class
                if WRITES:
                    value = tl.where(valid, values[k], 0.0)
                    tl.store(place, value.to(gradient.dtype.element_ty), mask=inside)
                else:
                    before = tl.load(place, mask=valid, other=0.0).to(DTYPE)
                    tl.store(place, (before + values[k]).to(gradient.dtype.element_ty), mask=valid)
