"""``decide_folder``: every format in, label maps out that are those of ``sw.decide``, and a sentence for what is unclear."""

import json
import pickle
import re

import nibabel
import numpy as np
import pytest
import torch
from PIL import Image
from probability_maps.saved_cases import drawn, sharpened

import sizewise as sw
from sizewise.data.pictures import read_label_picture
from sizewise.errors import BadInput, RunFailed
from sizewise.probability_maps.decide_folder import decide_folder, read_background

AFFINE = np.array([[-0.8, 0, 0, 12], [0, 0.7, 0, -3], [0, 0, 2.5, 40], [0, 0, 0, 1.0]])
SHAPE = (9, 7, 5)


def expected(p, **options):
    return sw.decide(torch.from_numpy(p)[None], given="probabilities", **options)[0].numpy()


def save_volume(path, values, affine=AFFINE):
    nibabel.save(nibabel.Nifti1Image(values, affine), path)


def silent(line):
    pass


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def test_probabilities_that_are_no_file_are_not_passed_over(folder, tmp_path):
    np.save(folder / "a.npy", drawn((12, 17))[0])
    (folder / "b.npy").symlink_to(tmp_path / "gone.npy")
    with pytest.raises(BadInput, match=r"b\.npy' is no file, but a link to what is not there"):
        decide_folder(folder, out=tmp_path / "out", log=silent)


