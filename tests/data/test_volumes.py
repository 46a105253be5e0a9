"""NIfTI in and out: values, channels, geometry, damaged files."""

import gzip
import pickle
import subprocess
import sys

import nibabel as nib
import numpy as np
import pytest
from data.layouts.tiny_volumes import AFFINE, SHAPE, labels, save, scan

from sizewise.data.dataset import Case
from sizewise.data.volumes import VolumeReader, count_spatial_dims, read_volume
from sizewise.errors import BadInput


@pytest.fixture
def case(tmp_path):
    image = save(tmp_path / "images" / "a.nii.gz", scan(0))
    target = save(tmp_path / "labels" / "a.nii.gz", labels(classes=3))
    return Case("a", (image,), (target,))


def test_values_and_spacing_are_those_of_the_file(case):
    array, spacing, affine = read_volume(case.images[0])
    assert np.array_equal(array, scan(0))
    assert spacing == pytest.approx((0.8, 0.8, 2.5))  # the lengths of AFFINE's columns
    assert np.allclose(affine, AFFINE)


def test_a_header_with_scaling_gives_scaled_values(tmp_path):
    image = nib.Nifti1Image(np.arange(8, dtype=np.int16).reshape(2, 2, 2), np.eye(4))
    image.header.set_slope_inter(2.0, 5.0)
    nib.save(image, tmp_path / "scaled.nii")
    stored = nib.load(tmp_path / "scaled.nii")
    expected = np.asanyarray(stored.dataobj)
    assert np.array_equal(read_volume(tmp_path / "scaled.nii")[0], expected)


def test_one_channel_several_files_and_4d_files(tmp_path, case):
    reader = VolumeReader(values=(0, 1, 2))
    image = reader.image(case)
    assert image.pixels.shape == (1, *SHAPE)
    assert image.pixels.dtype == np.float32
    assert image.spacing == pytest.approx((0.8, 0.8, 2.5))

    second = save(tmp_path / "images" / "b.nii.gz", scan(1))
    both = reader.image(Case("a", (case.images[0], second))).pixels
    assert np.array_equal(both, np.stack([scan(0), scan(1)]).astype(np.float32))

    four = save(tmp_path / "images" / "c.nii.gz", scan(2, channels=4))
    pixels = reader.image(Case("c", (four,))).pixels
    assert pixels.shape == (4, *SHAPE)
    assert np.array_equal(pixels[3], scan(2, channels=4)[..., 3].astype(np.float32))
    with pytest.raises(BadInput, match=r"case c: wanted 1 channels, got 4 in .*c\.nii\.gz"):
        VolumeReader(values=(0, 1), channels=1).image(Case("c", (four,)))


def test_channels_of_different_size_are_named(tmp_path, case):
    small = save(tmp_path / "images" / "small.nii.gz", scan(1, shape=(8, 7, 4)))
    with pytest.raises(BadInput, match=r"a\.nii\.gz.*\(8, 7, 5\).*small\.nii\.gz.*\(8, 7, 4\)"):
        VolumeReader(values=(0, 1)).image(Case("a", (case.images[0], small)))


def test_a_2d_slice_with_and_without_a_third_axis(tmp_path):
    for name, shape in (("flat", (6, 5)), ("thin", (6, 5, 1))):
        image = save(tmp_path / f"{name}.nii.gz", scan(3, shape=shape))
        target = save(tmp_path / f"{name}-labels.nii.gz", labels(classes=2, shape=shape))
        assert count_spatial_dims(image) == 2
        reader = VolumeReader(values=(0, 1), spatial_dims=2)
        case = Case(name, (image,), (target,))
        assert reader.image(case).pixels.shape == (1, 6, 5)
        assert reader.image(case).spacing == pytest.approx((0.8, 0.8))
        assert reader.target(case).shape == (6, 5)
        written = nib.load(reader.write(reader.target(case), case, tmp_path / "out"))
        assert written.shape == shape


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.float32, np.float64])
def test_labels_stored_in_any_type_become_class_ids(tmp_path, case, dtype):
    target = save(tmp_path / "typed.nii.gz", labels(classes=3, dtype=dtype))
    found = VolumeReader(values=(0, 1, 2)).target(Case("a", case.images, (target,)))
    assert found.dtype == np.uint8
    assert np.array_equal(found, labels(classes=3))


def test_fractions_in_a_label_map_are_named(tmp_path, case):
    array = labels(classes=3, dtype=np.float32)
    array[0, 0, 0], array[0, 0, 1] = 0.5, np.nan
    target = save(tmp_path / "soft.nii.gz", array)
    with pytest.raises(BadInput, match=r"soft\.nii\.gz.*not whole numbers: 0\.5, nan"):
        VolumeReader(values=(0, 1, 2)).target(Case("a", case.images, (target,)))


