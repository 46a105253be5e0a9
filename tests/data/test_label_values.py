import numpy as np
import pytest
from PIL import Image

from sizewise.data.label_values import label_rule
from sizewise.data.open_options import OpenOptions
from sizewise.errors import BadInput


def save(folder, name, values):
    folder.mkdir(exist_ok=True)
    kind = np.int32 if np.min(values) < 0 else np.uint8
    Image.fromarray(np.array(values, dtype=kind)).save(folder / name, **({"quality": 75} if "jp" in name else {}))
    return folder / name


def rule_of(tmp_path, masks, **options):
    paths = [save(tmp_path, name, values) for name, values in masks.items()]
    return label_rule(paths, root=tmp_path, options=OpenOptions(**options)), paths


def test_ids_are_taken_as_they_are_and_k_is_that_of_the_whole_set(tmp_path):
    (rule, names, _), paths = rule_of(tmp_path, {"a.png": [[0, 1]], "b.png": [[0, 2]], "c.png": [[0, 0]]})
    assert names == ("background", "class_1", "class_2")
    assert [rule.read(path).tolist() for path in paths] == [[[0, 1]], [[0, 2]], [[0, 0]]]
    assert rule.read(paths[0]).dtype == np.uint8


def test_black_and_white_is_binary_and_an_all_black_mask_is_background(tmp_path):
    (rule, names, _), paths = rule_of(tmp_path, {"a.png": [[0, 255]], "black.png": [[0, 0]], "white.png": [[255, 255]]})
    assert names == ("background", "foreground")
    assert [rule.read(path).tolist() for path in paths] == [[[0, 1]], [[0, 0]], [[1, 1]]]


def test_zero_and_one_is_binary_too(tmp_path):
    (rule, names, _), paths = rule_of(tmp_path, {"a.png": [[0, 1]], "b.png": [[1, 1]]})
    assert names == ("background", "foreground")
    assert rule.read(paths[1]).tolist() == [[1, 1]]


def test_jpeg_masks_are_cut_at_127(tmp_path):
    square = np.zeros((32, 32))
    square[9:22, 11:27] = 255  # off the blocks of 8
    (rule, names, _), paths = rule_of(tmp_path, {"a.jpg": square, "empty.jpeg": np.zeros((32, 32)), "b.png": square})
    assert len(np.unique(np.asarray(Image.open(paths[0])))) > 2  # compression has left its marks
    np.testing.assert_array_equal(rule.read(paths[0]), square > 0)
    assert not rule.read(paths[1]).any()
    np.testing.assert_array_equal(rule.read(paths[2]), square > 0)
    assert names == ("background", "foreground")


def test_a_255_among_classes_is_probably_to_be_ignored(tmp_path):
    # b.png alone would pass for binary: the rule is one for the set
    masks = {"a.png": [[0, 1, 2, 255]], "b.png": [[0, 255, 0, 0]]}
    with pytest.raises(BadInput, match="`ignore_index=255`") as raised:
        rule_of(tmp_path, masks)
    assert "255 (in 2 of 2 masks, as 'a.png')" in str(raised.value)
    (rule, names, _), paths = rule_of(tmp_path, masks, ignore_index=255)
    assert len(names) == 3
    assert rule.ignore == 255
    assert rule.read(paths[1]).tolist() == [[0, 255, 0, 0]]


def test_a_foreground_of_1_here_and_255_there_is_not_ignored_by_advice(tmp_path):
    masks = {"a.png": [[0, 1]], "b.png": [[0, 255]]}
    with pytest.raises(BadInput, match=r"Some masks hold 1 and others 255.*one name in a classes\.csv.*`ignore_index"):
        rule_of(tmp_path, masks)
    (tmp_path / "classes.csv").write_text("name,value\nbackground,0\nnucleus,1\nnucleus,255\n")
    (rule, names, _), paths = rule_of(tmp_path, masks)
    assert names == ("background", "nucleus")
    assert [rule.read(path).tolist() for path in paths] == [[[0, 1]], [[0, 1]]]


