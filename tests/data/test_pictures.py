import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sizewise.data.pictures import (
    picture_channels,
    picture_size,
    read_label_picture,
    read_picture,
    read_region,
    write_label_picture,
)
from sizewise.errors import BadInput

GRADIENT = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20  # 0 … 220


@pytest.mark.parametrize("extension", ["png", "bmp", "tif", "TIFF", "PNG"])
def test_lossless_formats_keep_every_colour(tmp_path, extension):
    colours = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    path = tmp_path / f"a.{extension}"
    Image.fromarray(colours).save(path)
    decoded = read_picture(path)
    assert decoded.shape == (3, 5, 7)
    assert decoded.dtype == np.uint8
    np.testing.assert_array_equal(decoded, colours.transpose(2, 0, 1))
    assert decoded.flags.c_contiguous
    assert decoded.flags.writeable


def test_jpeg_is_near(tmp_path):
    path = tmp_path / "a.JPEG"
    Image.fromarray(np.full((16, 16, 3), (200, 100, 50), dtype=np.uint8)).save(path, quality=95)
    assert np.abs(read_picture(path)[:, 8, 8].astype(int) - (200, 100, 50)).max() <= 3


def test_grey_has_one_channel_and_transparency_is_dropped(tmp_path):
    Image.fromarray(GRADIENT).save(tmp_path / "grey.png")
    alpha = np.full_like(GRADIENT, 7)
    Image.fromarray(np.stack([GRADIENT, alpha], -1)).save(tmp_path / "grey_alpha.png")
    Image.fromarray(np.stack([GRADIENT] * 3 + [alpha], -1)).save(tmp_path / "colour_alpha.png")
    np.testing.assert_array_equal(read_picture(tmp_path / "grey.png"), GRADIENT[None])
    np.testing.assert_array_equal(read_picture(tmp_path / "grey_alpha.png"), GRADIENT[None])
    np.testing.assert_array_equal(read_picture(tmp_path / "colour_alpha.png"), np.stack([GRADIENT] * 3))
    assert [picture_channels(tmp_path / f"{name}.png") for name in ("grey", "grey_alpha", "colour_alpha")] == [1, 1, 3]


@pytest.mark.parametrize(
    ("brightest", "middle", "expected"),
    [(65535, 32768, 128), (4095, 2048, 128), (4000, 2048, 128), (1023, 512, 128), (200, 100, 100)],
)
@pytest.mark.parametrize("extension", ["png", "tif"])
def test_deep_grey_is_scaled_by_its_bit_depth(tmp_path, brightest, middle, expected, extension):
    # 32768 / 65535 · 255 = 127.5…, 2048 / 4095 · 255 = 127.5…, 512 / 1023 · 255 = 127.6; 8 bits stay as they are
    path = tmp_path / f"deep.{extension}"
    Image.fromarray(np.array([[0, middle, brightest]], dtype=np.uint16)).save(path)
    decoded = read_picture(path)
    assert decoded.shape == (1, 1, 3)
    assert decoded[0, 0, 1] == expected
    assert decoded.dtype == np.uint8


def test_palette_and_one_bit_images_become_colours_and_grey(tmp_path):
    palette = Image.fromarray(np.array([[0, 1]], dtype=np.uint8))
    palette.putpalette([10, 20, 30, 40, 50, 60])
    palette.save(tmp_path / "p.png")
    assert read_picture(tmp_path / "p.png")[:, 0].T.tolist() == [[10, 20, 30], [40, 50, 60]]
    Image.fromarray(np.array([[False, True]])).save(tmp_path / "bit.png")
    assert read_picture(tmp_path / "bit.png").tolist() == [[[0, 255]]]


def test_exif_orientation_turns_the_picture(tmp_path):
    exif = Image.Exif()
    exif[274] = 6  # shown after a quarter turn clockwise
    Image.fromarray(GRADIENT).save(tmp_path / "a.png", exif=exif)
    np.testing.assert_array_equal(read_picture(tmp_path / "a.png")[0], np.rot90(GRADIENT, -1))
    assert picture_size(tmp_path / "a.png") == (4, 3)