@pytest.mark.parametrize("stray", [7, -1])
def test_unknown_values_are_listed_and_ignore_index_admits_them(tmp_path, case, stray):
    array = labels(classes=3, dtype=np.int16)
    array[0, 0, 0] = stray
    with_stray = Case("a", case.images, (save(tmp_path / "stray.nii.gz", array),))
    with pytest.raises(BadInput, match=rf"stray\.nii\.gz' has the label values {stray}, .* 0, 1, 2\..*`ignore_index`"):
        VolumeReader(values=(0, 1, 2)).target(with_stray)
    found = VolumeReader(values=(0, 1, 2), ignore_index=stray).target(with_stray)
    assert found[0, 0, 0] == stray
    assert np.array_equal(found.ravel()[1:], labels(classes=3).ravel()[1:])


def test_merge_joins_the_foreground_and_keeps_ignored_voxels(case):
    merged = VolumeReader(values=(0, 1, 2), merge=True).target(case)
    assert np.array_equal(merged, (labels(classes=3) > 0).astype(np.uint8))
    ignoring = VolumeReader(values=(0, 1), merge=True, ignore_index=2).target(case)
    assert np.bincount(ignoring.ravel()).tolist() == [280 - 3, 1, 2]  # 8·7·5 voxels, 1 of class 1, 2 ignored


def test_an_ignore_index_that_would_hide_a_class_is_refused():
    with pytest.raises(BadInput, match="`ignore_index=1` is also the number that a class gets"):
        VolumeReader(values=(0, 5), ignore_index=1)
    with pytest.raises(BadInput, match="merged"):
        VolumeReader(values=(0, 1, 2), ignore_index=1, merge=True)
    VolumeReader(values=(0, 1, 2), ignore_index=2)  # a class may be ignored on purpose


def test_gaps_between_values_are_closed_and_opened_again(tmp_path, case):
    array = labels(classes=3) * np.uint8(40)  # 0, 40, 80
    gapped = Case("a", case.images, (save(tmp_path / "gaps.nii.gz", array),))
    reader = VolumeReader(values=(0, 40, 80))
    assert np.array_equal(reader.target(gapped), labels(classes=3))
    written = nib.load(reader.write(reader.target(gapped), gapped, tmp_path / "out"))
    assert np.array_equal(np.asanyarray(written.dataobj), array)


def test_size_mismatch_names_both_files(tmp_path, case):
    target = save(tmp_path / "short.nii.gz", labels(classes=3, shape=(8, 7, 4)))
    with pytest.raises(BadInput, match=r"short\.nii\.gz' has size \(8, 7, 4\), its image '.*a\.nii\.gz' \(8, 7, 5\)"):
        VolumeReader(values=(0, 1, 2)).target(Case("a", case.images, (target,)))


def test_affine_mismatch_names_both_files_but_rounding_passes(tmp_path, case):
    shifted, rounded, flipped = AFFINE.copy(), AFFINE + 1e-4, AFFINE.copy()
    shifted[2, 3] += 2.5  # one slice
    flipped[0, 0] *= -1
    reader = VolumeReader(values=(0, 1, 2))
    for affine, offset in ((shifted, "2.5"), (flipped, "11.2")):  # 7 steps of 2 · 0.8 mm
        target = save(tmp_path / "moved.nii.gz", labels(classes=3), affine)
        with pytest.raises(BadInput, match=rf"moved\.nii\.gz' lies up to {offset} mm .*a\.nii\.gz.*affines differ"):
            reader.target(Case("a", case.images, (target,)))
    target = save(tmp_path / "rounded.nii.gz", labels(classes=3), rounded)
    assert reader.target(Case("a", case.images, (target,))).sum() == 1 + 2 * 2


