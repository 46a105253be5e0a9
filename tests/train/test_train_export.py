"""A run as one file: what onnxruntime makes of it is what predicting gives, on real cases."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from data.layouts.image_folder import write_multiclass_folder
from sampling import EXHAUSTIVE
from train.tiny_runs import PHOTO, train_tiny

import sizewise as sw
from sizewise.cli.export import command
from sizewise.data.recognise import open_dataset
from sizewise.errors import BadInput, RunFailed
from sizewise.train.export import FORMATS, _image_shape, export_run
from sizewise.train.graph_decision import graph_labels

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install '.[export]'")
pytest.importorskip("onnxscript", reason="onnxscript is not installed: pip install '.[export]'")
pytestmark = pytest.mark.usefixtures("no_curves")


@pytest.mark.parametrize("metric", ["argmax", "dice", "iou"])
@pytest.mark.parametrize(
    ("classes", "sigmoid", "background"), [(2, False, 0), (4, False, 0), (3, False, None), (1, True, 0), (3, True, 0)]
)
def test_the_graph_decides_as_decide(metric, classes, sigmoid, background):
    torch.manual_seed(classes)
    for _ in range(4):
        logits = torch.randn(1, classes, 9, 11) * 2
        found = graph_labels(logits, metric=metric, sigmoid=sigmoid, background=background, temperature=1.3)
        wanted = sw.decide(
            logits,
            metric=metric,
            activation="sigmoid" if sigmoid else "softmax",
            background=background,
            temperature=1.3,
        )
        assert torch.equal(found, wanted[0].to(found.dtype))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)
        train_tiny("synthetic", folder, epochs=2, steps_per_epoch=8, learning_rate=0.01, size=(32, 32))
    return folder


def images():
    dataset = open_dataset("synthetic")
    return [dataset.reader.image(case).pixels for case in dataset.cases[:4]]


@pytest.mark.parametrize("decide", ["argmax", "dice"])
def test_onnxruntime_gives_what_predict_gives(run, tmp_path, decide):
    shape = images()[0].shape[1:]
    assert shape != (32, 32)  # so that the file resizes too
    temperature = None if decide == "argmax" else 1.3
    made = export_run(run, tmp_path / "run.onnx", decide=decide, temperature=temperature, shape=shape)
    assert made.equal_labels > 0.999
    session = onnxruntime.InferenceSession(str(made.path), providers=["CPUExecutionProvider"])
    segment = sw.load_run(run, decide=decide, temperature=temperature, device="cpu")
    for pixels in images():
        labels, probabilities = session.run(None, {"pixels": pixels})
        assert labels.dtype == np.uint8
        assert (labels == segment(pixels)).mean() > 0.998
        np.testing.assert_allclose(probabilities, segment.probabilities(pixels).astype(np.float32), atol=0.01)
    notes = session.get_modelmeta().custom_metadata_map
    assert notes["sizewise.decision"] == decide
    assert "lesion" in notes["sizewise.classes"]


def test_torch_export_needs_torch_alone(run, tmp_path):
    made = export_run(run, tmp_path / "run.pt2", format="torch-export", decide="iou", temperature=1.0)
    assert made.shape == (1, 32, 32)
    assert made.equal_labels == 1.0
    assert made.largest_difference < 1e-3  # of half precision
    pixels = np.random.default_rng(1).standard_normal(made.shape).astype(np.float32)
    with torch.no_grad():
        labels, _ = torch.export.load(str(made.path)).module()(torch.from_numpy(pixels))
    np.testing.assert_array_equal(labels.numpy(), sw.load_run(run, decide="iou", temperature=1.0, device="cpu")(pixels))


def test_photographs_are_resized_as_8_bits(tmp_path):
    """8-bit resizing rounds in its own way: a grey value may differ by one, and with it a pixel on a border."""
    write_multiclass_folder(tmp_path / "data")
    train_tiny(tmp_path / "data", tmp_path / "run", size=(24, 24), steps_per_epoch=8, learning_rate=0.01)
    made = export_run(tmp_path / "run", tmp_path / "run.onnx", shape=(32, 32))
    session = onnxruntime.InferenceSession(str(made.path), providers=["CPUExecutionProvider"])
    segment = sw.load_run(tmp_path / "run", device="cpu")
    dataset = open_dataset(str(tmp_path / "data"))
    for case in dataset.cases:
        pixels = dataset.reader.image(case).pixels
        labels, probabilities = session.run(None, {"pixels": pixels})
        assert (labels == segment(pixels)).mean() > 0.99
        np.testing.assert_allclose(probabilities, segment.probabilities(pixels).astype(np.float32), atol=0.02)


class Looking(torch.nn.Conv2d):
    """A network that looks at its values: no graph can hold that."""

    def forward(self, images):
        logits = super().forward(images)
        return logits * 2 if logits.sum() > 0 else logits


def looking(*, spatial_dims, in_channels, out_channels):
    return Looking(in_channels, out_channels, 1)


@pytest.mark.parametrize("format", ["onnx", "torch-export"])
def test_a_network_that_is_no_graph_is_a_sentence(tmp_path, no_curves, format):
    train_tiny("synthetic", tmp_path / "run", model=f"{__name__}:looking")
    out = tmp_path / f"file{FORMATS[format]}"
    with pytest.raises(
        RunFailed,
        match=rf":looking cannot be written as {format}: .*guard.*[^.]\. A network .* `sw.load_run` runs it as it is",
    ):
        export_run(tmp_path / "run", out, format=format)
    assert not out.exists()


def test_memory_that_lacks_is_not_the_networks_fault(run, tmp_path, monkeypatch):
    def fails(*given):
        raise RuntimeError("failed to export") from RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr("sizewise.train.export.WRITERS", {"onnx": fails})
    with pytest.raises(MemoryError, match="can't allocate memory"):
        export_run(run, tmp_path / "run.onnx")


def test_the_size_that_a_file_takes():
    assert _image_shape(PHOTO, (), (20, 30), 2) == (20, 30)
    assert _image_shape(replace(PHOTO, size=(16, 16)), (), (), 2) == (16, 16)
    assert _image_shape(PHOTO, (8, 8, 8), (), 3) == (8, 8, 8)
    with pytest.raises(BadInput, match="the network sees windows of 8x8x8, and the file takes one of them"):
        _image_shape(PHOTO, (8, 8, 8), (16, 8, 8), 3)
    with pytest.raises(BadInput, match="this run takes images of any size, and a file takes one"):
        _image_shape(PHOTO, (), (), 2)


@pytest.mark.skipif(not EXHAUSTIVE, reason="20 seconds: with SIZEWISE_EXHAUSTIVE=1")
def test_volumes_take_one_window(tmp_path):
    train_tiny("synthetic-3d", tmp_path / "run", size=(), patch=(8, 8, 8))
    made = export_run(tmp_path / "run", tmp_path / "out" / "run.onnx")
    assert made.shape == (1, 8, 8, 8)
    assert made.equal_labels > 0.99


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"format": "onyx"}, "`format` must be one of 'onnx', 'torch-export', got 'onyx'. Did you mean 'onnx'"),
        ({"decide": "size"}, "`decide` must be one of 'argmax', 'dice', 'iou', got 'size'"),
        ({"shape": (8,)}, "`shape` must be 2 numbers"),
        ({"format": "torch-export"}, r"`out` must end with .pt2 for torch-export, which readers go by, got 'a.onnx'"),
    ],
)
def test_what_cannot_be_exported(run, tmp_path, options, said):
    with pytest.raises(BadInput, match=said):
        export_run(run, tmp_path / "a.onnx", **options)


def test_a_size_in_letters_is_called_as_its_flag():
    with pytest.raises(BadInput, match="`shape` must be numbers as 352x352"):
        command(Path("run"), shape="axb")
