"""Components and the cells around them, against flooding and exhaustive search."""

import numpy as np
import oracle_components
import pytest

from sizewise.connected_components import cells_of, label_components


def test_components_meet_over_corners_in_every_dimension():
    assert label_components(np.eye(3, dtype=bool))[1] == 1
    corner = np.zeros((3, 3, 3), bool)
    corner[0, 0, 0] = corner[1, 1, 1] = True
    assert label_components(corner)[1] == 1
    assert label_components(np.array([1, 0, 1, 1, 0], bool))[1] == 2


def test_without_a_component_and_with_one():
    assert cells_of(np.zeros((3, 4), bool))[0].tolist() == [[0] * 4] * 3
    one = np.zeros((3, 4), bool)
    one[2, 3] = True
    assert cells_of(one)[0].tolist() == [[1] * 4] * 3


def test_ties_go_to_the_lowest_number():
    # two points in the corners of a square: its other diagonal is as far from both
    mask = np.zeros((4, 4), bool)
    mask[0, 3] = mask[3, 0] = True
    assert cells_of(mask)[0].tolist() == [[1, 1, 1, 1], [2, 1, 1, 1], [2, 2, 1, 1], [2, 2, 2, 1]]


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_cells_equal_an_exhaustive_search(dims):
    random = np.random.default_rng(dims)
    for _ in range(25):
        shape = tuple(random.integers(1, {1: 30, 2: 12, 3: 6}[dims], dims))
        mask = random.random(shape) < random.choice([0.02, 0.1, 0.3])
        found, count = cells_of(mask)
        assert count == len(oracle_components.components(mask))
        assert (found == oracle_components.cells(mask)).all(), mask


def test_lattices_where_most_pixels_tie():
    random = np.random.default_rng(0)
    for step in range(2, 7):
        mask = np.zeros((14, 14), bool)
        mask[1::step, 2::step] = random.random(mask[1::step, 2::step].shape) < 0.8
        assert (cells_of(mask)[0] == oracle_components.cells(mask)).all(), step


def test_thousands_of_components():
    mask = np.zeros((200, 200), bool)
    mask[::3, ::3] = True
    found, count = cells_of(mask)
    assert count == 67 * 67
    assert (found[::3, ::3].ravel() == np.arange(1, count + 1)).all()
    assert (found[1:-1:3, 1:-1:3] == found[:-2:3, :-2:3]).all()  # nearer to the corner before than to any other
