"""Fitting the temperature, and the rule for pooled scores."""

import io
import math

import numpy as np
import pytest
import torch
from decision_oracle import score
from test_decide import fields
from torch.utils.data import DataLoader, TensorDataset

import sizewise as sw


def drawn(logits, seed=0):
    """Labels drawn from softmax(logits)."""
    p = logits.softmax(1).movedim(1, -1)
    draw = torch.Generator().manual_seed(seed)
    return torch.multinomial(p.flatten(0, -2), 1, generator=draw).view(p.shape[:-1])


@pytest.mark.parametrize("truth", [0.5, 1.0, 2.5, 8.0])
def test_the_temperature_that_was_put_in_is_found(truth):
    logits = fields(4, 3, (40, 40), seed=0, scale=2.0)
    target = drawn(logits)
    decision = sw.fit_decision([(logits * truth, target)])
    assert float(decision.temperature) == pytest.approx(truth, rel=0.05)
    batches = [(logits[:2] * truth, target[:2]), (logits[2:] * truth, target[2:])]
    assert float(sw.fit_decision(batches).temperature) == pytest.approx(float(decision.temperature), rel=1e-4)


def test_it_is_the_minimum_of_the_mean_log_likelihood():
    logits = fields(2, 4, (20, 20), seed=1, scale=3.0)
    target = drawn(logits * 0.4)
    found = float(sw.fit_decision([(logits, target)]).temperature)
    losses = {
        t: float(torch.nn.functional.cross_entropy(logits / t, target)) for t in (found, 0.97 * found, 1.03 * found)
    }
    assert min(losses, key=losses.get) == found
    channels = (torch.rand(2, 4, 20, 20, generator=torch.Generator().manual_seed(3)) < torch.sigmoid(logits / 2)).long()
    found = float(sw.fit_decision([(logits, channels)], activation="sigmoid").temperature)
    bce = torch.nn.functional.binary_cross_entropy_with_logits
    losses = {t: float(bce(logits / t, channels.double())) for t in (found, 0.97 * found, 1.03 * found)}
    assert min(losses, key=losses.get) == found


def test_it_stays_within_its_bounds():
    target = torch.zeros(1, 6, 6, dtype=torch.long)
    sure = torch.stack((torch.full((1, 6, 6), 3.0), torch.zeros(1, 6, 6)), 1)
    assert float(sw.fit_decision([(sure, target)]).temperature) == pytest.approx(0.05, rel=1e-3)
    assert float(sw.fit_decision([(sure, 1 - target)]).temperature) == pytest.approx(20, rel=1e-3)
    assert float(sw.fit_decision([(torch.zeros(1, 2, 6, 6), target)]).temperature) == 1


def test_pixels_without_a_label_are_left_out():
    logits = fields(2, 3, (20, 20), seed=2)
    target = drawn(logits / 3)
    mask = torch.rand(2, 20, 20, generator=torch.Generator().manual_seed(0)) < 0.5
    spoiled, marked = logits.masked_fill(~mask[:, None], 50.0), target.masked_fill(~mask, 255)
    wanted = float(sw.fit_decision([(logits[0][:, mask[0]][None], target[0][mask[0]][None]), (logits[1][:, mask[1]][None], target[1][mask[1]][None])]).temperature)  # fmt: skip
    assert float(sw.fit_decision([(spoiled, target, mask)]).temperature) == pytest.approx(wanted, rel=1e-4)
    assert float(sw.fit_decision([(spoiled, marked)], ignore_index=255).temperature) == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize("metric", ["dice", "iou", "size"])
def test_a_pooled_rule_decides_single_images_as_it_decided_all(metric):
    logits = fields(6, 4, (16, 20), seed=3, scale=2.0)
    target = drawn(logits)
    batches = [(logits[:4], target[:4]), (logits[4:], target[4:])]
    decision = sw.fit_decision(batches, metric, scope="batch")
    assert decision.gain.shape == decision.threshold.shape == (4,)
    together = torch.cat([decision(one[None]) for one in logits])
    wanted = sw.decide(logits, metric=metric, scope="batch", prune=0.0, temperature=float(decision.temperature))
    assert (together != wanted).float().mean() < 0.01
    if metric != "size":  # the promise holds for the images that it was fitted on
        p = (logits / decision.temperature).softmax(1).movedim(0, 1).flatten(1).numpy()
        likeliest = sw.decide(logits, metric="argmax").flatten().numpy()
        assert score(p, together.flatten().numpy(), [1, 2, 3], metric) >= score(p, likeliest, [1, 2, 3], metric) - 1e-6


def test_a_pooled_rule_for_sigmoid_channels():
    logits = fields(4, 2, (16, 16), seed=5)
    target = (torch.rand(4, 2, 16, 16, generator=torch.Generator().manual_seed(1)) < logits.sigmoid()).long()
    decision = sw.fit_decision([(logits, target)], activation="sigmoid", scope="batch")
    assert decision.gain.shape == (2, 2)
    assert decision(logits[:1]).shape == (1, 2, 16, 16)


