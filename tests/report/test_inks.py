"""Colours that can be told apart, and errors that can be seen on any picture."""

from itertools import combinations

import numpy as np

from sizewise.report.inks import CLASS_COLOURS, CLASS_INKS, ERROR_INKS, as_rgb, class_inks, class_swatch, error_inks


def luminance(colours):
    return as_rgb(colours).astype(float) @ [0.2126, 0.7152, 0.0722]


def test_class_colours_are_far_from_each_other():
    distances = [np.linalg.norm(one.astype(float) - other) for one, other in combinations(as_rgb(CLASS_COLOURS), 2)]
    assert min(distances) > 60


def test_eleven_classes_have_eleven_colours_and_forty_eight_their_own_look():
    square = [np.full((12, 12), label) for label in range(1, 49)]
    looks = {class_inks(one).tobytes() for one in square}
    assert len(looks) == 48
    assert len({class_swatch(label) for label in range(1, 49)}) == 48
    assert all(len(np.unique(class_inks(one))) == 1 for one in square[:11])
    assert max(class_inks(one).max() for one in square) == len(CLASS_INKS)


def test_what_was_missed_has_light_and_dark_so_that_it_shows_on_any_picture():
    for kind in (2, 3):  # missed, false alarm
        inks = np.unique(error_inks(np.full((9, 9), kind)))
        levels = luminance([ERROR_INKS[ink - 1] for ink in inks])
        assert len(inks) == 2
        assert levels.max() - levels.min() > 100
    assert error_inks(np.zeros((3, 3), int)).max() == 0
