import pytest

from sizewise.data.class_table import find_class_table, read_class_table
from sizewise.errors import BadInput


def write(tmp_path, text, name="classes.csv"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def test_values_and_a_background_that_moves_to_the_front(tmp_path):
    table = read_class_table(write(tmp_path, "name,value\nliver,10\nbackground,0\ntumour,20\n"))
    assert table.names == ("background", "liver", "tumour")
    assert dict(table.values) == {0: 0, 10: 1, 20: 2}
    assert table.colours == ()
    assert table.ignore is None


def test_colours_in_the_form_of_camvid_with_void(tmp_path):
    # header spelt "name,r,g,b"; a byte-order mark, spaces and an empty line are usual
    table = read_class_table(write(tmp_path, "\ufeffname, R, G, B\nSky, 128, 128, 128\nCar,64,0,128\n\nVoid,0,0,0\n"))
    assert table.names == ("Sky", "Car")
    assert dict(table.colours) == {(128 << 16) + (128 << 8) + 128: 0, (64 << 16) + 128: 1, 0: 255}
    assert table.ignore == 255


def test_a_value_table_without_zero_gets_a_background(tmp_path):
    table = read_class_table(write(tmp_path, "name,value\npolyp,255\n"))
    assert table.names == ("background", "polyp")
    assert dict(table.values) == {0: 0, 255: 1}


def test_two_rows_of_one_name_are_one_class(tmp_path):
    table = read_class_table(write(tmp_path, "name,value\nbackground,0\nkidney,1\nkidney,2\nliver,3\n"))
    assert table.names == ("background", "kidney", "liver")
    assert dict(table.values) == {0: 0, 1: 1, 2: 1, 3: 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an empty file"),
        ("name,value\n", "names no class"),
        ("title,value\na,0\n", "must have the columns name,value or name,r,g,b, got title,value"),
        ("name,value\na,zero\nb,1\n", "got 'zero'"),
        ("name,r,g,b\na,0,0,0\nb,256,0,0\n", "0 to 255, got '256'"),
        ("name,value\na,0\nb,0\n", "one value to two rows"),
        ("name,value\na,0\nb\n", "but a row is b"),
        ("name,value\nbackground,0\n", "must name 2 to 255 classes"),
    ],
)
def test_a_wrong_table_is_told_what_is_wrong(tmp_path, text, message):
    with pytest.raises(BadInput, match=message):
        read_class_table(write(tmp_path, text))


def test_a_missing_table_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"nowhere\.csv"):
        read_class_table(tmp_path / "nowhere.csv")


def test_the_tables_of_a_folder_are_found(tmp_path):
    assert find_class_table(tmp_path) is None
    path = write(tmp_path, "name,value\na,0\n", "class_dict.csv")
    assert find_class_table(tmp_path) == path


def test_a_table_that_cannot_be_read_is_not_passed_over(tmp_path):
    (tmp_path / "classes.csv").symlink_to("moved.csv")  # masks read without it would be other classes
    with pytest.raises(BadInput, match=r"classes\.csv"):
        read_class_table(find_class_table(tmp_path))
