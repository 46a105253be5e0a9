"""A hub that is out of reach is noticed at once; what was fetched before is used all the same."""

import json
import socket
import threading

import pytest
import torch
from safetensors.torch import save_file

from sizewise.errors import BadInput
from sizewise.models import hub
from sizewise.models.build import build_model
from sizewise.models.smp import import_smp

NOBODY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setattr(hub, "getproxies", dict)


def test_the_mirror_that_the_user_named_is_asked(monkeypatch):
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    assert hub.hub_host() == ("huggingface.co", 443)
    monkeypatch.setenv("HF_ENDPOINT", "http://mirror.example:8080/hub")
    assert hub.hub_host() == ("mirror.example", 8080)


def test_a_hub_that_listens_and_one_that_does_not(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        assert hub.is_reachable(patience_s=600)
    assert not hub.is_reachable(patience_s=600)
    monkeypatch.setattr(hub, "getproxies", lambda: {"https": "http://proxy.example"})
    assert hub.is_reachable()  # the proxy's business


def test_a_name_server_that_does_not_answer_is_not_waited_for(monkeypatch):
    answer, ended = threading.Event(), []

    def wait(*given, **named):
        answer.wait(600)
        ended.append("it was waited for")
        raise OSError("no answer")

    monkeypatch.setattr(socket, "create_connection", wait)
    assert not hub.is_reachable(patience_s=0.1)
    assert ended == []
    answer.set()


def test_out_of_reach_the_cache_is_used_and_else_it_is_a_sentence_at_once(monkeypatch, tmp_path, caplog):
    from huggingface_hub import constants

    monkeypatch.setenv("HF_ENDPOINT", NOBODY)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    arguments = {"spatial_dims": 2, "in_channels": 3, "out_channels": 2, "encoder_weights": "imagenet"}
    with pytest.raises(BadInput, match=r"not on this machine, and 127\.0\.0\.1 cannot be reached.*PATH.*none"):
        build_model("fpn-resnet18", **arguments)
    assert "Retrying" not in caplog.text  # the library alone: five retries, 23 s of waiting
    assert not constants.HF_HUB_OFFLINE

    smp = import_smp()
    settings = smp.encoders.encoders["resnet18"]["pretrained_settings"]["imagenet"]
    entry = tmp_path / f"models--{settings['repo_id'].replace('/', '--')}" / "snapshots" / settings["revision"]
    entry.mkdir(parents=True)
    weights = {
        name: torch.full_like(value, 0.25) for name, value in smp.encoders.get_encoder("resnet18").state_dict().items()
    }
    save_file(weights, entry / "model.safetensors")
    (entry / "config.json").write_text(json.dumps({}))
    model = build_model("fpn-resnet18", **arguments)
    assert (model.encoder.conv1.weight == 0.25).all()