def test_batches_are_read_several_times():
    logits = fields(2, 3, (8, 8), seed=0)
    loader = DataLoader(TensorDataset(logits, drawn(logits)), batch_size=1)
    assert float(sw.fit_decision(loader).temperature) > 0
    with pytest.raises(TypeError, match=r"gone through several times, got a generator.*as a DataLoader"):
        sw.fit_decision(one for one in loader)
    with pytest.raises(ValueError, match="nothing to fit on"):
        sw.fit_decision([])
    with pytest.raises(ValueError, match=r"each batch must be \(logits, target\)"):
        sw.fit_decision([logits])
    with pytest.raises(ValueError, match="metric must be one of"):
        sw.fit_decision(loader, "f1")
    with pytest.raises(TypeError, match=r"batches must be a list of \(logits, target\), got NoneType"):
        sw.fit_decision(None)


def test_batches_must_be_of_one_network_that_has_the_background():
    logits = fields(2, 3, (8, 8), seed=0)
    batch = (logits, drawn(logits))
    with pytest.raises(ValueError, match="got logits with 3 channels and with 2"):
        sw.fit_decision([batch, (logits[:, :2], torch.zeros(2, 8, 8, dtype=torch.long))])
    with pytest.raises(ValueError, match=r"background must be a class id from 0 to 2, or None.*got 3"):
        sw.fit_decision([batch], background=3)
    with pytest.raises(ValueError, match=r"Decision: background must be a class id, or None.*got 'none'"):
        sw.Decision(background="none")


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_what_cannot_be_counts_for_nothing_and_what_is_no_number_is_refused(activation):
    logits = fields(2, 3, (10, 10), seed=1, scale=2.0)
    soft = activation == "softmax"
    target = drawn(logits / 2) if soft else (torch.rand(logits.shape) < logits.sigmoid()).long()
    wanted = float(sw.fit_decision([(logits, target)], activation=activation).temperature)
    # one more class, or a row of pixels, with no chance at all, and never the truth
    never = torch.full((2, 1, 10, 10) if soft else (2, 3, 1, 10), -torch.inf)
    more = torch.cat((logits, never), 1 if soft else 2)
    labels = target if soft else torch.cat((target, torch.zeros(2, 3, 1, 10, dtype=torch.long)), 2)
    found = float(sw.fit_decision([(more, labels)], activation=activation).temperature)
    assert found == pytest.approx(wanted, rel=1e-4)
    broken = logits.clone()
    broken[0, :, 0, 0] = torch.nan
    with pytest.raises(ValueError, match=r"logits are NaN or infinite at pixels that count.*with a mask"):
        sw.fit_decision([(broken, target)], activation=activation)
    valid = torch.ones(2, 10, 10, dtype=torch.bool)
    valid[0, 0, 0] = False
    assert 0.05 < float(sw.fit_decision([(broken, target, valid)], activation=activation).temperature) < 20


def test_a_decision_is_a_module_that_can_be_saved():
    logits = fields(3, 3, (12, 12), seed=4)
    for decision in (
        sw.Decision("iou", background=None, temperature=1.7, prune=0.3),
        sw.fit_decision([(logits, drawn(logits))], scope="batch"),
    ):
        file = io.BytesIO()
        torch.save(decision.state_dict(), file)
        file.seek(0)
        options = {name: getattr(decision, name) for name in ("activation", "background", "prune", "scope")}
        other = sw.Decision(decision.metric, **options)
        other.load_state_dict(torch.load(file, weights_only=True))
        assert torch.equal(other(logits), decision(logits))
        assert float(other.temperature) == float(decision.temperature)
        assert repr(other) == repr(decision)
    with pytest.raises(ValueError, match=r"fitted rule is for \(1, 3\).*these logits have \(1, 4\)"):
        decision(fields(1, 4, (8, 8), seed=0))
    decision = sw.Decision("dice")
    before = decision(logits)
    decision.temperature.fill_(6.0)
    assert not torch.equal(decision(logits), before)
    assert repr(decision) == "Decision('dice', temperature=6)"
    assert decision.half().temperature.dtype == torch.float64


def test_a_decision_gives_what_decide_gives():
    logits = fields(2, 3, (12, 12), seed=6)
    mask = torch.rand(2, 12, 12) < 0.8
    decision = sw.Decision("iou", background=2, temperature=1.4, prune=0.2, scope="batch")
    wanted = sw.decide(logits, metric="iou", background=2, temperature=1.4, prune=0.2, scope="batch", mask=mask)
    assert torch.equal(decision(logits, mask), wanted)
    p = logits.softmax(1)
    assert torch.equal(sw.Decision()(p, given="probabilities"), sw.decide(p, given="probabilities"))
    assert np.isclose(decision.number(), 1.4)


