"""Decisions as kernels, in Triton's interpreter without a GPU: the same labels as the streaming passes."""

import pytest
import torch
from kernel_cases import laid_out
from kernel_device import DEVICE
from sampling import sample

import sizewise as sw
from sizewise.decisions import decide as module

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, in the interpreter


@pytest.fixture
def kernels(monkeypatch):
    """Labels by kernels, also without a GPU, and by plain torch."""

    def both(values, **options):
        options = {name: one.to(DEVICE) if isinstance(one, torch.Tensor) else one for name, one in options.items()}
        with monkeypatch.context() as patch:
            patch.setattr(module, "takes_kernels", lambda values: False)
            wanted = sw.decide(values.to(DEVICE), **options)
            patch.setattr(module, "takes_kernels", lambda values: True)
            return sw.decide(values.to(DEVICE), **options), wanted

    return both


CASES = [
    (classes, size, metric, background, scope, prune)
    for classes, size in (
        (2, (6, 7)),
        (3, (5, 9)),
        (5, (3, 4, 3)),
        (19, (4, 5)),
        (32, (3, 5)),
        (40, (3, 3)),
        (4, (11,)),
    )
    for metric in ("dice", "iou", "size", "argmax")
    for background in (0, 1, None)
    for scope in ("image", "batch")
    for prune in (0.5, 0.0)
]


@pytest.mark.parametrize("case", sample(CASES, 36, seed=2), ids=str)
def test_every_kind_of_decision(case, kernels):
    classes, size, metric, background, scope, prune = case
    logits = 2 * torch.randn(2, classes, *size, generator=torch.Generator().manual_seed(classes))
    found, wanted = kernels(logits, metric=metric, background=background, scope=scope, prune=prune)
    assert torch.equal(found, wanted)


@pytest.mark.parametrize("metric", ["dice", "size", "argmax"])
def test_every_kind_of_input(metric, kernels):
    draw = torch.Generator().manual_seed(1)
    logits = 2 * torch.randn(2, 3, 6, 7, generator=draw)
    mask = torch.rand(2, 6, 7, generator=draw) < 0.7
    spoiled = logits.masked_fill(~mask[:, None], float("nan"))
    for values, options in (
        (logits, {"activation": "sigmoid"}),
        (spoiled, {"mask": mask, "temperature": 1.7}),
        (spoiled, {"mask": mask, "activation": "sigmoid", "scope": "batch"}),
        (logits.softmax(1), {"given": "probabilities"}),
        (logits.softmax(1), {"given": "probabilities", "temperature": 0.6}),
        (logits.sigmoid(), {"given": "probabilities", "activation": "sigmoid"}),
        (logits.double(), {}),
        (logits.half(), {}),
        (laid_out(logits, "channels_last"), {}),
        (laid_out(logits, "crop"), {"mask": mask}),
    ):
        found, wanted = kernels(values, metric=metric, **({"mask": None} | options))
        assert found.dtype == wanted.dtype
        assert torch.equal(found, wanted), options


@pytest.mark.parametrize(
    ("small", "size", "classes"),
    sample([((3, 4), (12, 16), 3), ((2, 3), (5, 7), 40), ((2, 2, 2), (3, 4, 5), 4), ((4,), (9,), 2)], 3),
)
@pytest.mark.parametrize("metric", sample(["dice", "size", "argmax"], 2))
def test_logits_smaller_than_the_labels(small, size, classes, metric, kernels):
    logits = 2 * torch.randn(2, classes, *small, generator=torch.Generator().manual_seed(classes), dtype=torch.float64)
    mask = torch.rand(2, *size, generator=torch.Generator().manual_seed(1)) < 0.8
    for options in ({"upsample": "linear"}, {"upsample": "linear-corners", "mask": mask, "activation": "sigmoid"}):
        if "activation" in options and classes == 40:
            continue
        found, wanted = kernels(logits, metric=metric, size=size, **options)
        assert found.shape[-len(size) :] == size
        assert torch.equal(found, wanted), options


def test_ties_and_a_single_pixel(kernels):
    for values in (torch.zeros(1, 4, 2, 3), torch.zeros(2, 3, 1), torch.full((1, 40, 2, 2), 3.0)):
        for background in (0, 2, None):
            for metric in ("dice", "argmax"):
                found, wanted = kernels(values, metric=metric, background=background, prune=0.0)
                assert torch.equal(found, wanted)


def test_a_fitted_rule_is_written_by_the_kernel(monkeypatch):
    from sizewise.decisions import decide as read

    logits = 2 * torch.randn(3, 4, 5, 6, generator=torch.Generator().manual_seed(3))
    decision = sw.fit_decision([(logits, logits.argmax(1))], scope="batch").to(DEVICE)
    monkeypatch.setattr(read, "takes_kernels", lambda values: False)
    wanted = decision(logits.to(DEVICE))
    monkeypatch.setattr(read, "takes_kernels", lambda values: True)
    assert torch.equal(decision(logits.to(DEVICE)), wanted)
    again = sw.fit_decision([(logits.to(DEVICE), logits.argmax(1).to(DEVICE))], scope="batch")
    torch.testing.assert_close(again.threshold.cpu(), decision.threshold.cpu(), rtol=1e-5, atol=1e-7)
