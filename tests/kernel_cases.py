"""Inputs of every form, and how a kernel is judged on them: by its error against float64, with the plain float32
formula's own error as the yardstick. Runs in Triton's interpreter and on a GPU."""

from typing import NamedTuple

import torch

from sizewise.stats import reference
from sizewise.stats.fields import Kind

EVERY_FIELD = (
    (Kind.COUNT, 0.0),
    (Kind.PIXELS, 0.0),
    (Kind.FOCAL, 0.0),
    (Kind.FOCAL, 2.0),
    (Kind.FOCAL, 0.5),
    (Kind.OVERLAP, 0.0),
    (Kind.SIZE, 1.0),
    (Kind.SIZE, 10.0),
    (Kind.SIZE, 2.5),
    (Kind.KEPT_PIXELS, 0.0),
    (Kind.KEPT_SIZE, 10.0),
    (Kind.KEPT_SIZE, 3.0),
)
RCE = ((Kind.COUNT, 0.0), (Kind.PIXELS, 0.0), (Kind.FOCAL, 0.0), (Kind.SIZE, 10.0))
DICE = ((Kind.COUNT, 0.0), (Kind.PIXELS, 0.0), (Kind.OVERLAP, 0.0), (Kind.SIZE, 1.0))
SIZES_ALONE = ((Kind.SIZE, 10.0), (Kind.KEPT_SIZE, 10.0), (Kind.COUNT, 0.0))
COUNTS_ALONE = ((Kind.PIXELS, 0.0), (Kind.COUNT, 0.0), (Kind.KEPT_PIXELS, 0.0))
FIELD_SETS = {"every": EVERY_FIELD, "rce": RCE, "dice": DICE, "sizes": SIZES_ALONE, "counts": COUNTS_ALONE}

