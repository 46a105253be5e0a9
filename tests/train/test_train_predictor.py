"""From images to logits: flips, means over networks, and the sentences where runs do not fit together."""

import shutil

import numpy as np
import pytest
import torch
from data.layouts.image_folder import write_image_folder, write_multiclass_folder
from train.tiny_runs import CPU, PHOTO, train_tiny

import sizewise as sw
from sizewise.data.dataset import Image
from sizewise.data.pictures import read_label_picture
from sizewise.errors import BadInput
from sizewise.metrics.cases_csv import read_cases
from sizewise.train.config import RunConfig
from sizewise.train.machine import make_fabric
from sizewise.train.predict import predict_folder
from sizewise.train.predictor import Ensemble, Network, mean_logits


def lopsided(images):
    """A network that sees where left is: what it says of a mirrored image is not mirrored."""
    ramp = torch.linspace(0, 2, images.shape[-1])
    return torch.cat([images[:, :1], images[:, :1] * ramp + ramp], 1)


def network(model=lopsided, **more):
    fabric = make_fabric(RunConfig(data="synthetic"), CPU)
    return Network(model, PHOTO, patch=(), multiple=4, sigmoid=False, fabric=fabric, **more)


def picture():
    return Image(np.random.default_rng(0).integers(0, 255, (1, 8, 12), np.uint8), (1.0, 1.0))


def test_the_mean_of_flips_is_that_of_probabilities():
    image = picture()
    mirrored = Image(image.pixels[:, :, ::-1].copy(), image.spacing)
    plain = network().logits(image).softmax(1)
    other = network().logits(mirrored).softmax(1).flip(-1)
    assert not torch.allclose(plain, other)
    found = network(flips=(1,)).logits(image).softmax(1)
    torch.testing.assert_close(found, (plain + other) / 2)
    both = network(flips=(1, 2)).logits(image).softmax(1)  # this network does not see where up is
    torch.testing.assert_close(both, found)


def test_the_mean_of_networks_is_that_of_probabilities():
    members = (network(), network(lambda images: lopsided(images) * -3))
    image = picture()
    wanted = torch.stack([one.logits(image).softmax(1) for one in members]).mean(0)
    torch.testing.assert_close(Ensemble(members, sigmoid=False).logits(image).softmax(1), wanted)


