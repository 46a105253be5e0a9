import numpy as np
import pytest

from sizewise.diagnosis.component_errors import SIZES, component_errors


def mask(*rows):
    return np.array([[letter == "#" for letter in row] for row in rows])


def test_missed_and_invented_by_size():
    target = mask("##....#", "##.....", "......#")
    drawn = mask("#......", ".......", "..##...")
    found = component_errors(drawn, target)
    assert found.true[:2].tolist() == [2, 1]  # two of one pixel; one of four, the first of its group
    assert found.missed[:2].tolist() == [2, 0]
    assert found.predicted[:2].tolist() == [2, 0]
    assert found.invented[:2].tolist() == [1, 0]


def test_corners_connect():
    found = component_errors(mask("...", "..."), mask("#..", ".#."))
    assert found.true.sum() == found.missed.sum() == 1


@pytest.mark.parametrize(("pixels", "group"), [(1, 0), (3, 0), (4, 1), (15, 1), (16, 2), (63, 2), (64, 3)])
def test_groups_of_sizes(pixels, group):
    line = np.ones((1, pixels), dtype=bool)
    assert component_errors(line, line).true.tolist() == [int(one == group) for one in range(SIZES)]


def test_volumes_and_nothing():
    empty = np.zeros((3, 4, 5), dtype=bool)
    assert component_errors(empty, empty).true.sum() == 0
    ends = empty.copy()
    ends[0, 0, 0] = ends[2, 3, 4] = True
    assert component_errors(empty, ends).missed.sum() == 2
