"""What a study does once: it opens a data set, makes a task and a criterion for each run, and holds one data set."""

import gc
import weakref
from collections import Counter

import pytest
from data.layouts.image_folder import write_multiclass_folder
from study.tiny_study import SETTINGS

from sizewise.data.recognise import Layout
from sizewise.study.compare import compare
from sizewise.study.engines.engine import make_engine
from sizewise.study.grid import plan_runs
from sizewise.study.study_words import parse_study
from sizewise.study.worker import Worker
from sizewise.train import resolve, store
from sizewise.train.config import Runtime
from sizewise.train.run_folder import is_finished

CPU = Runtime(accelerator="cpu", save_seconds=0)


@pytest.fixture
def calls(monkeypatch):
    """How often each was called."""
    counted = Counter()

    def count(owner, name):
        original = getattr(owner, name)

        def counting(*arguments, **options):
            counted[name] += 1
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, counting)

    count(Layout, "load")
    count(resolve, "make_task")
    count(resolve, "make_criterion")
    monkeypatch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)
    return counted


def test_each_data_set_is_opened_once_and_each_run_made_once(tmp_path, calls):
    """Two data sets, two networks, two losses: eight runs, planned, carried out, scored and joined."""
    data = write_multiclass_folder(tmp_path / "folder")
    words = {"data": f"synthetic,{data}", "losses": "CE,RCE", "seeds": "1", "models": "monai-unet-small,monai-unet"}
    config = parse_study(words | {"settings": (*SETTINGS, "size=32x32", "encoder_weights=none")})
    outcome = compare(config, folder=tmp_path / "study", runtime=CPU, engine=make_engine("local", {"jobs": 1}))
    assert outcome == ([], [])
    assert calls == {"load": 2, "make_task": 8, "make_criterion": 8}


def test_a_worker_lets_go_of_a_data_set_when_the_next_ones_first_run_is_finished(tmp_path, monkeypatch):
    """The first run of the second data set was carried out by somebody else; the second one needs the memory."""
    monkeypatch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)
    data = write_multiclass_folder(tmp_path / "folder")
    settings = (*SETTINGS, "size=16x16")
    words = {"data": f"synthetic,{data}", "losses": "CE,Dice", "seeds": "1", "models": "monai-unet-small"}
    first, _, third, fourth = plan_runs(parse_study(words | {"settings": settings}))
    place = tmp_path / "study" / "runs" / third.name
    place.mkdir(parents=True)
    (place / "cases.csv").touch()
    assert is_finished(place)
    held, load = [], store.load_store

    def noted(*arguments, **options):
        held.append(weakref.ref(found := load(*arguments, **options)))
        return found

    monkeypatch.setattr(store, "load_store", noted)
    worker = Worker(tmp_path / "study")
    assert worker.carry_out(first, CPU) == "finished"
    before = len(held)
    assert all(one() is not None for one in held)
    assert worker.carry_out(third, CPU) == "skipped"
    assert worker.carry_out(fourth, CPU) == "finished"
    gc.collect()
    assert [one() is None for one in held[:before]] == [True] * before
