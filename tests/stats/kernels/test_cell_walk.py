"""How the sums per cell share the pixels: every pixel once, few idle lanes, and sums that fit their integers."""

import pytest
import torch

pytest.importorskip("triton", minversion="3.4", reason="the kernels are written in Triton, 3.4 or later")

from sizewise.stats.kernels.cell_walk import fits_product, sums_shape, walk_of


@pytest.mark.parametrize(
    "size", [(512, 512), (61, 67), (5, 130), (128, 128, 128), (40, 36, 30), (600,), (1, 1), (7, 3)]
)
def test_every_pixel_is_met_once(size):
    shape = sums_shape(4, 1)
    pixels = torch.Size(size).numel()
    walk = walk_of(torch.empty(2, 2, *size, device="meta"), pixels, 2, shape, 132)
    part = torch.arange(walk.programs)[:, None, None]
    line = (part // walk.strips) * walk.steps + torch.arange(walk.steps)[None, :, None]
    across = (part % walk.strips) * shape.block + torch.arange(shape.block)
    pixel = line * walk.period + across
    inside = (line < -(-pixels // walk.period)) & (across < walk.period) & (pixel < pixels)
    assert torch.equal(pixel[inside].sort().values, torch.arange(pixels))
    assert walk.even == bool(inside[line.expand_as(inside) < -(-pixels // walk.period)].all())
    assert walk.steps * shape.vector << walk.bits <= 1 << 30
    if pixels > 1000:
        assert pixels / (walk.programs * walk.steps * shape.block) > 0.7


def test_a_step_goes_to_the_row_below():
    assert walk_of(torch.empty(8, 2, 512, 512, device="meta"), 512**2, 8, sums_shape(4, 1), 132)[:4] == (512, 4, 8, 256)
    last = torch.empty(1, 128, 96, 3, device="meta").movedim(3, 1)
    assert walk_of(last, 96 * 128, 1, sums_shape(4, 2), 132).period % 96 == 0


def test_many_maps_leave_each_thread_fewer_pixels():
    assert [sums_shape(4, maps).vector for maps in (1, 2, 4, 8, 18)] == [4, 2, 1, 1, 1]


def test_products_end_below_the_largest_float():
    assert fits_product(15, 4, 4)
    assert not fits_product(16, 4, 4)
    assert fits_product(7, 4, 19)
    assert not fits_product(8, 4, 19)