def test_other_values_are_listed_with_a_file(tmp_path):
    with pytest.raises(BadInput, match=r"Values found: 0 \(in 2 of 2 masks.*128 \(in 1 of 2 masks, as 'b.png'\), 255"):
        rule_of(tmp_path, {"a.png": [[0, 255]], "b.png": [[0, 128]]})
    with pytest.raises(BadInput, match=r"without a gap.*2 \(in 1"):
        rule_of(tmp_path, {"a.png": [[0, 2]], "b.png": [[0, 0]]})
    with pytest.raises(BadInput, match=r"15, 16, 17 and 235 more; 250 of them in .*a\.png"):
        rule_of(tmp_path, {"a.png": [list(range(3, 253))], "b.png": [[0]]})


@pytest.mark.parametrize("step", [1, 3])
def test_smoothed_black_and_white_is_not_read_as_classes(tmp_path, step):
    edges = [[*range(0, 256, step)]]
    with pytest.raises(BadInput, match=r"as black and white ones do once they were resized.*Values found: 0, "):
        rule_of(tmp_path, {"a.png": edges})
    if step == 1:
        return  # a table names at most 255
    table = tmp_path / "classes.csv"
    table.write_text("name,value\n" + "".join(f"class {value},{value}\n" for value in edges[0]))
    (rule, names, _), _ = rule_of(tmp_path, {"a.png": edges})
    assert len(names) == rule.classes == len(edges[0])


def test_many_classes_beside_255_are_still_classes(tmp_path):
    with pytest.raises(BadInput, match=r"classes 0 to 181 and the value 255, which usually marks pixels to ignore"):
        rule_of(tmp_path, {"a.png": [[*range(182), 255]]})
    (_, names, _), _ = rule_of(tmp_path, {"a.png": [[*range(256)]]}, ignore_index=255)
    assert len(names) == 255


def test_a_set_without_any_region_is_refused(tmp_path):
    with pytest.raises(BadInput, match="No mask holds a region"):
        rule_of(tmp_path, {"a.png": [[0, 0]]})


def test_colours_need_a_table(tmp_path):
    masks = {"a.png": [[[0, 0, 0], [128, 0, 0]]], "b.png": [[[0, 0, 0], [0, 128, 0]]]}
    with pytest.raises(BadInput, match=r"columns name,r,g,b.*\(0, 0, 0\), \(0, 128, 0\), \(128, 0, 0\)"):
        rule_of(tmp_path, masks)
    (tmp_path / "classes.csv").write_text("name,r,g,b\nbackground,0,0,0\nred,128,0,0\ngreen,0,128,0\n")
    (rule, names, notes), paths = rule_of(tmp_path, masks)
    assert names == ("background", "red", "green")
    assert [rule.read(path).tolist() for path in paths] == [[[0, 1]], [[0, 2]]]
    assert notes == ["Classes come from classes.csv."]
    stray = save(tmp_path, "stray.png", [[[1, 2, 3], [0, 0, 0]]])
    with pytest.raises(BadInput, match=r"stray.png' holds colours .* \(1, 2, 3\)"):
        rule.read(stray)


def test_a_table_given_by_hand_reads_palette_masks_by_colour(tmp_path):
    picture = Image.fromarray(np.array([[0, 1]], dtype=np.uint8))
    picture.putpalette([9, 9, 9, 70, 80, 90])
    picture.save(tmp_path / "p.png")
    (tmp_path / "mine.csv").write_text("name,r,g,b\ncar,70,80,90\nbackground,9,9,9\n")
    options = OpenOptions(classes_csv=tmp_path / "mine.csv")
    rule, names, _ = label_rule([tmp_path / "p.png"], root=tmp_path, options=options)
    assert names == ("background", "car")
    assert rule.read(tmp_path / "p.png").tolist() == [[0, 1]]


def test_a_table_of_values_maps_gaps_and_void(tmp_path):
    (tmp_path / "classes.csv").write_text("name,value\nbackground,0\nvessel,128\nvoid,200\n")
    (rule, names, _), paths = rule_of(tmp_path, {"a.png": [[0, 128, 200]]})
    assert names == ("background", "vessel")
    assert rule.ignore == 255
    assert rule.read(paths[0]).tolist() == [[0, 1, 255]]
    bad = save(tmp_path, "bad.png", [[0, 5]])
    with pytest.raises(BadInput, match=r"bad.png' holds values that the table of classes does not name: 5"):
        rule.read(bad)


