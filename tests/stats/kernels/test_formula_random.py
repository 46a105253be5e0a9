"""Random sums of terms with random options as kernels, in the interpreter, against plain torch in float64."""

import random

import pytest
import torch
from formula_cases import drawn_criterion, drawn_sums
from kernel_device import DEVICE
from sampling import sample

from sizewise.stats.formula import kernel as formula_kernel
from sizewise.stats.formula.kernel import FormulaKernel
from sizewise.stats.formula.record import value_and_coefficients
from sizewise.stats.formula.values import Unsupported
from sizewise.stats.prepared import Prepared

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, in the interpreter


def drawn(seed):
    """A criterion on the device, and its sums in float64."""
    draw = random.Random(seed)
    sigmoid = draw.random() < 0.5
    classes = draw.choice((1, 2, 3, draw.randint(4, 12))) if sigmoid else draw.choice((2, 3, draw.randint(4, 12)))
    criterion = drawn_criterion(draw, classes, sigmoid)
    return criterion.to(DEVICE), drawn_sums(draw, criterion, draw.randint(1, 9), classes).to(DEVICE)


def kernel_or_none(criterion, sums):
    """The kernel; two sigmoid channels with known proportions are left to torch, as (2,) may also be two regions."""
    sigmoid = sums.dim() == 4
    try:
        return FormulaKernel(criterion.from_stats, Prepared(criterion).fields, sums.shape[2], sigmoid, sums)
    except Unsupported as error:
        if sigmoid and sums.shape[2] == 2 and str(error) in ("axes k and r meet", "axes r and k meet"):
            return None
        raise


@pytest.mark.parametrize("seed", sample(range(1000), 50, seed=5))
def test_a_random_criterion_as_a_kernel(seed, monkeypatch):
    criterion, exact_sums = drawn(seed)
    sums = exact_sums.float()
    kernel = kernel_or_none(criterion, sums)
    if kernel is None:
        return
    value, coefficients = torch.empty((), device=DEVICE), torch.full_like(sums, float("nan"))
    kernel.launch(sums.shape[1])(sums, value, coefficients, *kernel.inputs)
    exact = value_and_coefficients(criterion.from_stats, Prepared(criterion).fields, sums.double())
    torch.testing.assert_close(value.double(), exact[0], rtol=1e-6, atol=1e-9)
    scale = max(1.0, float(exact[1].abs().max()))
    torch.testing.assert_close(coefficients.double(), exact[1], rtol=1e-6, atol=1e-9 * scale)
    # What was written must not depend on the number of images in the recording.
    monkeypatch.setattr(formula_kernel, "images_unlike", lambda classes: classes + 15)
    assert kernel_or_none(criterion, sums).kernel is kernel.kernel
