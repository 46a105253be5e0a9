"""Images and labels move together, exactly where the motion is exact."""

import numpy as np
import pytest
import torch

from sizewise.train.augment import (
    AUGMENTATIONS,
    Augmentation,
    augment,
    draw_colours,
    draw_motions,
    rotation,
    rotation_3d,
)
from sizewise.train.preparation import UNLABELLED

NO_COLOUR = torch.tensor([[[1.0], [0.0]]])


def identity(dims):
    return torch.cat([torch.eye(dims), torch.zeros(dims, 1)], 1)[None]


def numbered(shape):
    """Labels from 0 on, and an image with the same numbers."""
    labels = (torch.arange(int(np.prod(shape))) % 250).reshape(1, 1, *shape)
    return labels.float(), labels.to(torch.uint8)


@pytest.mark.parametrize("shape", [(4, 7), (3, 4, 5)])
def test_flips_are_exact_along_each_axis(shape):
    images, labels = numbered(shape)
    for axis in range(1, len(shape) + 1):  # counted from the last, as affine_grid does
        motion = identity(len(shape))
        motion[0, axis - 1, axis - 1] = -1
        moved, moved_labels, _ = augment(images, labels, None, motion, NO_COLOUR)
        torch.testing.assert_close(moved, images.flip(-axis), rtol=0, atol=1e-3)
        assert torch.equal(moved_labels, labels.flip(-axis))


@pytest.mark.parametrize("shape", [(5, 6), (4, 5, 6)])
def test_no_motion_changes_nothing(shape):
    images, labels = numbered(shape)
    moved, moved_labels, _ = augment(images, labels, None, identity(len(shape)), NO_COLOUR)
    torch.testing.assert_close(moved, images, rtol=0, atol=1e-3)
    assert torch.equal(moved_labels, labels)


def test_a_quarter_turn_by_hand():
    images, labels = numbered((3, 3))  # 0 1 2 / 3 4 5 / 6 7 8
    turn = torch.zeros(1, 2, 3)
    turn[0, :, :2] = torch.from_numpy(rotation(np.array([np.pi / 2]))[0])
    moved, moved_labels, _ = augment(images, labels, None, turn, NO_COLOUR)
    # what lands at (x, y) comes from (-y, x): the right column becomes the top row
    assert moved_labels[0, 0].tolist() == [[2, 5, 8], [1, 4, 7], [0, 3, 6]]
    torch.testing.assert_close(moved, moved_labels.float(), rtol=0, atol=1e-4)


def test_what_comes_from_outside_counts_for_nothing():
    images, labels = torch.ones(1, 1, 4, 4), torch.zeros(1, 1, 4, 4, dtype=torch.uint8)
    half = identity(2) * 2  # zoomed out by two: the image covers the middle
    moved, moved_labels, _ = augment(images, labels, None, half, NO_COLOUR)
    inside = torch.zeros(4, 4, dtype=torch.bool)
    inside[1:3, 1:3] = True
    assert torch.equal(moved_labels[0, 0] == UNLABELLED, ~inside)
    assert torch.equal(moved_labels[0, 0] == 0, inside)
    assert moved[0, 0, 0, 0] == 0
    kept = torch.full_like(labels, UNLABELLED)
    assert (augment(images, kept, None, identity(2), NO_COLOUR)[1] == UNLABELLED).all()


@pytest.mark.parametrize(
    ("word", "dims"), [("picture", 2), ("any-way-up", 2), ("street", 2), ("volume", 3), ("slices", 3)]
)
def test_image_and_labels_move_together_under_every_draw(word, dims):
    """A binary image is its own label map: away from its edges both must agree."""
    shape = (24,) * dims
    image = torch.zeros(1, 1, *shape)
    image[(0, 0, *(slice(6, 15 + axis) for axis in range(dims)))] = 1
    generator = np.random.default_rng(0)
    motions = draw_motions(generator, AUGMENTATIONS[word], 16, np.array(shape), np.ones(dims)).astype(np.float32)
    many = image.expand(16, 1, *shape)
    moved, labels, _ = augment(many, many.to(torch.uint8), None, torch.from_numpy(motions), NO_COLOUR.expand(16, 2, 1))
    clear = ((moved < 0.02) | (moved > 0.98)) & (labels != UNLABELLED)
    assert clear.float().mean() > 0.5
    assert torch.equal((moved > 0.5)[clear], (labels == 1)[clear])
    assert len({tuple(one.flatten().tolist()) for one in labels}) > 8