@pytest.mark.parametrize("damage", ["cut", "not gzip", "empty", "text"])
def test_damaged_files_are_named(case, damage):
    path = case.images[0]
    whole = path.read_bytes()
    bad = {
        "cut": whole[: len(whole) // 2],
        "not gzip": gzip.decompress(whole),
        "empty": b"",
        "text": gzip.compress(b"hello" * 100),
    }
    path.write_bytes(bad[damage])
    with pytest.raises(BadInput, match=r"a\.nii\.gz.*(truncated|can't be read).*again"):
        VolumeReader(values=(0, 1, 2)).image(case)


def test_a_flipped_bit_of_a_compressed_volume_is_refused_or_changes_nothing(tmp_path):
    """nibabel stops reading where the last voxel ends, and the checksum comes after it."""
    path = tmp_path / "a.nii.gz"
    nib.save(nib.Nifti1Image(np.random.default_rng(0).integers(0, 99, (6, 7, 8)).astype(np.int16), np.eye(4)), path)
    whole, values = path.read_bytes(), read_volume(path)[0]
    refused = 0
    for bit in range(0, 8 * len(whole), 61):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            found = read_volume(path)[0]
        except BadInput:
            refused += 1
        else:
            assert np.array_equal(found, values), bit  # the name or the time in gzip's own header
    assert refused > 50


def test_missing_and_foreign_files_are_named(tmp_path, case):
    with pytest.raises(BadInput, match=r"gone\.nii\.gz' does not exist"):
        read_volume(tmp_path / "gone.nii.gz")
    (tmp_path / "scan.mha").write_bytes(b"x")
    with pytest.raises(BadInput, match=r"scan\.mha' is not a NIfTI file"):
        read_volume(tmp_path / "scan.mha")
    with pytest.raises(BadInput, match="case a has no label map"):
        VolumeReader(values=(0, 1)).target(Case("a", case.images))


def test_written_labels_lie_in_the_images_geometry(tmp_path):
    image = nib.Nifti1Image(scan(5, channels=2), AFFINE)
    image.set_qform(AFFINE, code=1)
    image.set_sform(AFFINE, code=1)
    image.header.set_xyzt_units("mm", "sec")
    image.header["cal_max"] = 500
    (tmp_path / "in").mkdir()
    nib.save(image, tmp_path / "in" / "x.nii.gz")
    case = Case("x", (tmp_path / "in" / "x.nii.gz",))
    path = VolumeReader(values=(0, 1, 2)).write(labels(classes=3), case, tmp_path / "new" / "folder")
    assert path == tmp_path / "new" / "folder" / "x.nii.gz"
    assert [file.name for file in path.parent.iterdir()] == ["x.nii.gz"]
    written = nib.load(path)
    assert written.shape == SHAPE
    assert np.array_equal(np.asanyarray(written.dataobj), labels(classes=3))
    assert written.get_data_dtype() == np.uint8
    assert np.allclose(written.affine, AFFINE)
    assert (int(written.header["qform_code"]), int(written.header["sform_code"])) == (1, 1)
    assert written.header.get_zooms() == pytest.approx((0.8, 0.8, 2.5))
    assert written.header.get_xyzt_units() == ("mm", "sec")
    assert written.header["cal_max"] == 0


def test_regions_overlap_and_are_written_in_order(tmp_path, case):
    reader = VolumeReader(values=(0, 1, 2), regions=((1, 2), (2,)), region_order=(1, 2))
    target = reader.target(case)
    assert target.dtype == np.uint8
    assert [int(channel.sum()) for channel in target] == [1 + 2, 2]
    written = nib.load(reader.write(target, case, tmp_path / "out"))
    assert np.array_equal(np.asanyarray(written.dataobj), labels(classes=3))


def test_the_reader_travels_to_workers(case):
    reader = VolumeReader(values=(0, 1, 2))
    assert np.array_equal(pickle.loads(pickle.dumps(reader)).target(case), reader.target(case))


def test_volumes_load_without_torch():
    code = "import sizewise.data.volumes, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("code", ["RAS", "LPS", "PIR", "SLA"])
def test_canonical_axes_are_the_same_for_every_orientation_and_are_turned_back(tmp_path, code):
    """One scan, stored in several orientations by nibabel itself, reads as one array with one spacing."""
    upright = np.diag([0.8, 0.9, 2.5, 1.0])
    upright_turn = nib.orientations.io_orientation(upright)
    turn = nib.orientations.ornt_transform(upright_turn, nib.orientations.axcodes2ornt(tuple(code)))
    for name, array in (("image", scan(0)), ("labels", labels(classes=3))):
        stored = nib.Nifti1Image(array, upright).as_reoriented(turn)
        nib.save(stored, tmp_path / f"{name}.nii.gz")
    case = Case("a", (tmp_path / "image.nii.gz",), (tmp_path / "labels.nii.gz",))
    assert nib.aff2axcodes(nib.load(case.images[0]).affine) == tuple(code)
    reader = VolumeReader(values=(0, 1, 2), axes="canonical")
    image = reader.image(case)
    assert np.array_equal(image.pixels[0], scan(0).astype(np.float32))
    assert image.spacing == pytest.approx((0.8, 0.9, 2.5))
    assert np.array_equal(reader.target(case), labels(classes=3))
    written = nib.load(reader.write(reader.target(case), case, tmp_path / "out"))
    original = nib.load(case.target[0])
    assert np.array_equal(np.asanyarray(written.dataobj), np.asanyarray(original.dataobj))
    assert np.allclose(written.affine, original.affine)