@pytest.mark.parametrize("metric", ["dice", "iou", "size", "argmax"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_arrays_of_pictures(folder, tmp_path, metric, dtype):
    p, _ = drawn((12, 17))
    np.save(folder / "a.npy", p.astype(dtype))
    (file,) = decide_folder(folder, out=tmp_path / "out", metric=metric, temperature=1.4, log=silent)
    assert file == tmp_path / "out" / "a.png"
    given = p.astype(dtype)
    want = expected(given if dtype == np.float16 else p, metric=metric, temperature=1.4)
    np.testing.assert_array_equal(read_label_picture(file), want)


def test_arrays_of_volumes_lie_where_the_file_beside_them_lies(folder, tmp_path):
    p, _ = drawn(SHAPE)
    for name in ("with", "without"):
        np.save(folder / f"{name}.npy", p)
    save_volume(folder / "with.nii.gz", p.argmax(0).astype(np.uint8))
    lines: list[str] = []
    files = decide_folder(folder, out=tmp_path / "out", log=lines.append)
    assert [file.name for file in files] == ["with.nii.gz", "without.nii.gz"]
    for file, affine in zip(files, (AFFINE, np.eye(4)), strict=True):
        image = nibabel.load(file)
        np.testing.assert_array_equal(np.asarray(image.dataobj), expected(p, metric="dice"))
        np.testing.assert_allclose(image.affine, affine)
        assert image.get_data_dtype() == np.uint8
    assert lines[0].startswith("note: no NIfTI file lies beside")
    assert "without.npy" in lines[0]
    assert "2 label maps of 2 cases, decided for dice at temperature 1 →" in lines[-1]


def save_as_nnunet(folder, case, p_zyx, properties=None):
    """As ``export_prediction_from_logits`` of nnU-Net does."""
    np.savez_compressed(folder / f"{case}.npz", probabilities=p_zyx)
    (folder / f"{case}.pkl").write_bytes(pickle.dumps(properties or {"spacing": (1, 1, 1)}))


@pytest.mark.parametrize("reader", ["SimpleITKIO", "NibabelIO"])
def test_files_of_nnunet_with_its_own_readers(folder, tmp_path, reader):
    """An image is read by nnU-Net, its values taken as scores, and the label map written by nnU-Net."""
    pytest.importorskip("nnunetv2")
    from nnunetv2.imageio import nibabel_reader_writer, simpleitk_reader_writer

    module = simpleitk_reader_writer if reader == "SimpleITKIO" else nibabel_reader_writer
    io = getattr(module, reader)()
    p, _ = drawn(SHAPE, classes=2)
    save_volume(tmp_path / "image.nii.gz", p[1])
    scores, properties = io.read_images([str(tmp_path / "image.nii.gz")])
    one = scores[0].astype(np.float32)
    save_as_nnunet(folder, "case", np.stack([1 - one, one]), properties)
    io.write_seg((one > 0.5).astype(np.uint8), str(folder / "case.nii.gz"), properties)
    for name in ("dataset.json", "plans.json", "predict_from_raw_data_args.json"):
        (folder / name).write_text("{}")
    (file,) = decide_folder(folder, out=tmp_path / "out", log=silent)
    image = nibabel.load(file)
    np.testing.assert_allclose(image.affine, nibabel.load(tmp_path / "image.nii.gz").affine, atol=1e-5)
    want = expected(np.stack([1 - p[1], p[1]]), metric="dice")
    np.testing.assert_array_equal(np.asarray(image.dataobj), want)
    assert want.sum() > p[1].__gt__(0.5).sum()  # it is not argmax


def test_probabilities_that_nnunet_turned_are_refused(folder, tmp_path):
    """``NibabelIOWithReorient`` saves the label map as the image was, and the probabilities as it turned them."""
    pytest.importorskip("nnunetv2")
    from nnunetv2.imageio.nibabel_reader_writer import NibabelIOWithReorient

    io = NibabelIOWithReorient()
    p, _ = drawn(SHAPE, classes=2)
    save_volume(tmp_path / "image.nii.gz", p[1])
    scores, properties = io.read_images([str(tmp_path / "image.nii.gz")])
    one = scores[0].astype(np.float32)
    save_as_nnunet(folder, "case", np.stack([1 - one, one]), properties)
    io.write_seg((one > 0.5).astype(np.uint8), str(folder / "case.nii.gz"), properties)
    with pytest.raises(BadInput, match=r"case.npz.*mirrored or with their axes reversed in 100.0 %"):
        decide_folder(folder, out=tmp_path / "out", log=silent)
    assert not list((tmp_path / "out").iterdir())


def test_pictures_of_nnunet(folder, tmp_path):
    p, _ = drawn((12, 17))
    save_as_nnunet(folder, "a", p[:, None])
    Image.fromarray(p.argmax(0).astype(np.uint8)).save(folder / "a.png")
    (file,) = decide_folder(folder, out=tmp_path / "out", log=silent)
    np.testing.assert_array_equal(read_label_picture(file), expected(p, metric="dice"))


@pytest.mark.parametrize("vector", [False, True])
def test_nifti_with_the_classes_last(folder, tmp_path, vector):
    p, _ = drawn(SHAPE)
    values = np.moveaxis(p, 0, -1)
    save_volume(folder / "a.nii.gz", values[:, :, :, None] if vector else values)
    save_volume(folder / "a label map of something else.nii.gz", np.zeros(SHAPE, np.uint8))
    (file,) = decide_folder(folder, out=tmp_path / "out", background=None, log=silent)
    image = nibabel.load(file)
    np.testing.assert_array_equal(np.asarray(image.dataobj), expected(p, metric="dice", background=None))
    np.testing.assert_allclose(image.affine, AFFINE)
    assert image.shape == SHAPE


def test_channels_that_may_overlap(folder, tmp_path):
    p = np.stack([drawn((8, 9), classes=2, seed=seed)[0][1] for seed in range(2)])
    np.save(folder / "a.npy", p)
    with pytest.raises(BadInput, match=r"add up to between .* region-based training, use `activation=sigmoid`"):
        decide_folder(folder, out=tmp_path / "out", log=silent)
    files = decide_folder(folder, out=tmp_path / "out", activation="sigmoid", log=silent)
    assert [str(file.relative_to(tmp_path / "out")) for file in files] == ["channel_1/a.png", "channel_2/a.png"]
    want = expected(p, metric="dice", activation="sigmoid")
    for file, channel in zip(files, want, strict=True):
        np.testing.assert_array_equal(read_label_picture(file), channel)
    np.save(folder / "a.npy", p[:1])
    with pytest.raises(BadInput, match=r"has one channel. If it is the foreground's, use `activation=sigmoid`"):
        decide_folder(folder, out=tmp_path / "out", log=silent)
    (file,) = decide_folder(folder, out=tmp_path / "one", activation="sigmoid", log=silent)
    assert file == tmp_path / "one" / "a.png"
    np.testing.assert_array_equal(read_label_picture(file), want[0])


def test_regions_of_nnunet_become_one_label_map(folder, tmp_path):
    """Later regions of ``regions_class_order`` lie on top, as nnU-Net draws them."""
    p = np.stack([drawn((8, 9), classes=2, seed=seed)[0][1] for seed in range(2)])
    save_as_nnunet(folder, "a", p[:, None])
    (folder / "dataset.json").write_text(json.dumps({"regions_class_order": [3, 1]}))
    (file,) = decide_folder(folder, out=tmp_path / "out", activation="sigmoid", log=silent)
    first, second = expected(p, metric="dice", activation="sigmoid")
    np.testing.assert_array_equal(read_label_picture(file), np.where(second, 1, np.where(first, 3, 0)))
    for text, said in (
        (
            json.dumps({"regions_class_order": [1, 2, 3]}),
            "has 3 labels in regions_class_order, and the probabilities 2",
        ),
        ("[", "dataset.json' is not valid JSON in UTF-8, and cannot be read"),
        (json.dumps({"regions_class_order": "ab"}), "dataset.json' cannot be read: regions_class_order: invalid"),
    ):
        (folder / "dataset.json").write_text(text)
        with pytest.raises(BadInput, match=said):
            decide_folder(folder, out=tmp_path / "out", activation="sigmoid", log=silent)
    (folder / "dataset.json").write_text("{}")
    assert len(decide_folder(folder, out=tmp_path / "out", activation="sigmoid", log=silent)) == 2


def test_a_temperature_is_fitted_and_said(folder, tmp_path):
    """Probabilities that are 2.5 times too sure, on labels that were drawn from the right ones."""
    for name in ("fit", "true"):
        (tmp_path / name).mkdir()
    for seed in range(6):
        p, labels = drawn((40, 40), seed=seed)
        np.save(tmp_path / "fit" / f"{seed}.npy", sharpened(p, 1 / 2.5))
        labels[:5] = 255
        Image.fromarray(labels).save(tmp_path / "true" / f"{seed}.png")
    np.save(folder / "a.npy", sharpened(p, 1 / 2.5))
    lines: list[str] = []
    options = {"out": tmp_path / "out", "fit": tmp_path / "fit", "fit_target": tmp_path / "true", "log": lines.append}
    with pytest.raises(BadInput, match=r"holds the label 255, .* classes 0 to 2.* say `ignore_index=255`"):
        decide_folder(folder, **options)
    (file,) = decide_folder(folder, ignore_index=255, **options)
    found = re.fullmatch(r"temperature ([\d.]+), fitted on 6 cases of .*fit", lines[0])
    assert float(found[1]) == pytest.approx(2.5, rel=0.15)  # the likeliest, or one of those that are tried beside it
    # nearly back at the right probabilities
    assert (read_label_picture(file) == expected(p, metric="dice")).mean() > 0.95
    lines.clear()
    decide_folder(folder, ignore_index=255, metric="size", **options)
    found = re.fullmatch(r"temperature ([\d.]+), fitted on 6 cases of .*fit", lines[0])
    assert float(found[1]) == pytest.approx(2.5, rel=0.1)  # sizes want probabilities that fit
    with pytest.raises(BadInput, match="`fit` finds the temperature"):
        decide_folder(folder, temperature=2.0, **options)
    with pytest.raises(BadInput, match="`fit` and `fit_target` belong together"):
        decide_folder(folder, out=tmp_path / "out", fit=tmp_path / "fit")
    (tmp_path / "true" / "3.png").unlink()
    with pytest.raises(BadInput, match="has no label map for 1 case, such as '3'"):
        decide_folder(folder, ignore_index=255, **options)
    Image.fromarray(np.zeros((3, 3), np.uint8)).save(tmp_path / "true" / "3.png")
    with pytest.raises(BadInput, match=r"3.png' has size \(3, 3\), and its probabilities \(40, 40\)"):
        decide_folder(folder, ignore_index=255, **options)


def test_a_temperature_of_another_model_is_refused(folder, tmp_path):
    for name in ("fit", "true"):
        (tmp_path / name).mkdir()
    p, labels = drawn((20, 20), seed=0)
    np.save(folder / "a.npy", p)
    four = np.concatenate((p[:2], p[2:] / 2, p[2:] / 2))
    for case, values in (("b", four), ("c", p)):
        np.save(tmp_path / "fit" / f"{case}.npy", values)
        Image.fromarray(labels).save(tmp_path / "true" / f"{case}.png")
    options = {"out": tmp_path / "out", "fit": tmp_path / "fit", "fit_target": tmp_path / "true", "log": silent}
    with pytest.raises(BadInput, match=r"`fit`: '.*c.npy' has 3 classes, and 'b.npy' 4. Wanted one model's"):
        decide_folder(folder, **options)
    (tmp_path / "fit" / "c.npy").unlink()
    (tmp_path / "true" / "c.png").unlink()
    with pytest.raises(BadInput, match=r"a.npy' has 3 classes, and the probabilities of `fit` '.*fit' 4. Wanted those"):
        decide_folder(folder, **options)
    assert not list(tmp_path.glob("out/*"))


def test_a_temperature_of_volumes_and_of_masks(tmp_path):
    from sizewise.probability_maps.fit_folder import fit_folder

    for name in ("fit", "true", "one", "masks"):
        (tmp_path / name).mkdir()
    for seed in range(3):
        p, labels = drawn((16, 15, 14), classes=2, seed=seed)
        sure = sharpened(p, 0.5)
        save_volume(tmp_path / "fit" / f"{seed}.nii.gz", np.moveaxis(sure, 0, -1))
        save_volume(tmp_path / "true" / f"{seed}.nii.gz", labels)
        np.save(tmp_path / "one" / f"{seed}.npy", sure[1:, :, :, 0])
        Image.fromarray(labels[:, :, 0] * np.uint8(255)).save(tmp_path / "masks" / f"{seed}.png")
    found, cases, classes = fit_folder(tmp_path / "fit", tmp_path / "true", metric="size")
    assert (found, cases, classes) == (pytest.approx(2.0, rel=0.15), 3, 2)
    found, *_ = fit_folder(tmp_path / "one", tmp_path / "masks", metric="size", activation="sigmoid")
    assert found == pytest.approx(2.0, rel=0.35)
    np.save(tmp_path / "one" / "0.npy", sure[:, :, :, 0])
    with pytest.raises(BadInput, match="has 2 channels that may overlap, which one label map cannot hold"):
        fit_folder(tmp_path / "one", tmp_path / "masks", metric="size", activation="sigmoid")


def wrong(folder, what):
    """Write what is wrong into the folder."""
    p, _ = drawn(SHAPE)
    if what == "nothing":
        return
    if what == "label maps":
        save_volume(folder / "a.nii.gz", np.zeros(SHAPE, np.uint8))
    if what == "classes first in NIfTI":
        save_volume(folder / "a.nii.gz", p)
    if what == "classes last in an array":
        np.save(folder / "a.npy", np.moveaxis(p[..., 0], 0, -1))
    if what == "logits":
        np.save(folder / "a.npy", np.log(p))
    if what == "NaN":
        np.save(folder / "a.npy", np.where(p > 0.9, np.nan, p))
    if what == "integers":
        np.save(folder / "a.npy", p.argmax(0).astype(np.int64)[None])
    if what == "a vector":
        np.save(folder / "a.npy", p[0, 0, 0])
    if what == "objects":
        np.save(folder / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    if what == "another key":
        np.savez(folder / "a.npz", softmax=p)
    if what == "a truncated file":
        np.savez(folder / "a.npz", probabilities=p)
        (folder / "a.npz").write_bytes((folder / "a.npz").read_bytes()[:100])
    if what == "no label map beside":
        np.savez(folder / "a.npz", probabilities=p)
    if what == "another size beside":
        np.savez(folder / "a.npz", probabilities=p)
        save_volume(folder / "a.nii.gz", p.argmax(0).astype(np.uint8))  # not reversed
    if what == "two files of a case":
        np.save(folder / "a.npy", p)
        np.savez(folder / "a.npz", probabilities=p)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("nothing", "has no probabilities. Wanted CASE.npz of nnU-Net"),
        ("label maps", "have no axis of classes: they are label maps or images"),
        ("classes first in NIfTI", "its first axis looks like the classes"),
        ("classes last in an array", r"its last axis looks like the classes. Wanted them first: \(K, \*S\)"),
        ("logits", r"holds values from -.* raw scores have to go through a softmax or a sigmoid"),
        ("NaN", "holds NaN. Wanted probabilities, from 0 to 1"),
        ("integers", "holds int64 of shape"),
        ("a vector", r"has shape \(5,\). Wanted \(K, H, W\), or \(K, X, Y, Z\)"),
        ("objects", "a.npy' cannot be read: Object arrays"),
        ("another key", "a.npz' holds softmax. Wanted an array called probabilities"),
        ("a truncated file", "a.npz' cannot be read"),
        ("no label map beside", "Wanted 'a.nii.gz' in the same folder, as nnU-Net writes it"),
        ("another size beside", r"a.npz' has size \(5, 7, 9\), and 'a.nii.gz' beside it \(9, 7, 5\)"),
        ("two files of a case", "has 'a.npy', 'a.npz' for one case"),
    ],
)
def test_what_is_unclear_is_a_sentence_and_nothing_is_written(folder, tmp_path, what, said):
    wrong(folder, what)
    with pytest.raises(BadInput, match=said):
        decide_folder(folder, out=tmp_path / "out", log=silent)
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def test_wrong_words_and_folders(folder, tmp_path):
    p, _ = drawn((6, 7))
    np.save(folder / "a.npy", p)
    (tmp_path / "file").touch()
    out = tmp_path / "out"
    for options, said in (
        ({"metric": "dise"}, "`metric` must be one of .* Did you mean 'dice'"),
        ({"activation": "softmin"}, "`activation` must be one of"),
        ({"device": "tpu"}, "`device` must be one of"),
        ({"temperature": 0.0}, "`temperature` must be a number above 0, got 0"),
        ({"background": 3}, "`background` is 3, and '.*' has the classes 0 to 2. Name one of them"),
        ({"out": folder}, "is a folder that is read from. Name another"),
        ({"out": tmp_path / "file"}, "is a file; name a folder"),
        ({"out": tmp_path / "file" / "in"}, "cannot be made"),
    ):
        with pytest.raises(BadInput, match=said):
            decide_folder(folder, **({"out": out, "log": silent} | options))
    with pytest.raises(BadInput, match=r"`probabilities` .* does not exist. Wanted a folder"):
        decide_folder(tmp_path / "nowhere", out=out)
    np.save(folder / "b.npy", drawn((6, 7), classes=4)[0])
    with pytest.raises(BadInput, match=r"b.npy' has 4 classes, and 'a.npy' 3"):
        decide_folder(folder, out=out, log=silent)
    with pytest.raises(BadInput, match="`background` must be none or a class id, got 'sky'"):
        read_background("sky")


def test_a_full_disk_leaves_what_was_there(folder, tmp_path, monkeypatch):
    import errno

    np.save(folder / "a.npy", drawn((6, 7))[0])
    (file,) = decide_folder(folder, out=tmp_path / "out", metric="argmax", log=silent)
    before = file.read_bytes()

    def full(*given, **named):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("PIL.Image.Image.save", full)
    with pytest.raises(RunFailed, match="cannot be written: No space left on device"):
        decide_folder(folder, out=tmp_path / "out", log=silent)
    assert file.read_bytes() == before
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["a.png"]
