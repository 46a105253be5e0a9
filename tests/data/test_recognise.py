import pickle
import zipfile

import pytest
from data.layouts.cityscapes import write_cityscapes
from data.layouts.cvc_clinicdb import write_cvc_clinicdb
from data.layouts.idrid import write_idrid
from data.layouts.image_folder import write_image_folder, write_multiclass_folder
from data.layouts.kvasir_seg import write_kvasir_seg
from data.layouts.retinal_lesions import write_retinal_lesions

from sizewise.data.recognise import open_dataset
from sizewise.errors import BadInput

WRITERS = {
    "cityscapes": write_cityscapes,
    "cvc-clinicdb": write_cvc_clinicdb,
    "idrid": write_idrid,
    "kvasir-seg": write_kvasir_seg,
    "retinal-lesions": write_retinal_lesions,
}


@pytest.mark.parametrize("name", WRITERS)
def test_each_layout_is_recognised_also_inside_a_folder(tmp_path, name):
    root = WRITERS[name](tmp_path / "outer" / "unpacked")
    for path in (str(root), root.parent, root.parent.parent):
        dataset = open_dataset(path)
        assert dataset.name == name
        assert dataset.source.startswith("https://")
        assert dataset.licence
        assert len({case.name for case in dataset.cases}) == len(dataset.cases)
        pickle.loads(pickle.dumps(dataset))


@pytest.mark.parametrize("write", [write_image_folder, write_multiclass_folder])
def test_any_other_folder(tmp_path, write):
    write(tmp_path / "mine")
    assert open_dataset(tmp_path / "mine").name == "mine"
    assert open_dataset(tmp_path).name == "mine"


def test_a_name_forces_a_layout(tmp_path):
    root = write_kvasir_seg(tmp_path / "polyps")
    assert open_dataset(root).name == "kvasir-seg"
    assert open_dataset(root, name="folder").name == "polyps"
    with pytest.raises(BadInput, match="cvc-clinicdb: wanted the folders"):
        open_dataset(root, name="cvc-clinicdb")
    with pytest.raises(BadInput, match=r"No data set is called 'kvasir'. Known: .* Did you mean 'kvasir-seg'\?"):
        open_dataset(root, name="kvasir")


def test_options_reach_the_layout(tmp_path):
    root = write_multiclass_folder(tmp_path)
    assert open_dataset(root, merge=True).classes == ("background", "foreground")
    table = tmp_path / "my names.csv"
    table.write_text("name,value\nbackground,0\na,1\nb,2\nc,3\n")
    assert open_dataset(root, classes_csv=table).classes == ("background", "a", "b", "c")
    assert open_dataset(root, ignore_index=3).ignore_index == 3
    assert open_dataset(root, modality=("OCT",)).modality == ("OCT",)


@pytest.mark.parametrize("name", ["synthetic", "synthetic-3d"])
def test_synthetic_needs_no_folder(name):
    assert open_dataset(name).name == name


def test_nothing_there(tmp_path):
    with pytest.raises(BadInput, match=r"There is no folder 'syntetic'.*Did you mean 'synthetic'\?"):
        open_dataset("syntetic")
    with zipfile.ZipFile(tmp_path / "data.zip", "w"):
        pass
    with pytest.raises(BadInput, match=r"is a file.*unpack archives first"):
        open_dataset(tmp_path / "data.zip")


def test_nothing_fits_says_what_is_there_and_what_is_known(tmp_path):
    with pytest.raises(BadInput, match="It holds: nothing"):
        open_dataset(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    write_kvasir_seg(tmp_path / "inner")
    (tmp_path / "other").mkdir()
    with pytest.raises(BadInput) as raised:
        open_dataset(tmp_path)
    message = str(raised.value)
    assert "It holds: inner/, notes.txt, other/." in message
    assert f"'{tmp_path / 'inner'}' looks like kvasir-seg: did you mean that one?" in message
    for known in ("cityscapes", "decathlon", "nnunet-raw", "amos", "folder"):
        assert known in message


def test_an_empty_images_folder(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "masks").mkdir()
    with pytest.raises(BadInput, match="It holds: images/, masks/"):
        open_dataset(tmp_path)


def test_an_option_without_use_is_refused(tmp_path):
    root = write_cityscapes(tmp_path)
    with pytest.raises(BadInput, match="cityscapes: `merge` has no use here"):
        open_dataset(root, merge=True)
    with pytest.raises(BadInput, match="cityscapes: `ignore_index` has no use here"):
        open_dataset(root, ignore_index=0)
