"""Formulas as kernels beside plain torch in float64; random criteria, and sums as a pass over labels would give them."""

import random

import torch

import sizewise as sw
from sizewise import terms
from sizewise.criterion.fused.kernel import FormulaKernel
from sizewise.criterion.plain_step import evaluate
from sizewise.stats.fields import Kind

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
TERMS = [getattr(sw, name) for name in terms.__all__]


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
    for field in criterion.snapshot().fields:
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


def kernel_of(criterion, sums, truth=None) -> FormulaKernel:
    """The kernel of a criterion for such sums."""
    fields, one_image = criterion.snapshot().fields, sums.shape[1] == 1
    return FormulaKernel(criterion, fields, sums, one_image=one_image, has_truth=truth is not None)


def run(kernel: FormulaKernel, sums, truth=None, scale=1.0):
    """(∂L/∂term, L, values, ∂term/∂sums as one plane for each field)."""
    factor = torch.full((1,), scale, dtype=torch.float64, device=sums.device)
    total, kept, _ = kernel(sums, truth, factor, kernel.launch(sums.shape[1]))
    planes, factors, values = kernel.parts(kept, sums.shape[1:])
    rows = torch.zeros(kernel.terms, *sums.shape, dtype=sums.dtype, device=sums.device)
    for plane, (term, field) in zip(planes, kernel.planes, strict=True):
        rows[term, field] = plane
    return factors, total, values, rows


def exact(criterion, sums, truth=None):
    """The same from plain torch in float64."""
    wide = None if truth is None else truth.double()
    total, values, kept = evaluate(criterion, criterion.snapshot().fields, sums.double(), wide, [], True)
    return kept.factors, total, torch.stack(values), kept.sums


def agree(criterion, sums, kernel=None, truth=None, scale=1.0, rtol=1e-6, atol=1e-9):
    """Assert that a criterion's kernel gives what its torch code gives."""
    found = run(kernel or kernel_of(criterion, sums, truth), sums, truth, scale)
    wanted = exact(criterion, sums, truth)
    for name, one, other in zip(("factors", "total", "values", "coefficients"), found, wanted, strict=True):
        wanted_here = other if name == "factors" else scale * other
        size = max(1.0, float(wanted_here.abs().max()))
        torch.testing.assert_close(
            one.double(), wanted_here, rtol=rtol, atol=atol * size, msg=lambda m, n=name: f"{n}: {m}"
        )
