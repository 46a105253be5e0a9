"""Random sums of terms with random options as kernels, in the interpreter, against plain torch in float64."""

import random
from contextlib import suppress

import pytest
from formula_cases import agree, drawn_criterion, drawn_sums
from kernel_device import DEVICE
from sampling import sample

from sizewise.criterion.fused.axes import Unsupported

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, in the interpreter


def drawn(seed):
    """A criterion on the device, and its sums in float64."""
    draw = random.Random(seed)
    sigmoid = draw.random() < 0.5
    classes = draw.choice((1, 2, 3, draw.randint(4, 12))) if sigmoid else draw.choice((2, 3, draw.randint(4, 12)))
    criterion = drawn_criterion(draw, classes, sigmoid)
    return criterion.to(DEVICE), drawn_sums(draw, criterion, draw.randint(1, 9), classes).to(DEVICE)


@pytest.mark.parametrize("seed", sample(range(1000), 30, seed=5))
def test_a_random_criterion_as_a_kernel(seed):
    criterion, sums = drawn(seed)
    if sums.shape[2:] == (2, 2):
        # (2,) may stand for two sigmoid channels or for the two regions of one: once the formula has fixed the number
        # of channels, nothing tells them apart, and such a formula is left to torch
        with suppress(Unsupported):
            agree(criterion, sums.float())
    else:
        agree(criterion, sums.float())