LABEL_DTYPES = ("uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
LAYOUTS = ("contiguous", "channels_last", "crop", "transposed", "shifted", "expanded")


class Case(NamedTuple):
    """One input: ``target`` is a label dtype, "bool", or "shares" with a float dtype after a blank."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    target: str = "int64"
    sigmoid: bool = False
    mask: bool = False
    ignore_index: int | None = None
    layout: str = "contiguous"
    fields: str = "every"
    scale: float = 3.0
    small: tuple[int, ...] | None = None
    upsample: str | None = None


def laid_out(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    """The same values in other memory: the kernels walk over strides."""
    if layout == "channels_last":
        return tensor.movedim(1, -1).contiguous().movedim(-1, 1)
    if layout == "crop":
        larger = torch.zeros([size + 3 for size in tensor.shape], dtype=tensor.dtype, device=tensor.device)
        view = larger[tuple(slice(1, size + 1) for size in tensor.shape)]
        return view.copy_(tensor)
    if layout == "transposed":
        return tensor.transpose(-1, -2).contiguous().transpose(-1, -2) if tensor.dim() > 3 else tensor
    if layout == "shifted":  # pointers that are not aligned to 16 bytes
        flat = torch.zeros(tensor.numel() + 1, dtype=tensor.dtype, device=tensor.device)
        return flat[1:].view(tensor.shape).copy_(tensor)
    if layout == "expanded":
        return tensor[:1].expand_as(tensor)
    return tensor


def build(case: Case, device: str = "cpu", seed: int = 0) -> tuple:
    """(logits, target, mask, ignore_index, sigmoid, kinds, parameters, upsample)."""
    random = torch.Generator().manual_seed(seed)
    images, channels, *spatial = case.shape
    shape = (images, channels, *(case.small or spatial))
    logits = (torch.randn(shape, generator=random) * case.scale).to(getattr(torch, case.dtype))
    if case.target.startswith("shares"):
        dtype = getattr(torch, case.target.split()[1])
        target = torch.rand(case.shape, generator=random)
        if not case.sigmoid:
            target = torch.softmax(3 * torch.randn(case.shape, generator=random), 1)
            hard = torch.rand(images, 1, *spatial, generator=random) < 0.3
            target = torch.where(hard, (target == target.amax(1, keepdim=True)).float(), target)
            if dtype in (torch.bfloat16, torch.float16):  # shares that stay exact, and so sum to one
                order = target.argsort(1).argsort(1)
                target = 0.75 * (order == channels - 1) + 0.25 * (order == max(channels - 2, 0))
                target = target / target.sum(1, keepdim=True)
        target = target.to(dtype)
    else:
        regions = 2 if case.sigmoid else channels
        groups = channels if case.sigmoid else 1
        labels = torch.randint(0, regions, (images, groups, *spatial), generator=random)
        if case.ignore_index is not None:
            ignored = torch.rand(labels.shape, generator=random) < 0.2
            labels = labels.masked_fill(ignored, case.ignore_index)
        target = to_dtype(labels, getattr(torch, case.target))
    mask = None
    if case.mask:
        groups = channels if case.sigmoid and seed % 2 else 1
        mask = torch.rand(images, groups, *spatial, generator=random) < 0.7
        dropped = ~touched(mask, shape, case.upsample)
        logits = logits.masked_fill(dropped & (torch.rand(shape, generator=random) < 0.5), float("nan"))
    moved = [laid_out(one.to(device), case.layout) for one in (logits, target)]
    fields = FIELD_SETS[case.fields]
    mask = None if mask is None else laid_out(mask.to(device), case.layout)
    if case.layout == "expanded":  # what was drawn for later images is gone, the mask's NaNs with it
        mask = None if mask is None else mask & torch.isfinite(moved[0]).all(1, keepdim=True)
    kinds, parameters = [int(k) for k, _ in fields], [p for _, p in fields]
    return (*moved, mask, case.ignore_index, case.sigmoid, kinds, parameters, case.upsample)


def touched(mask: torch.Tensor, shape: tuple[int, ...], upsample: str | None) -> torch.Tensor:
    """Which logits a kept pixel touches."""
    if upsample is None:
        return mask.expand(shape)
    cells = torch.ones(shape, dtype=torch.float64, requires_grad=True)
    enlarged(cells, mask.shape[2:], upsample).mul(mask).sum().backward()
    return cells.grad > 0


def enlarged(logits: torch.Tensor, size, upsample: str) -> torch.Tensor:
    """What torch makes of small logits."""
    mode = {1: "linear", 2: "bilinear", 3: "trilinear"}[logits.dim() - 2]
    return torch.nn.functional.interpolate(logits, tuple(size), mode=mode, align_corners=upsample == "linear-corners")


def to_dtype(labels: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Torch converts the wider unsigned dtypes on the CPU by way of the signed ones of the same width."""
    signed = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
    return labels.to(signed[dtype]).view(dtype) if dtype in signed else labels.to(dtype)


def norm_error(result: torch.Tensor, exact: torch.Tensor) -> float:
    """‖result − exact‖ / ‖exact‖; infinite where one is NaN and the other is not."""
    exact, result = exact.double(), result.double()
    if not torch.equal(torch.isnan(result), torch.isnan(exact)):
        return float("inf")
    exact, result = exact.nan_to_num(), result.nan_to_num()
    return float((result - exact).norm() / exact.norm().clamp(min=1e-30))


def plain_sums(logits, target, mask, ignore_index, sigmoid, kinds, parameters, upsample, dtype):
    """The sums as anybody would write them: softmax and one-hot in torch, differentiated by autograd."""
    z = logits.to(dtype)
    if upsample is not None:
        z = enlarged(z.nan_to_num(), target.shape[2:], upsample)
    z = z.flatten(2)
    kept = torch.ones_like(z[:, :1], dtype=torch.bool) if mask is None else mask.flatten(2)
    y = target.flatten(2)
    if sigmoid:
        kept = kept.expand_as(z).flatten(0, 1).unsqueeze(1)
        z, y = z.flatten(0, 1).unsqueeze(1), y.flatten(0, 1).unsqueeze(1)
        z = torch.cat((torch.zeros_like(z), z), 1)
    valid = kept
    if y.dtype.is_floating_point:
        y = y.to(dtype)
        y = torch.cat((1 - y, y), 1) if sigmoid else y
    else:
        y = y.long()
        if ignore_index is not None:
            valid = kept & (y != ignore_index)
        y = (y == torch.arange(z.shape[1], device=z.device).view(1, -1, 1)).to(dtype)
    entering = kept if Kind.KEPT_SIZE in kinds else valid
    y = y.where(valid, 0)
    z = z.where(entering, 0)
    p, log_p = z.softmax(1), z.log_softmax(1)
    sums = []
    for kind, parameter in zip(kinds, parameters, strict=True):
        inside = kept if kind in (Kind.KEPT_SIZE, Kind.KEPT_PIXELS) else valid
        if kind in (Kind.SIZE, Kind.KEPT_SIZE):
            value = (parameter * z).softmax(1).where(inside, 0)
        elif kind == Kind.FOCAL:
            value = (-log_p if parameter == 0 else -((1 - p) ** parameter) * log_p).where(y > 0, 0) * y
        else:
            value = y if kind == Kind.COUNT else p.minimum(y) if kind == Kind.OVERLAP else inside.expand_as(z).to(dtype)
        sums.append(value.sum(-1))
    shape = (len(kinds), *logits.shape[:2], 2) if sigmoid else (len(kinds), *logits.shape[:2])
    return torch.stack(sums).view(shape)


def judge(case: Case, passes, device: str = "cpu", seed: int = 0, margin: float = 2.0) -> tuple[float, float]:
    """Assert that sums and gradient are as good as the plain formula's; return their relative errors."""
    arguments = build(case, device, seed)
    logits, target, *rest = arguments
    wide = (logits.double(), target.double() if target.dtype.is_floating_point else target, *rest)
    epsilon = 2.0**-22 if case.dtype != "float64" else 1e-13
    wide = tuple(one.cpu() if isinstance(one, torch.Tensor) else one for one in wide)  # where its checks cost least
    exact = reference.region_sums(*wide).to(device)
    leaf = logits.detach().clone().requires_grad_()
    plain = plain_sums(leaf, target, *rest, exact.dtype if case.dtype == "float64" else torch.float32)
    summed = plain.detach()
    sums = passes.region_sums(*arguments)
    assert sums.shape == plain.shape
    assert sums.dtype == plain.dtype
    worst = 0.0
    for place, (kind, parameter) in enumerate(FIELD_SETS[case.fields]):
        error, yardstick = norm_error(sums[place], exact[place]), norm_error(summed[place], exact[place])
        assert error <= margin * yardstick + epsilon, (case, "sums", kind, parameter, error, yardstick)
        worst = max(worst, error)

    random = torch.Generator().manual_seed(seed + 1)
    coefficients = torch.randn(exact.shape, generator=random, dtype=torch.float64).to(device)
    exact = reference.region_gradient(coefficients.cpu(), *wide).to(device)
    gradient = passes.region_gradient(coefficients.to(sums.dtype), *arguments)
    assert gradient.dtype == logits.dtype
    assert gradient.stride() == torch.empty_like(logits).stride()
    yardstick = 0.0
    if plain.requires_grad:
        plain.backward(coefficients.to(plain.dtype))
        # 0 · inf at a γ below 1 and p = 1 is autograd's own trouble
        yardstick = norm_error(leaf.grad.nan_to_num(), exact)
    error = norm_error(gradient, exact)
    if case.dtype == "bfloat16" and device == "cpu":
        epsilon = 2.0**-8  # the interpreter cuts bfloat16 off where the hardware rounds
    assert error <= margin * yardstick + epsilon, (case, "gradient", error, yardstick)
    return worst, error
