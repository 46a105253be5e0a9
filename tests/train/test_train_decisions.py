"""A run under several decisions: one training, one prediction of each case, one table."""

import json
import shutil

import numpy as np
import pytest
import torch
from data.layouts.decathlon_layout import write_pancreas
from data.layouts.idrid import write_idrid
from data.layouts.image_folder import write_multiclass_folder
from train.tiny_runs import CPU, TINY, memory_dataset, train_tiny

import sizewise as sw
from sizewise.data.recognise import open_dataset
from sizewise.data.split import Split
from sizewise.errors import BadInput, RunFailed
from sizewise.metrics.cases_csv import read_cases
from sizewise.train import run_scores
from sizewise.train.calibration import Calibration, best_epoch, read_calibration
from sizewise.train.config import RunConfig
from sizewise.train.decided_labels import LabelMaker, background_of, decision_names
from sizewise.train.machine import make_fabric
from sizewise.train.predict import predict_folder
from sizewise.train.preparation import Preparation
from sizewise.train.resolve import resolve
from sizewise.train.run import run_training
from sizewise.train.run_folder import is_finished, read_config, scored_decisions
from sizewise.train.scoring import load_network, predict_cases
from sizewise.train.task import make_task

pytestmark = pytest.mark.usefixtures("no_curves")
BOTH = ("argmax", "dice")


def decide_run(data, folder, decisions, **settings):
    lines: list[str] = []
    run = resolve(TINY | {"data": str(data)} | settings)
    run_training(run, folder=folder, runtime=CPU, resume=True, decisions=decisions, log=lines.append)
    return lines


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_multiclass_folder(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def plain(data, tmp_path_factory):
    """A run that was finished before anybody asked for decisions."""
    folder = tmp_path_factory.mktemp("plain") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)
        train_tiny(data, folder)
    return folder


@pytest.fixture
def finished(plain, tmp_path):
    return shutil.copytree(plain, tmp_path / "run")


def test_a_finished_run_gets_what_it_lacks_and_is_not_trained_again(data, plain, finished):
    weights = (finished / "best.pt").stat().st_mtime_ns
    lines = decide_run(data, finished, BOTH)
    assert any("fitting the temperature" in line for line in lines)
    assert not any("epoch" in line for line in lines)
    assert (finished / "best.pt").stat().st_mtime_ns == weights
    assert read_config(finished) == read_config(plain)  # the decision is no setting of the run
    rows = read_cases(finished / "cases.csv")
    assert [row for row in rows if row.of.decision == "argmax"] == read_cases(plain / "cases.csv")
    assert scored_decisions(finished) == BOTH
    assert {row.of.run for row in rows} == {read_config(plain).hash}
    assert len(rows) == 2 * len(read_cases(plain / "cases.csv"))
    assert decide_run(data, finished, BOTH) == [f"{finished} is finished already."]
    assert (finished / "overlays" / "dice").is_dir()


def test_trained_with_decisions_is_the_same_as_decided_later(data, finished, tmp_path):
    decide_run(data, finished, BOTH)
    decide_run(data, tmp_path / "at once", BOTH)
    assert (finished / "cases.csv").read_bytes() == (tmp_path / "at once" / "cases.csv").read_bytes()
    assert read_calibration(finished) == read_calibration(tmp_path / "at once")


def test_a_case_is_predicted_once_however_many_decisions(data, finished, monkeypatch):
    called = []
    original = run_scores.score_cases

    def counting(*given, **named):
        called.append(tuple(named["decisions"]))
        return original(*given, **named)

    monkeypatch.setattr(run_scores, "score_cases", counting)
    decide_run(data, finished, ("argmax", "dice", "iou", "size"))
    decide_run(data, finished, ("argmax", "iou"))
    assert called == [("dice", "iou", "size")]


