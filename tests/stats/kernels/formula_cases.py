"""Random criteria with random options, and sums as a pass over random labels would give them."""

import random

import torch

import sizewise as sw
from sizewise.stats.fields import Kind
from sizewise.stats.prepared import Prepared

NUMBERS = {
    "gamma": (0.0, 0.5, 2.0),
    "smooth": (1e-5, 1.0, 3.0),
    "alpha": (0.0, 0.3),
    "beta": (0.5, 1.0),
    "temperature": (1.0, 10.0),
    "t": (1.0, 5.0),
    "scope": ("image", "batch"),
    "absent": ("include", "skip"),
    "class_reduction": ("sum", "mean"),
    "pixels": ("valid", "all"),
}
TERMS = (
    sw.CrossEntropy,
    sw.BalancedCrossEntropy,
    sw.Focal,
    sw.Dice,
    sw.LogDice,
    sw.Tversky,
    sw.Jaccard,
    sw.GeneralizedDice,
    sw.DiceBias,
    sw.SizeL1,
    sw.SizeKL,
    sw.SizeBounds,
    sw.SizeBarrier,
)


def drawn_criterion(draw: random.Random, classes: int, sigmoid: bool) -> sw.Loss:
    """A weighted sum of one to four terms."""
    criterion = sum(
        draw.choice((0.0, 0.1, 1.0, 2.0)) * drawn_term(draw, classes, sigmoid) for _ in range(draw.randint(1, 4))
    )
    return sw.Loss(criterion, activation="sigmoid" if sigmoid else "softmax")


def drawn_term(draw: random.Random, classes: int, sigmoid: bool):
    """One term, each of its options left alone or drawn."""
    kind = draw.choice(TERMS)
    options = {name: draw.choice(NUMBERS[name]) for name in kind.option_names() if name in NUMBERS}
    chosen = tuple(draw.sample(range(classes), draw.randint(1, classes)))
    options["classes"] = draw.choice(("all", "foreground", chosen, chosen))
    if draw.random() < 0.4:
        shape = draw.choice(((2,), (classes, 2))) if sigmoid else (classes,)
        options["class_weight"] = 0.1 + 3 * numbers(draw, *shape)
    shares = 0.05 + 0.9 * numbers(draw, classes)
    if kind in (sw.SizeL1, sw.SizeKL):
        if draw.random() < 0.5:
            return kind(target=shares if sigmoid else shares / shares.sum(), **options)
        return kind(**options | {"pixels": "valid"})
    if kind in (sw.SizeBounds, sw.SizeBarrier):
        return kind(*draw.choice(((0.1, 0.4), (0.5 * shares, 0.6), (0.2, 0.3 + 0.7 * shares))), **options)
    return kind(**options)


def numbers(draw: random.Random, *shape: int) -> torch.Tensor:
    """Uniform numbers in [0, 1)."""
    random_numbers = torch.Generator().manual_seed(draw.randrange(1 << 30))
    return torch.rand(shape, generator=random_numbers, dtype=torch.float64)


def drawn_sums(draw: random.Random, criterion: sw.Loss, images: int, classes: int) -> torch.Tensor:
    """Sums that could be: three in ten regions are absent, and one in seven images is empty."""
    shape = (images, classes, 2) if criterion.activation == "sigmoid" else (images, classes)
    count = numbers(draw, *shape) * (numbers(draw, *shape) < 0.7)
    count = (count / count.sum(-1, keepdim=True).clamp(min=1e-9) * draw.randint(1, 60)).round()
    count[numbers(draw, images) < 1 / 7] = 0
    pixels = count.sum(-1, keepdim=True).expand(shape)
    kept = pixels + draw.randint(0, 3)
    sums = []
    for field in Prepared(criterion).fields:
        shares = 0.01 + numbers(draw, *shape)
        sums.append(
            {
                Kind.COUNT: count,
                Kind.PIXELS: pixels,
                Kind.KEPT_PIXELS: kept,
                Kind.FOCAL: 3 * count * shares,
                Kind.OVERLAP: count * shares.clamp(max=1),
                Kind.SIZE: pixels * shares / shares.sum(-1, keepdim=True),
                Kind.KEPT_SIZE: kept * shares / shares.sum(-1, keepdim=True),
            }[field.kind]
        )
    return torch.stack(sums)
