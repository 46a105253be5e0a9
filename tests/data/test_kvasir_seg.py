import numpy as np
from data.layouts.kvasir_seg import write_kvasir_seg
from PIL import Image

from sizewise.data.kvasir_seg import load, recognise
from sizewise.data.open_options import OpenOptions


def test_the_published_layout(tmp_path):
    root = write_kvasir_seg(tmp_path / "download")
    assert recognise(root)
    dataset = load(root, options=OpenOptions())
    assert dataset.classes == ("background", "polyp")
    assert len(dataset.cases) == 10
    assert dataset.fractions == (0.8, 0.1, 0.1)
    assert {case.subset for case in dataset.cases} == {""}
    assert "simula" in dataset.source
    shapes = set()
    for case in dataset.cases:
        target = dataset.reader.target(case)
        shapes.add(target.shape)
        assert dataset.reader.image(case).pixels.shape == (3, *target.shape)
        assert set(np.unique(target)) == {0, 1}
        assert 0.08 < target.mean() < 0.25  # the fixture draws 15 %
        raw = np.asarray(Image.open(case.target[0]).convert("L"))
        assert len(np.unique(raw)) > 2  # JPEG: not exactly black and white
        np.testing.assert_array_equal(target, raw > 127)
    assert len(shapes) == 3


def test_recognised_by_file_names_without_the_boxes(tmp_path):
    root = write_kvasir_seg(tmp_path / "download")
    (root / "kavsir_bboxes.json").unlink()
    assert recognise(root)
    for file in (root / "images").iterdir():
        file.rename(file.with_name(f"photo_{file.name}"))
    assert not recognise(root)


def test_divided_folders_by_their_name(tmp_path):
    root = tmp_path / "Kvasir-SEG"
    for number, subset in enumerate(("train", "validation", "test")):
        write_kvasir_seg(root / subset, cases=2, seed=number)
    assert recognise(root)
    dataset = load(root, options=OpenOptions())
    assert [case.subset for case in dataset.cases] == ["train"] * 2 + ["validation"] * 2 + ["test"] * 2
    assert len({case.name for case in dataset.cases}) == 6
    assert not recognise(tmp_path)
