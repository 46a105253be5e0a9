"""NSD and HD95 are those of DeepMind's surface-distance, to the last bit, and by hand where that is short."""

import numpy as np
import pytest
import surface_distance
from scipy.ndimage import gaussian_filter

from sizewise.metrics import surface
from sizewise.metrics.surface import hd95, nsd, surface_distances

pytestmark = pytest.mark.filterwarnings("ignore:Please import:DeprecationWarning")  # surface-distance calls old scipy

SPACINGS = [(1.0, 1.0, 1.0), (0.7, 0.7, 0.7), (0.3, 1.1, 2.5), (5.0, 0.8, 0.8)]
TOLERANCES = (0.0, 0.5, 0.7, 1.0, 1.4, 3.0)


def assert_same(predicted, target, spacing):
    theirs = surface_distance.compute_surface_distances(target, predicted, spacing)
    ours = surface_distances(predicted, target, spacing=spacing)
    for tolerance in TOLERANCES:
        assert nsd(ours, tolerance_mm=tolerance) == surface_distance.compute_surface_dice_at_tolerance(
            theirs, tolerance
        )
    assert hd95(ours) == surface_distance.compute_robust_hausdorff(theirs, 95)


def blobs(shape, seed):
    """A smooth random region and a disturbed copy of it; both usually touch the border."""
    rng = np.random.default_rng(seed)
    field = gaussian_filter(rng.standard_normal(shape), 4)
    other = field + 0.4 * gaussian_filter(rng.standard_normal(shape), 4)
    return field > field.mean(), other > other.mean() + 0.2 * other.std()


@pytest.mark.parametrize("spacing", SPACINGS)
@pytest.mark.parametrize("seed", range(3))
def test_smooth_regions(spacing, seed):
    assert_same(*blobs((61, 83), seed), spacing[:2])
    assert_same(*blobs((23, 40, 31), seed), spacing)


@pytest.mark.parametrize("density", [0.02, 0.5, 0.97])
@pytest.mark.parametrize("shape", [(17, 29), (1, 40), (9, 12, 14), (1, 9, 9)])
def test_noise(shape, density):
    rng = np.random.default_rng(7)
    predicted, target = (rng.random(shape) < density for _ in range(2))
    predicted.flat[0] = target.flat[-1] = True  # never empty
    for spacing in SPACINGS:
        assert_same(predicted, target, spacing[-len(shape) :])


@pytest.mark.parametrize("shape", [(12, 15), (8, 9, 10)])
def test_structures(shape):
    """A pixel, the whole image, a block, a hollow block, a line along the border."""
    one, all_of_it, block, line = (np.zeros(shape, bool) for _ in range(4))
    one[(3,) * len(shape)] = True
    all_of_it[...] = True
    block[(slice(2, 7),) * len(shape)] = True
    hollow = block & ~np.roll(one, (1,) * len(shape), tuple(range(len(shape))))
    line[0] = True
    masks = [one, all_of_it, block, hollow, line]
    for predicted in masks:
        for target in masks:
            assert_same(predicted, target, SPACINGS[2][: len(shape)])


@pytest.mark.parametrize("points", [0, 10**9])
def test_the_tree_and_the_transform_agree(monkeypatch, points):
    """Both ways to distances, each forced on regions for which the other would be taken."""
    monkeypatch.setattr(surface, "CORNERS_PER_POINT", points)
    for seed in range(3):
        assert_same(*blobs((50, 60), seed), (0.7, 1.3))
        assert_same(*blobs((20, 24, 18), seed), (0.7, 1.3, 2.0))


def test_two_pixels_by_hand():
    """Two pixels three rows apart, rows 2 mm high: each has four corners, with a contour of 4 · ½√(2² + 1²)."""
    predicted, target = np.zeros((8, 8), bool), np.zeros((8, 8), bool)
    target[2, 4] = predicted[5, 4] = True
    distances = surface_distances(predicted, target, spacing=(2, 1))
    assert distances.target[1].tolist() == pytest.approx([0.5 * 5**0.5] * 4)
    assert distances.target[0].tolist() == [4, 4, 6, 6]  # lower corners to the other's upper ones, then upper corners
    assert nsd(distances, tolerance_mm=3.9) == 0
    assert nsd(distances, tolerance_mm=4.0) == 0.5
    assert hd95(distances) == 6


def test_four_axes_are_refused():
    with pytest.raises(ValueError, match="2D or 3D"):
        surface.element_areas((1.0,) * 4)