def wrong_image_by_image(images: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Two-class logits that are right, with soft edges, in most images, and surely wrong in some."""
    torch.manual_seed(seed)
    places = torch.arange(32.0)
    distance = ((places[:, None] - 16) ** 2 + (places[None] - 16) ** 2).sqrt()
    logit = (7 - distance).expand(images, 32, 32) / 2 + 0.3 * torch.randn(images, 32, 32)
    truth = (distance < 7).expand(images, 32, 32).clone()
    truth[: images // 5] = (distance > 12).expand(images // 5, 32, 32)
    return torch.stack((torch.zeros_like(logit), logit), 1), truth.long()


def mean_dice(labels: torch.Tensor, truth: torch.Tensor) -> float:
    inside = (labels & truth).sum((1, 2)).double()
    return float((2 * inside / (labels.sum((1, 2)) + truth.sum((1, 2)))).mean())


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_by_score_is_never_below_argmax_where_the_likelihood_is(activation):
    logits, truth = wrong_image_by_image(40, 0)
    given, target = (logits, truth) if activation == "softmax" else (logits[:, 1:], truth[:, None])
    scores = {}
    for by in ("likelihood", "score"):
        decision = sw.fit_decision([(given[:20], target[:20]), (given[20:], target[20:])], activation=activation, by=by)
        labels = decision(given).long()
        scores[by] = mean_dice(labels if activation == "softmax" else labels[:, 0], truth)
    argmax = mean_dice(logits.argmax(1), truth)
    assert scores["likelihood"] < argmax - 0.01
    assert scores["score"] >= argmax - 1e-3  # at 0.05 pixels on the very edge may still go over


def test_by_score_finds_what_sharper_probabilities_would_do():
    """Calibrated uncertainty: the score agrees with the likelihood that deciding for Dice is worth it."""
    torch.manual_seed(0)
    logit = 1.5 * torch.randn(200, 12, 12) - 1
    truth = (torch.rand(200, 12, 12) < torch.sigmoid(logit)).long()
    logits = torch.stack((torch.zeros_like(logit), logit), 1)
    fitted = sw.fit_decision([(logits, truth)], by="score")
    assert 0.7 <= float(fitted.temperature) <= 1.4
    assert mean_dice(fitted(logits), truth) > mean_dice(logits.argmax(1), truth) + 0.05


def test_few_images_hardly_move_the_temperature_from_the_likelihoods():
    """What the score says of one image is luck, of many it counts."""
    logits, truth = wrong_image_by_image(40, 0)
    likely = [float(sw.fit_decision([(logits[:n], truth[:n])]).temperature) for n in (1, 40)]
    scored = [float(sw.fit_decision([(logits[:n], truth[:n])], by="score").temperature) for n in (1, 40)]
    assert abs(math.log(scored[0] / likely[0])) < 0.5
    assert scored[1] < 0.5 * likely[1]


def test_classes_do_not_make_images_of_one():
    """The pull is against images: as many classes again, all alike, change nothing."""
    logits, truth = wrong_image_by_image(12, 2)
    one = sw.fit_decision([(logits[:, 1:], truth[:, None])], activation="sigmoid", by="score")
    five = sw.fit_decision(
        [(logits[:, 1:].repeat(1, 5, 1, 1), truth[:, None].repeat(1, 5, 1, 1))], activation="sigmoid", by="score"
    )
    assert float(one.temperature) == pytest.approx(float(five.temperature), rel=1e-6)


def test_by_score_counts_valid_pixels_alone():
    logits, truth = wrong_image_by_image(10, 1)
    spoiled = truth.clone()
    spoiled[:, :4] = 255
    mask = torch.ones_like(truth, dtype=torch.bool)
    mask[:, :4] = False
    one = sw.fit_decision([(logits, spoiled)], by="score", ignore_index=255)
    other = sw.fit_decision([(logits, truth, mask)], by="score")
    assert float(one.temperature) == float(other.temperature)


def test_by_score_refuses_what_has_no_score_of_an_image():
    batch = wrong_image_by_image(5, 0)
    with pytest.raises(ValueError, match="Leave `by` out"):
        sw.fit_decision([batch], "size", by="score")
    with pytest.raises(ValueError, match="Leave `by` out"):
        sw.fit_decision([batch], scope="batch", by="score")
    with pytest.raises(ValueError, match="by"):
        sw.fit_decision([batch], by="dice")


@pytest.mark.parametrize("by", ["score", "likelihood"])
def test_labels_that_are_no_class_are_refused_and_no_labels_change_nothing(by):
    logits, truth = wrong_image_by_image(5, 0)
    with pytest.raises(ValueError, match="target holds the label 7, and there are 2 classes"):
        sw.fit_decision([(logits, 7 * truth)], by=by)
    nothing = torch.full_like(truth, 255)
    assert float(sw.fit_decision([(logits, nothing)], by=by, ignore_index=255).temperature) == 1


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8])
def test_labels_of_every_integer_dtype_are_compared_as_what_they_are(dtype):
    logits = fields(2, 3, (8, 8), seed=5)
    target = drawn(logits)
    wanted = sw.fit_decision([(logits, target)]).temperature
    assert sw.fit_decision([(logits, target.to(dtype))], ignore_index=100).temperature == wanted
    # uint8 holds no −1, which torch would take for 255
    target[0, 0] = 255
    if dtype == torch.uint8:
        with pytest.raises(ValueError, match="target holds the label 255, and there are"):
            sw.fit_decision([(logits, target.to(dtype))], ignore_index=-1)
