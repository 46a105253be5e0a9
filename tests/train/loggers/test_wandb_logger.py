"""Weights & Biases, offline: what its own file holds afterwards."""

import json
import time

import pytest
from train.tiny_runs import CPU, train_tiny

from sizewise.train.config import Runtime
from sizewise.train.history import read_history

wandb = pytest.importorskip("wandb", reason="wandb is not installed: pip install '.[wandb]'")


def records(path):
    """Every record of an offline run's file, as W&B itself reads it to sync it."""
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal.datastore import DataStore

    store = DataStore()
    store.open_for_scan(str(path))
    while (data := store.scan_data()) is not None:
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        yield record
    store.close()


def written_to_the_end(path):
    """All records: another process writes them, and a busy machine may let it finish after us."""
    for _ in range(3000):
        try:
            found = list(records(path))
        except AssertionError:  # W&B's own: a record that is half written
            found = []
        if any(one.HasField("exit") for one in found):
            return found
        time.sleep(0.1)
    raise AssertionError(f"{path} was never finished")


@pytest.mark.filterwarnings("ignore")  # its own
@pytest.mark.usefixtures("no_curves")
def test_config_curves_scores_and_files_of_a_run(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    runtime = Runtime(**(vars(CPU) | {"logger": "wandb"}))
    train_tiny("synthetic", tmp_path / "run", epochs=2, runtime=runtime)
    name = json.loads((tmp_path / "run" / "trackers.json").read_text())["wandb"]
    (file,) = (tmp_path / "run" / "wandb").glob(f"offline-run-*-{name}/run-{name}.wandb")
    found = written_to_the_end(file)
    updates = [one.run.config if one.HasField("run") else one.config for one in found]
    config = {item.key: json.loads(item.value_json) for one in updates for item in one.update}
    assert (config["loss"], config["size"], config["classes"]["2"]) == ("JaccardCE", "16x16", "cyst")
    rows = [
        {".".join(item.nested_key) or item.key: json.loads(item.value_json) for item in one.history.item}
        for one in found
        if one.HasField("history")
    ]
    for row, kept in zip(rows, read_history(tmp_path / "run" / "history.csv"), strict=True):
        assert row["epoch"] == kept["epoch"]
        for column in ("train_loss", "train_Jaccard", "val_dsc_2", "val_size_error_1"):
            assert row[column.replace("_", "/", 1)] == pytest.approx(kept[column])
    summary = {}
    for one in found:
        if one.HasField("summary"):
            summary |= {".".join(item.nested_key) or item.key: item.value_json for item in one.summary.update}
    assert any("dsc" in key and "organ" in key for key in summary), sorted(summary)
    kinds = [one.WhichOneof("record_type") for one in found]
    assert "artifact" in kinds or any(one.HasField("request") for one in found)