@pytest.mark.parametrize("extension", ["png", "jpg", "bmp", "tif"])
@pytest.mark.parametrize("read", [read_picture, read_label_picture, read_region])
def test_a_truncated_file_is_named(tmp_path, extension, read):
    path = tmp_path / f"cut.{extension}"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)).save(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(BadInput, match=rf"cut\.{extension}' cannot be read as a picture"):
        read(path)


def test_a_volume_beside_pictures_is_called_one(tmp_path):
    (tmp_path / "a.nii.gz").write_bytes(gzip.compress(b"not a picture"))
    with pytest.raises(BadInput, match=r"a\.nii\.gz' is a volume, and a picture was wanted"):
        read_label_picture(tmp_path / "a.nii.gz")


@pytest.mark.parametrize("content", [b"", b"not a picture", b"\x89PNG\r\n\x1a\n"])
def test_what_is_no_picture_is_named(tmp_path, content):
    (tmp_path / "odd.png").write_bytes(content)
    with pytest.raises(BadInput, match=r"odd\.png' cannot be read"):
        read_picture(tmp_path / "odd.png")
    with pytest.raises(BadInput, match=r"odd\.png' cannot be read"):
        picture_size(tmp_path / "odd.png")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"gone\.png' does not exist"):
        read_picture(tmp_path / "gone.png")


def test_several_pages_are_refused(tmp_path):
    pages = [Image.fromarray(GRADIENT), Image.fromarray(GRADIENT)]
    pages[0].save(tmp_path / "stack.tif", save_all=True, append_images=pages[1:])
    with pytest.raises(BadInput, match=r"stack\.tif' holds 2 pages"):
        read_picture(tmp_path / "stack.tif")


def test_fractions_are_refused_as_images_and_as_masks(tmp_path):
    Image.fromarray(np.array([[0.5, 1.0]], dtype=np.float32)).save(tmp_path / "f.tif")
    with pytest.raises(BadInput, match="fractions"):
        read_picture(tmp_path / "f.tif")
    with pytest.raises(BadInput, match="whole numbers"):
        read_label_picture(tmp_path / "f.tif")
    Image.fromarray(np.array([[0.0, 2.0]], dtype=np.float32)).save(tmp_path / "whole.tif")
    assert read_label_picture(tmp_path / "whole.tif").tolist() == [[0, 2]]


def test_a_palette_mask_gives_its_indices(tmp_path):
    labels = np.array([[0, 1], [2, 255]], dtype=np.uint8)
    picture = Image.fromarray(labels)
    picture.putpalette([0, 0, 0, 128, 0, 0, 0, 128, 0] + [224, 224, 192] * 253)
    picture.save(tmp_path / "voc.png")
    np.testing.assert_array_equal(read_label_picture(tmp_path / "voc.png"), labels)


def test_a_black_and_white_palette_counts_by_colour_whichever_index_is_which(tmp_path):
    picture = Image.fromarray(np.array([[0, 1]], dtype=np.uint8))
    picture.putpalette([255, 255, 255, 0, 0, 0])  # index 0 is white
    picture.save(tmp_path / "inverted.png")
    assert read_label_picture(tmp_path / "inverted.png").tolist() == [[255, 0]]


def test_mask_values_as_stored(tmp_path):
    Image.fromarray(np.array([[False, True]])).save(tmp_path / "bit.png")
    assert read_label_picture(tmp_path / "bit.png").tolist() == [[0, 255]]
    Image.fromarray(np.array([[0, 300]], dtype=np.uint16)).save(tmp_path / "deep.png")
    assert read_label_picture(tmp_path / "deep.png").tolist() == [[0, 300]]
    grey = np.array([[[3, 3, 3], [0, 0, 0]]], dtype=np.uint8)
    Image.fromarray(grey).save(tmp_path / "rgb_grey.png")
    assert read_label_picture(tmp_path / "rgb_grey.png").tolist() == [[3, 0]]
    colour = np.array([[[3, 4, 3], [0, 0, 0]]], dtype=np.uint8)
    Image.fromarray(colour).save(tmp_path / "colour.png")
    np.testing.assert_array_equal(read_label_picture(tmp_path / "colour.png"), colour)