def test_upright_pictures_stay_upright():
    def vertical(word):
        size = np.array([30, 40])
        return draw_motions(np.random.default_rng(0), AUGMENTATIONS[word], 200, size, np.ones(2))[:, 1, 1]

    assert (vertical("picture") > 0.7).all()  # cos 15° over the largest scale
    assert (vertical("street") > 0.6).all()
    assert 60 < (vertical("any-way-up") < 0).sum() < 140


def test_rotations_keep_lengths_in_millimetres():
    size, spacing = np.array([10, 40, 20]), np.array([4.0, 1.0, 0.5])
    turns = draw_motions(np.random.default_rng(0), Augmentation(rotate=30), 5, size, spacing)[:, :, :3]
    half = (size * spacing)[::-1] / 2
    in_mm = turns * half[None, :, None] / half[None, None, :]
    np.testing.assert_allclose(in_mm @ in_mm.transpose(0, 2, 1), np.broadcast_to(np.eye(3), (5, 3, 3)), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(rotation_3d(np.full((1, 3), 0.3))), 1)


@pytest.mark.parametrize("thin", [0, 1, 2])
def test_slices_stay_slices(thin):
    """Turned and scaled in their plane, whichever axis that is normal to; a flat crop loses little of itself."""
    size = np.array([40, 48, 56])
    size[thin] = 6
    motions = draw_motions(np.random.default_rng(0), AUGMENTATIONS["slices"], 50, size, np.ones(3))
    normal = 2 - thin
    expected = np.eye(3)[normal]
    np.testing.assert_array_equal(motions[:, normal, :3], np.broadcast_to(expected, (50, 3)))
    np.testing.assert_array_equal(motions[:, :3, normal], np.broadcast_to(expected, (50, 3)))
    plane = [axis for axis in range(3) if axis != normal]
    assert np.abs(motions[:, plane[0], plane[1]]).max() > 0.3  # sin 30° and the crop's proportions

    def lost(word):
        drawn = draw_motions(np.random.default_rng(0), AUGMENTATIONS[word], 50, size, np.ones(3))
        labels = torch.zeros(50, 1, *size, dtype=torch.uint8)
        moved = augment(labels.float(), labels, None, torch.from_numpy(drawn).float(), NO_COLOUR.expand(50, 2, 1))[1]
        return (moved == UNLABELLED).float().mean()

    assert lost("slices") < 0.2 < lost("volume")


def test_only_the_allowed_axes_are_flipped_and_about_half_the_time():
    street = Augmentation(flip=(1,))
    motions = draw_motions(np.random.default_rng(0), street, 400, np.array([8, 8]), np.ones(2))
    assert set(motions[:, 1, 1]) == {1.0}
    assert 150 < (motions[:, 0, 0] == -1).sum() < 250


def test_colours_change_intensities_alone():
    colours = torch.tensor([[[2.0, 1.0], [0.5, 0.0]]])
    images, labels = torch.ones(1, 2, 3, 3), torch.ones(1, 1, 3, 3, dtype=torch.uint8)
    moved, moved_labels, _ = augment(images, labels, None, identity(2), colours)
    assert moved[0, :, 1, 1].tolist() == pytest.approx([2.5, 1.0])
    assert torch.equal(moved_labels, labels)
    none = draw_colours(np.random.default_rng(0), AUGMENTATIONS["flip"], 3, 2)
    np.testing.assert_array_equal(none, np.broadcast_to([[[1.0], [0.0]]], (3, 2, 2)))
    drawn = draw_colours(np.random.default_rng(0), Augmentation(colour=0.3), 500, 3)
    assert np.abs(drawn - [[1.0], [0.0]]).max() <= 0.4 + 1e-12  # the shared part and a third of it
