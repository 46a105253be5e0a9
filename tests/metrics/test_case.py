"""The scores of a case: by hand, against surface-distance, under the empty-mask policy, with ignored pixels."""

import numpy as np
import pytest
import surface_distance
from scipy import ndimage

from sizewise.metrics.case import score_case, score_channels, true_negative

pytestmark = pytest.mark.filterwarnings("ignore:Please import:DeprecationWarning")


def score(predicted, target, **options):
    options = {"classes": [1], "spacing": (1,) * target.ndim, "nsd_tolerance": 1.0, **options}
    return score_case(predicted, target, **options)


def random_maps(shape, classes, seed=0):
    rng = np.random.default_rng(seed)
    target = rng.integers(0, classes, [length // 4 + 1 for length in shape])
    for axis in range(len(shape)):
        target = np.repeat(target, 4, axis=axis)
    target = target[tuple(slice(length) for length in shape)].astype(np.uint8)
    predicted = np.where(rng.random(shape) < 0.1, rng.integers(0, classes, shape), target).astype(np.uint8)
    return predicted, target


def components_met(mask, other):
    numbers, count = ndimage.label(mask, np.ones((3,) * mask.ndim))
    return np.mean([(other & (numbers == number + 1)).any() for number in range(count)])


@pytest.mark.parametrize(("shape", "spacing"), [((40, 37), (0.8, 1.5)), ((12, 14, 11), (2.0, 0.7, 0.7))])
def test_every_class_against_the_definitions(shape, spacing):
    predicted, target = random_maps(shape, 5)
    for result in score(predicted, target, classes=[4, 0, 2], spacing=spacing, nsd_tolerance=0.8):
        p, t = predicted == result.class_id, target == result.class_id
        distances = surface_distance.compute_surface_distances(t, p, spacing)
        assert result.values() == {
            "dsc": 2 * (p & t).sum() / (p.sum() + t.sum()),
            "iou": (p & t).sum() / (p | t).sum(),
            "nsd": surface_distance.compute_surface_dice_at_tolerance(distances, 0.8),
            "hd95": surface_distance.compute_robust_hausdorff(distances, 95),
            "size_error": (p.sum() - t.sum()) / p.size,
            "relative_size_error": (p.sum() - t.sum()) / t.sum(),
            "true_proportion": t.sum() / t.size,
            "component_recall": components_met(t, p),
            "component_precision": components_met(p, t),
        }


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.int64, np.uint16, np.uint64])
def test_any_integer_dtype_and_layout(dtype):
    predicted, target = random_maps((30, 21), 4)
    wanted = score(predicted, target, classes=[1, 2, 3])
    assert score(predicted.astype(dtype), np.asfortranarray(target.astype(dtype)), classes=[1, 2, 3]) == wanted
    large = [score(m.astype(np.int64) * 10**9, t.astype(np.int64), classes=[1, 2, 3]) for m, t in [(predicted, target)]]
    assert all(one.counts.predicted == 0 for one in large[0])  # ids that are not asked for are background


def test_missed_false_alarm_and_true_negative():
    empty, region = np.zeros((30, 40), np.uint8), np.zeros((30, 40), np.uint8)
    region[3:7, 5:10] = 1
    diagonal = ((30 * 2) ** 2 + (40 * 1) ** 2) ** 0.5
    (missed,) = score(empty, region, spacing=(2, 1))
    assert missed.values() == {
        "dsc": 0,
        "iou": 0,
        "nsd": 0,
        "hd95": diagonal,
        "size_error": -20 / 1200,
        "relative_size_error": -1,
        "true_proportion": 20 / 1200,
        "component_recall": 0,
        "component_precision": 0,
    }
    (alarm,) = score(region, empty, spacing=(2, 1))
    assert alarm.values() == {
        "dsc": 0,
        "iou": 0,
        "nsd": 0,
        "hd95": diagonal,
        "size_error": 20 / 1200,
        "relative_size_error": None,
        "true_proportion": 0,
        "component_recall": None,
        "component_precision": 0,
    }
    (negative,) = score(empty, empty, spacing=(2, 1))
    assert negative == true_negative(1, valid_px=1200)
    assert negative.values() == {
        "dsc": None,
        "iou": None,
        "nsd": None,
        "hd95": None,
        "size_error": 0,
        "relative_size_error": None,
        "true_proportion": 0,
        "component_recall": None,
        "component_precision": None,
    }


