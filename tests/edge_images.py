"""Small images for every loss, precision and reading of the logits."""

import pytest
import torch
from cases import seed_of
from sampling import sample

import sizewise as sw

DTYPES = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}
# Two classes, a few, and more than eight run on different code; so do sigmoid channels.
READINGS = {"softmax": (2, 3, 9), "sigmoid": (1, 3)}
EVERY_READING = [(activation, channels) for activation, counts in READINGS.items() for channels in counts]
IGNORED = 200

every_loss = pytest.mark.parametrize("name", sw.loss_names())
every_dtype = pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
every_reading = pytest.mark.parametrize(("activation", "channels"), EVERY_READING)


def some_readings(name, dtype):
    """A few readings for each loss and precision; together they are all of them."""
    return sample(EVERY_READING, 3, seed_of(name, str(dtype)))


def images(activation, channels, dtype, count=2, spatial=(4, 6)):
    """Logits that ask for a gradient, and labels."""
    draw = torch.Generator().manual_seed(channels)
    logits = torch.randn(count, channels, *spatial, generator=draw, dtype=torch.float64).to(dtype)
    shape = (count, *spatial) if activation == "softmax" else (count, channels, *spatial)
    regions = channels if activation == "softmax" else 2
    return logits.requires_grad_(), torch.randint(0, regions, shape, generator=draw)


def criterion(name, activation, ignore_index=IGNORED):
    return sw.loss(name, activation=activation, ignore_index=ignore_index)


def run(loss, logits, target, mask=None):
    """The value, and the gradient to the logits, which are left as they were."""
    logits = logits.detach().requires_grad_()
    value = loss(logits, target, mask)
    value.backward()
    return value.detach(), logits.grad
