"""TensorBoard: settings, final scores and the plot, beside the curves that every run has."""

import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from train.tiny_runs import CPU, train_tiny

from sizewise.train.config import Runtime


@pytest.mark.filterwarnings("ignore")  # its own
def test_what_is_added(tmp_path, monkeypatch):
    def draw(path, *given, **named):
        Image.new("RGB", (4, 3)).save(path.with_suffix(".png"))

    monkeypatch.setattr("sizewise.train.loop.draw_curves", draw)
    train_tiny("synthetic", tmp_path / "run", epochs=2, runtime=Runtime(**(vars(CPU) | {"logger": "tensorboard"})))
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard" / "summary")).Reload()
    (text,) = events.Tensors("settings/text_summary")
    assert b'"loss": "JaccardCE"' in text.tensor_proto.string_val[0]
    (score,) = events.Scalars("test/argmax/dsc/organ")
    assert score.step == 2
    assert events.Tags()["images"] == ["curves"]