def test_sigmoid_means_hold_far_out():
    """σ(30) rounds to 1 in float32, and 1 − p to 0: the mean keeps what is left over."""
    logits = mean_logits([torch.tensor([30.0]), torch.tensor([32.0])], sigmoid=True)
    # (σ(30) + σ(32)) / 2 with 50 digits
    assert float(logits) == pytest.approx(30.566219169517, rel=1e-6)
    assert torch.isfinite(mean_logits([torch.tensor([[500.0, -500.0]])], sigmoid=False)).all()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Two seeds, and a run on other classes."""
    root = tmp_path_factory.mktemp("ensemble")
    write_multiclass_folder(root / "data")
    write_image_folder(root / "binary")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)
        train_tiny(root / "data", root / "a", augment="flip")
        train_tiny(root / "data", root / "b", augment="flip", seed=1)
        train_tiny(root / "data", root / "still", augment="none", size=(24, 24))
        train_tiny(root / "data", root / "no-background", background="none")
        train_tiny(root / "binary", root / "binary-run")
    return root


def test_load_run_is_what_predict_writes(trained, tmp_path):
    runs = [trained / "a", trained / "b"]
    for decide, given in (("argmax", runs[:1]), ("dice", runs)):
        out = tmp_path / decide
        files = predict_folder(given, str(trained / "data"), out=out, decide=decide, flips=True, device="cpu")
        segment = sw.load_run(given, decide=decide, flips=True, device="cpu")
        assert segment.classes == {0: "background", 1: "class_1", 2: "class_2", 3: "class_3"}
        from PIL import Image as Picture

        for file in files:
            pixels = np.asarray(Picture.open(trained / "data/test/images" / file.name))
            pixels = pixels if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
            np.testing.assert_array_equal(segment(pixels), read_label_picture(file))
            np.testing.assert_allclose(segment.probabilities(pixels).astype(np.float32).sum(0), 1, atol=2e-3)


def test_an_ensemble_scores_its_mean_and_says_whose(trained, tmp_path):
    lines: list[str] = []
    runs = [trained / "a", trained / "b"]
    predict_folder(
        runs, str(trained / "data"), out=tmp_path / "o", decide="dice", score=True, device="cpu", log=lines.append
    )
    assert "fitting the temperature of decisions on" in lines[0]
    assert "the mean of 2 runs, decided for dice" in lines[-1]
    rows = read_cases(tmp_path / "o" / "cases.csv")
    assert {row.of.seed for row in rows} == {"0+1"}
    assert not (trained / "a" / "decision.json").exists()  # the temperature of the mean is not that of one


def test_a_run_keeps_the_temperature_of_its_usual_predictions_alone(trained, tmp_path):
    """Else what a later command decides would depend on whether one with flips went before."""
    run = shutil.copytree(trained / "a", tmp_path / "run")
    flipped = sw.load_run(run, decide="size", flips=True, device="cpu").temperature
    assert not (run / "decision.json").exists()
    usual = sw.load_run(run, decide="size", device="cpu").temperature
    kept = (run / "decision.json").read_bytes()
    assert usual != flipped
    assert sw.load_run(run, decide="size", flips=True, device="cpu").temperature == flipped
    assert (run / "decision.json").read_bytes() == kept


def test_folds_share_no_test_case(trained, tmp_path):
    for fold in (0, 1):
        train_tiny(trained / "data", tmp_path / str(fold), folds=2, fold=fold)
    folds = [tmp_path / "0", tmp_path / "1"]
    with pytest.raises(BadInput, match="no case is in the subset 'test' of every run, as with the folds"):
        predict_folder(folds, str(trained / "data"), out=tmp_path / "o", device="cpu")
    lines: list[str] = []
    images = str(trained / "data/test/images")
    predict_folder(folds, images, out=tmp_path / "o", decide="dice", device="cpu", log=lines.append)
    assert any("geometric mean of their own" in line for line in lines) or "fitting" in lines[0]


@pytest.mark.parametrize(
    ("runs", "options", "said"),
    [
        (("a", "binary-run"), {}, "differ in classes"),
        (("a", "no-background"), {}, "differ in whether label 0 is a background, which decisions and scores leave out"),
        (("a", "still"), {}, r"differ in size, \(16, 16\) and \(24, 24\)"),
        (("a", "a"), {}, "names a run twice"),
        (("still",), {"flips": True}, "trained without mirroring"),
        (("a",), {"overlap": 0.25}, "sees whole images"),
        (("a",), {"temperature": 2.0}, r"argmax is the same at any. Leave it out, or name the decision with `decide`"),
    ],
)
def test_what_does_not_fit_is_refused(trained, runs, options, said):
    with pytest.raises(BadInput, match=said):
        sw.load_run([trained / one for one in runs], device="cpu", **options)


@pytest.mark.parametrize(
    ("pixels", "options", "said"),
    [
        (np.zeros((20, 30, 3), np.uint8), {}, r"With the channels last\? Pass `np.moveaxis"),
        (np.zeros((3, 20), np.uint8), {}, r"got an array of shape \(3, 20\)"),
        (np.zeros((3, 20, 30), np.float32), {}, "the image has float32 pixels"),
        (np.full((3, 20, 30), "a"), {}, "must be numbers"),
        (np.zeros((3, 0, 30), np.uint8), {}, r"an empty array of shape \(3, 0, 30\)"),
        (np.zeros((3, 20, 30), np.uint8), {"spacing": (1.0, 0.0)}, "`spacing` must be 2 numbers"),
    ],
)
def test_pixels_that_are_none(trained, pixels, options, said):
    with pytest.raises(BadInput, match=said):
        sw.load_run(trained / "a", device="cpu")(pixels, **options)


@pytest.mark.parametrize(
    ("run", "options", "said"),
    [
        (5, {}, "`run` must be a run folder, or a list of several, got 5"),
        ([5], {}, r"`run` must be a run folder, or a list of several, got \[5\]"),
        ("a", {"decide": "dice", "temperature": "hot"}, "`temperature` must be a number above 0, got 'hot'"),
    ],
)
def test_what_is_no_run_and_no_temperature(run, options, said):
    with pytest.raises(BadInput, match=said):
        sw.load_run(run, device="cpu", **options)


def test_a_temperature_may_be_a_number_of_numpy(trained):
    assert sw.load_run(trained / "a", decide="dice", temperature=np.float32(1.5), device="cpu").temperature == 1.5


def test_windows_overlap_as_asked(tmp_path, monkeypatch):
    train_tiny("synthetic", tmp_path / "run", patch=(8, 8), size=(16, 16))
    seen = []
    import monai.inferers

    original = monai.inferers.sliding_window_inference
    monkeypatch.setattr(
        monai.inferers, "sliding_window_inference", lambda *a, **k: seen.append(k["overlap"]) or original(*a, **k)
    )
    sw.load_run(tmp_path / "run", overlap=0.25, device="cpu")(np.zeros((20, 30), np.uint8))
    sw.load_run(str(tmp_path / "run"), device="cpu")(np.zeros((20, 30), np.uint8))
    assert seen == [0.25, 0.5]
    with pytest.raises(BadInput, match="at least 0 and below 1, got 1"):
        sw.load_run(tmp_path / "run", overlap=1.0, device="cpu")


def test_every_class_scored_is_remembered(trained, tmp_path):
    """With --background none a decision has no background, also for images without masks."""
    train_tiny(trained / "data", tmp_path / "run", background="none")
    plain = shutil.copytree(trained / "data/test/images", tmp_path / "plain")
    predict_folder(tmp_path / "run", str(plain), out=tmp_path / "o", device="cpu")
    segment = sw.load_run(tmp_path / "run", decide="dice", device="cpu")
    assert segment._maker.task.first_class == 0