def test_a_missed_structure_is_never_closer_than_the_worst_found_one():
    """Opposite corners of the image: no found region can have a larger hd95 than the diagonal."""
    predicted, target = np.zeros((9, 13), np.uint8), np.zeros((9, 13), np.uint8)
    predicted[0, 0] = target[-1, -1] = 1
    (far,) = score(predicted, target)
    (missed,) = score(np.zeros_like(target), target)
    assert far.values()["hd95"] <= missed.values()["hd95"]


def test_ignored_pixels_count_for_nothing():
    """4 x 4 image, last row ignored: whatever is predicted there changes nothing."""
    target = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [255, 255, 255, 255]], np.uint8)
    predicted = np.array([[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0], [1, 0, 1, 0]], np.uint8)
    (result,) = score(predicted, target, ignore_index=255)
    assert (result.counts.intersection, result.counts.predicted, result.counts.target) == (4, 6, 4)
    assert result.counts.valid == 12
    assert result.values()["size_error"] == 2 / 12
    clean = predicted.copy()
    clean[3] = 0
    assert score(clean, target, ignore_index=255) == [result]
    (upper,) = score(predicted[:3], target[:3])
    assert upper.measured == result.measured  # here the regions do not reach the ignored row


def test_all_ignored_gives_no_score_and_an_index_outside_the_dtype_matches_nothing():
    target = np.full((4, 4), 255, np.uint8)
    assert score(target * 0, target, ignore_index=255) == []
    predicted, target = random_maps((9, 9), 2)
    assert score(predicted, target, ignore_index=-1) == score(predicted, target)
    signed = target.astype(np.int16)
    signed[0] = -1
    assert score(predicted, signed, ignore_index=-1)[0].counts.valid == 72


def test_only_what_is_asked_for_is_measured():
    predicted, target = random_maps((16, 16), 3)
    fast, full = score(predicted, target, classes=[1, 2], metrics=["hd95"]), score(predicted, target, classes=[1, 2])
    assert [one.counts for one in fast] == [one.counts for one in full]
    left_out = ("nsd", "component_recall", "component_precision")
    assert fast[0].values() == {name: value for name, value in full[0].values().items() if name not in left_out}


def test_channels_may_overlap():
    """Each channel scores as its own binary map; ids count from 1."""
    rng = np.random.default_rng(1)
    predicted, target = (rng.integers(0, 2, (3, 20, 22)).astype(np.uint8) for _ in range(2))
    target[1, :5] = 255
    results = score_channels(predicted, target, spacing=(1, 2), nsd_tolerance=1.0, ignore_index=255)
    for channel, result in enumerate(results):
        (alone,) = score(predicted[channel], target[channel], spacing=(1, 2), ignore_index=255)
        assert result.class_id == channel + 1
        assert result.values() == alone.values()
    with pytest.raises(ValueError, match=r"channel 1 must hold 0 and 1, got \[255\]"):
        score_channels(predicted, target, spacing=(1, 2), nsd_tolerance=1.0)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"predicted": np.zeros((5, 4), int)}, r"predicted has shape \(5, 4\), target \(4, 4\)"),
        ({"predicted": np.zeros((4, 4))}, "predicted must hold integer labels, got float64"),
        ({"spacing": (1,)}, "spacing must be 2 numbers > 0"),
        ({"spacing": (1, 0)}, "spacing must be 2 numbers > 0"),
        ({"classes": [1, 1]}, "classes must be different ids >= 0"),
        ({"classes": [-1]}, "classes must be different ids >= 0"),
        ({"nsd_tolerance": float("nan")}, "nsd_tolerance must be a number >= 0"),
        ({"predicted": np.zeros(4, int), "target": np.zeros(4, int)}, "2D or 3D"),
    ],
)
def test_wrong_input(change, text):
    given = {"predicted": np.zeros((4, 4), int), "target": np.zeros((4, 4), int), **change}
    predicted, target = given.pop("predicted"), given.pop("target")
    with pytest.raises((ValueError, TypeError), match=text):
        score_case(predicted, target, **{"classes": [1], "spacing": (1, 1), "nsd_tolerance": 1.0, **given})


def test_no_pixels_and_no_classes():
    assert score(np.zeros((0, 4), int), np.zeros((0, 4), int)) == []
    assert score(np.ones((3, 3), int), np.ones((3, 3), int), classes=[]) == []