def test_interrupted_the_old_table_stays_whole(data, finished, monkeypatch):
    before = (finished / "cases.csv").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(run_scores, "score_cases", lambda *given, **named: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            decide_run(data, finished, BOTH)
    assert (finished / "cases.csv").read_bytes() == before
    assert is_finished(finished)
    assert not is_finished(finished, BOTH)
    lines = decide_run(data, finished, BOTH)
    assert not any("fitting" in line for line in lines)  # the temperature was kept
    assert is_finished(finished, BOTH)


def test_a_run_of_another_machine_keeps_its_precision(data, tmp_path):
    """Trained in bfloat16 as on a GPU, and decided where "auto" would be float32."""
    train_tiny(data, tmp_path / "run", precision="bfloat16")
    decide_run(data, tmp_path / "run", BOTH)
    assert scored_decisions(tmp_path / "run") == BOTH
    with pytest.raises(BadInput, match="`precision`: 'bfloat16', not 'float32'"):
        decide_run(data, tmp_path / "run", (*BOTH, "iou"), precision="float32")


def test_labels_and_scores_are_those_of_decide(data, finished, tmp_path):
    """Against ``sw.decide`` on logits that are upsampled by hand, with the temperature of ``sw.fit_decision``."""
    decide_run(data, finished, BOTH)
    config, dataset = read_config(finished), open_dataset(str(data))
    task = make_task(config, dataset, Split.read(finished / "split.json"))
    preparation = Preparation.read(finished / "preparation.json")
    fabric = make_fabric(config, CPU)
    network = load_network(config, task, preparation, finished, fabric=fabric)

    def large(names):
        cases = task.cases(names)
        for case, image, logits in predict_cases(task, network, cases):
            full = torch.nn.functional.interpolate(logits, image.pixels.shape[1:], mode="bilinear")
            yield case, full, torch.from_numpy(dataset.reader.target(case).astype(np.int64))[None]

    batches = [(logits.clone(), target) for _, logits, target in large(task.split.validation)]
    scored = float(sw.fit_decision(batches, by="score").temperature)
    likely = pytest.approx(float(sw.fit_decision(batches).temperature), rel=1e-4)
    kept = read_calibration(finished)
    assert kept == Calibration(scored, likely, len(batches), best_epoch(finished))
    files = predict_folder(finished, str(data), out=tmp_path / "out", decide="dice", score=True, device="cpu")
    from sizewise.data.pictures import read_label_picture

    for (_, logits, _), file in zip(large(task.split.test), files, strict=True):
        expected = sw.decide(logits.clone(), metric="dice", background=0, temperature=kept.temperature)
        np.testing.assert_array_equal(read_label_picture(file), expected[0].numpy())
    of_run = [row for row in read_cases(finished / "cases.csv") if row.of.decision == "dice"]
    assert read_cases(tmp_path / "out" / "cases.csv") == of_run


def test_a_decision_draws_other_labels_than_argmax(data, finished):
    decide_run(data, finished, ("argmax", "size"))
    values = {"argmax": [], "size": []}
    for row in read_cases(finished / "cases.csv"):
        values[row.of.decision].append(row.value)
    assert values["argmax"] != values["size"]


def test_predicting_fits_what_the_run_lacks_and_says_so_where_it_cannot(data, finished, tmp_path):
    lines: list[str] = []
    options = {"out": tmp_path / "out", "decide": "dice", "device": "cpu", "log": lines.append}
    predict_folder(finished, str(data), **options)
    assert "fitting the temperature of decisions on" in lines[0]
    kept = read_calibration(finished)
    assert kept is not None
    assert f"decided for dice at temperature {kept.temperature:.3g}" in lines[-1]
    (finished / "decision.json").unlink()
    config = json.loads((finished / "config.json").read_text())
    moved = shutil.copytree(data, tmp_path / "moved")
    gone = tmp_path / "gone"
    (finished / "config.json").write_text(json.dumps(config | {"data": str(gone)}, indent=1, sort_keys=True))
    patched = torch.load(finished / "best.pt", weights_only=True)
    from sizewise.train.run_folder import settings_hash

    torch.save(patched | {"config": settings_hash(finished)}, finished / "best.pt")
    with pytest.raises(BadInput, match=r"has no temperature for decisions yet.*gone.*give a `temperature`"):
        predict_folder(finished, str(moved / "test" / "images"), **options)
    predict_folder(finished, str(moved / "test" / "images"), temperature=1.5, **options)
    assert "at temperature 1.5" in lines[-1]
    with pytest.raises(BadInput, match="`temperature` must be a number above 0, got -1"):
        predict_folder(finished, str(data), temperature=-1.0, **options)
    with pytest.raises(BadInput, match=r"`decide` must be one of 'argmax', 'dice', 'iou', 'size', got 'dise'.*'dice'"):
        predict_folder(finished, str(data), **(options | {"decide": "dise"}))


def test_the_temperature_of_other_weights_is_not_used(finished, data):
    decide_run(data, finished, BOTH)
    kept = json.loads((finished / "decision.json").read_text())
    (finished / "decision.json").write_text(json.dumps(kept | {"epoch": kept["epoch"] + 1, "temperature": 9.0}))
    assert read_calibration(finished) is None
    decide_run(data, finished, (*BOTH, "iou"))
    assert json.loads((finished / "decision.json").read_text()) == kept
    older = {name: kept[name] for name in ("temperature", "cases", "epoch")}
    (finished / "decision.json").write_text(json.dumps(older))
    assert read_calibration(finished) is None  # one temperature for all, as it was: fitted again
    (finished / "decision.json").write_text("{")
    with pytest.raises(BadInput, match=r"decision.json' .* cannot be read.*Remove it"):
        read_calibration(finished)


def test_volumes_and_overlapping_regions(tmp_path):
    decide_run(
        write_pancreas(tmp_path / "volumes"),
        tmp_path / "3d",
        BOTH,
        size=(),
        patch=(16, 16, 16),
        spacing=(2.5, 2.5, 2.5),
    )
    assert scored_decisions(tmp_path / "3d") == BOTH
    decide_run(write_idrid(tmp_path / "idrid"), tmp_path / "regions", BOTH)
    assert scored_decisions(tmp_path / "regions") == BOTH


def test_the_background_of_a_decision_is_what_the_task_does_not_score():
    images = {"a": np.zeros((1, 4, 4), np.uint8)}
    usual = memory_dataset(images, {}, classes=("background", "a", "b"))
    streets = memory_dataset(images, {}, classes=("road", "car", "tree"), background=False)
    task = {
        name: make_task(RunConfig(data="x"), one, Split((), (), ())) for name, one in (("u", usual), ("s", streets))
    }
    assert background_of(task["u"]) == 0
    assert background_of(task["s"]) is None
    logits = torch.randn(1, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    for one, background in ((task["u"], 0), (task["s"], None)):
        labels = LabelMaker(one, 2.0).label_map(logits, (4, 4), "iou")
        expected = sw.decide(logits, metric="iou", background=background, temperature=2.0)
        np.testing.assert_array_equal(labels, expected[0].numpy())


def test_names():
    assert decision_names([], argument="decide") == ("argmax",)
    assert decision_names(["dice", "argmax"], argument="decide") == BOTH
    with pytest.raises(BadInput, match="`decisions` must be one of"):
        decision_names(["f1"], argument="decisions")


def test_a_full_disk_is_a_sentence(data, finished, monkeypatch):
    import errno

    def full(*given):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run_scores, "write_complete", full)
    with pytest.raises(RunFailed, match=r"the disk of .* is full"):
        decide_run(data, finished, BOTH)
    assert is_finished(finished)