def test_jpeg_does_not_keep_classes(tmp_path):
    steps = np.repeat(np.array([[0, 1, 2, 3]], dtype=np.uint8), 8, axis=1).repeat(32, axis=0)
    with pytest.raises(BadInput, match="saved as PNG"):
        rule_of(tmp_path, {"a.jpg": steps})
    with pytest.raises(BadInput, match="saved as PNG"):
        rule_of(tmp_path, {"grey.jpg": np.full((32, 32), 160), "black.jpg": np.zeros((32, 32))})
    (tmp_path / "classes.csv").write_text("name,value\nbackground,0\nvessel,3\n")
    with pytest.raises(BadInput, match=r"JPEG.*does not keep values"):
        rule_of(tmp_path, {"a.jpg": steps})


def test_merging_keeps_what_is_ignored(tmp_path):
    masks = {"a.png": [[0, 1, 2, 255]]}
    (rule, names, notes), paths = rule_of(tmp_path, masks, ignore_index=255, merge=True)
    assert names == ("background", "foreground")
    assert rule.read(paths[0]).tolist() == [[0, 1, 1, 255]]
    assert "merged" in notes[0]
    with pytest.raises(BadInput, match="`ignore_index=1` cannot be told"):
        rule_of(tmp_path, {"a.png": [[0, 1, 2, 3]]}, ignore_index=1, merge=True)


def test_a_class_may_be_ignored(tmp_path):
    (rule, names, _), paths = rule_of(tmp_path, {"a.png": [[0, 1, 2]]}, ignore_index=0)
    assert len(names) == 3
    assert rule.read(paths[0]).tolist() == [[0, 1, 2]]


def test_a_value_that_appears_later_is_named(tmp_path):
    (rule, _, _), _ = rule_of(tmp_path, {"a.png": [[0, 1, 2]]})
    later = save(tmp_path, "later.png", [[0, 7]])
    with pytest.raises(BadInput, match=r"later.png' should hold classes 0 to 2. Values found: 0, 7"):
        rule.read(later)
    (binary, _, _), _ = rule_of(tmp_path / "binary", {"a.png": [[0, 255]]})
    for stray in ("later.png", "a.png"):
        with pytest.raises(BadInput, match=stray):
            binary.read(tmp_path / stray)


def test_one_damaged_mask_does_not_hide_the_rest(tmp_path):
    save(tmp_path, "a.png", [[0, 1, 2]])
    (tmp_path / "cut.png").write_bytes(b"\x89PNG")
    _, names, notes = label_rule([tmp_path / "a.png", tmp_path / "cut.png"], root=tmp_path, options=OpenOptions())
    assert len(names) == 3
    assert "1 mask cannot be read" in notes[0]
    assert "cut.png" in notes[0]
    with pytest.raises(BadInput, match="No mask can be read"):
        label_rule([tmp_path / "cut.png"], root=tmp_path, options=OpenOptions())


def test_black_and_white_with_a_value_to_ignore(tmp_path):
    (rule, _, _), paths = rule_of(tmp_path, {"a.png": [[0, 128, 255]]}, ignore_index=128)
    assert rule.read(paths[0]).tolist() == [[0, 128, 1]]
    with pytest.raises(BadInput, match="`ignore_index=1` cannot be told from the foreground"):
        rule_of(tmp_path, {"a.png": [[0, 1, 255]]}, ignore_index=1)


def test_a_negative_value_may_be_ignored(tmp_path):
    (rule, _, _), paths = rule_of(tmp_path / "binary", {"a.png": [[0, 255]]}, ignore_index=-1)
    assert rule.read(paths[0]).tolist() == [[0, 1]]
    for merge, classes in ((False, [0, 1, 2, -1]), (True, [0, 1, 1, -1])):
        masks = {"a.tiff": [[0, 1, 2, -1]]}
        (rule, _, _), paths = rule_of(tmp_path / str(merge), masks, ignore_index=-1, merge=merge)
        assert rule.read(paths[0]).tolist() == [classes]
    (tmp_path / "classes.csv").write_text("name,value\nbackground,0\nvessel,3\n")
    (rule, _, _), paths = rule_of(tmp_path, {"a.png": [[0, 3]]}, ignore_index=-5)
    assert rule.read(paths[0]).tolist() == [[0, 1]]
