import numpy as np
from PIL import Image

from sizewise.data.frame_groups import group_frames


def save(folder, name, array):
    path = folder / f"{name}.png"
    Image.fromarray(np.clip(array, 0, 255).astype(np.uint8)).save(path)
    return path


def scene(rng, size=64):
    coarse = Image.fromarray(rng.uniform(0, 255, (4, 4, 3)).astype(np.uint8))
    return np.asarray(coarse.resize((size, size), Image.Resampling.BICUBIC), dtype=float)


def test_frames_of_one_video_are_one_group(tmp_path):
    rng = np.random.default_rng(0)
    paths = []
    for video in range(3):
        picture = scene(rng)
        for frame in range(4):
            moved = np.roll(picture, 2 * frame, axis=1) * (1 - 0.05 * frame)  # moves and gets darker
            paths.append(save(tmp_path, f"{video}_{frame}", moved + rng.normal(0, 4, moved.shape)))
    assert group_frames(paths) == [1] * 4 + [2] * 4 + [3] * 4


def test_a_frame_that_comes_again_later_joins_its_group(tmp_path):
    rng = np.random.default_rng(1)
    first, second = scene(rng), scene(rng)
    paths = [save(tmp_path, name, array) for name, array in (("a", first), ("b", second), ("c", first))]
    assert group_frames(paths) == [1, 2, 1]


def test_flat_frames_are_told_apart_by_their_level(tmp_path):
    rng = np.random.default_rng(2)
    paths = [
        save(tmp_path, f"{level}_{n}", level + rng.normal(0, 3, (32, 32, 3))) for level in (60, 160) for n in range(3)
    ]
    assert group_frames(paths) == [1, 1, 1, 2, 2, 2]


def test_a_damaged_frame_stands_alone(tmp_path):
    picture = scene(np.random.default_rng(3))
    (tmp_path / "b.png").write_bytes(b"broken")
    paths = [save(tmp_path, "a", picture), tmp_path / "b.png", save(tmp_path, "c", picture)]
    assert group_frames(paths) == [1, 2, 1]