def test_a_region_is_whatever_is_not_black(tmp_path):
    expected = [[0, 1]]
    Image.fromarray(np.array([[False, True]])).save(tmp_path / "bit.png")
    Image.fromarray(np.array([[0, 127]], dtype=np.uint8)).save(tmp_path / "grey.png")
    Image.fromarray(np.array([[[0, 0, 0], [255, 0, 0]]], dtype=np.uint8)).save(tmp_path / "red.png")
    palette = Image.fromarray(np.array([[0, 1]], dtype=np.uint8))
    palette.putpalette([0, 0, 0, 255, 0, 0])
    palette.save(tmp_path / "palette.tif")
    opaque = np.array([[[0, 0, 0, 255], [9, 9, 9, 255]]], dtype=np.uint8)
    Image.fromarray(opaque).save(tmp_path / "alpha.png")
    for name in ("bit.png", "grey.png", "red.png", "palette.tif", "alpha.png"):
        region = read_region(tmp_path / name)
        assert region.tolist() == expected, name
        assert region.dtype == np.uint8


def test_label_maps_come_back_as_written(tmp_path):
    labels = np.arange(20).reshape(4, 5)
    path = write_label_picture(labels, tmp_path / "new" / "a.png")
    np.testing.assert_array_equal(read_label_picture(path), labels)
    np.testing.assert_array_equal(read_label_picture(write_label_picture(labels > 9, tmp_path / "b.png")), labels > 9)
    many = np.array([[0, 256, 65535]])
    np.testing.assert_array_equal(read_label_picture(write_label_picture(many, tmp_path / "many.png")), many)
    with pytest.raises(ValueError, match="ids from 0 to 65535"):
        write_label_picture(np.array([[-1]]), tmp_path / "bad.png")


def test_written_label_maps_can_be_seen(tmp_path):
    path = write_label_picture(np.array([[0, 1, 2]]), tmp_path / "a.png")
    colours = np.asarray(Image.open(io.BytesIO(path.read_bytes())).convert("RGB"))[0].tolist()
    assert colours == [[0, 0, 0], [128, 0, 0], [0, 128, 0]]


@pytest.mark.parametrize("extension", ["png", "jpg", "bmp", "tiff"])
def test_damage_anywhere_is_a_bad_input_or_decodes(tmp_path, extension):
    rng = np.random.default_rng(0)
    path = tmp_path / f"a.{extension}"
    Image.fromarray(rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)).save(path)
    whole, messages = path.read_bytes(), []
    for _ in range(60):
        damaged = bytearray(whole[: rng.integers(1, len(whole) + 1)])
        damaged[rng.integers(0, min(len(damaged), 200))] ^= 255
        path.write_bytes(bytes(damaged))
        try:
            decoded = read_picture(path)
        except BadInput as error:
            messages.append(str(error))
        else:
            assert decoded.ndim == 3
    assert len(messages) > 20
    assert all(path.name in message for message in messages)


def test_a_file_that_may_not_be_read_says_so(tmp_path, monkeypatch):
    def denied(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Image, "open", denied)
    with pytest.raises(BadInput, match=r"a\.png' may not be read: permission denied"):
        read_picture(tmp_path / "a.png")


def test_a_label_map_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = write_label_picture(np.ones((4, 4), np.uint8), tmp_path / "a.png")
    whole = path.read_bytes()

    def full(self, file, **options):
        Path(file).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", full)
    with pytest.raises(OSError, match="No space left"):
        write_label_picture(np.zeros((4, 4), np.uint8), path)
    assert path.read_bytes() == whole
    assert [one.name for one in tmp_path.iterdir()] == ["a.png"]
