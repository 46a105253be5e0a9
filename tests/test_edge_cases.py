"""What happens at the edges, for every named loss in every precision. One test for each row of the design's table."""

import torch
from edge_images import EVERY_READING, IGNORED, criterion, every_dtype, every_loss, images, run, some_readings
from torch.utils.checkpoint import checkpoint

import sizewise as sw


@every_dtype
@every_loss
def test_an_image_without_a_valid_pixel_enters_no_mean(name, dtype):
    for activation, channels in some_readings(name, dtype):
        loss = criterion(name, activation)
        logits, target = images(activation, channels, dtype)
        alone, gradient = run(loss, logits[:1], target[:1])
        ignored, mask = target.clone(), torch.ones(2, 4, 6, dtype=torch.bool)
        ignored[1], mask[1] = IGNORED, False
        for value, both in (run(loss, logits, ignored), run(loss, logits, target, mask)):
            torch.testing.assert_close(value, alone, rtol=1e-6, atol=1e-7)
            torch.testing.assert_close(both[:1], gradient, rtol=1e-2 if dtype.itemsize == 2 else 1e-5, atol=1e-7)
            assert both[1].count_nonzero() == 0


@every_dtype
@every_loss
def test_nothing_at_all_is_zero_with_zero_gradient(name, dtype):
    for activation, channels in some_readings(name, dtype):
        loss = criterion(name, activation)
        logits, target = images(activation, channels, dtype)
        mask = torch.zeros(2, 4, 6, dtype=torch.bool)
        cases = [(logits, target * 0 + IGNORED, None), (logits, target, mask)]
        cases += [(logits[:0], target[:0], None), (logits[..., :0], target[..., :0], mask[..., :0])]
        for one, labels, kept in cases:
            value, gradient = run(loss, one, labels, kept)
            assert value == 0
            assert value.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
            assert gradient.shape == one.shape
            assert gradient.count_nonzero() == 0


@every_dtype
@every_loss
def test_extreme_logits_and_absent_classes_stay_finite(name, dtype):
    for activation, channels in some_readings(name, dtype):
        logits, target = images(activation, channels, dtype)
        logits = torch.where(logits > 0, 1e4, -1e4).to(dtype)
        for labels in (target, target * 0, target * 0 + 1):
            value, gradient = run(criterion(name, activation), logits, labels)
            assert value.isfinite()
            assert gradient.isfinite().all()


@every_loss
def test_a_logit_of_minus_infinity_switches_a_class_off(name):
    # where the target does not ask for it: p = 0, and 0 · log 0 = 0
    for activation, channels in EVERY_READING:
        logits, target = images(activation, channels, torch.float32)
        off = logits.detach().clone()
        off[:, -1] = -float("inf")
        labels = target * 0
        soft = labels.float() if activation == "sigmoid" else torch.eye(channels)[labels].movedim(-1, 1)
        by_label = run(criterion(name, activation, None), off, labels)
        by_share = run(criterion(name, activation, None), off, soft)
        for value, gradient in (by_label, by_share):
            assert value.isfinite()
            assert gradient.isfinite().all()
        torch.testing.assert_close(by_label, by_share)


def test_pixels_without_a_label_reach_size_terms_alone():
    # pixels="all" lets them into p̂; what is infinite there must not turn 0 · ∞ into NaN elsewhere
    for activation, channels in EVERY_READING:
        logits, target = images(activation, channels, torch.float32)
        logits = logits.detach().clone()
        logits[0, 0, 0, 0] = -float("inf")
        target[0, ..., 0, 0] = IGNORED
        prior = torch.full((channels,), 1 / channels)
        options = {"activation": activation, "ignore_index": IGNORED, "target": prior, "pixels": "all"}
        for name in ("RCE-L1", "RFL-KL"):
            value, gradient = run(sw.loss(name, **options), logits, target)
            terms = sw.loss(name, **options).terms(logits, target)
            main = next(iter(terms))
            assert torch.equal(terms[main], sw.Loss(getattr(sw, main)(), **read_as(options))(logits, target))
            assert value.isfinite()
            assert gradient.isfinite().all()


def read_as(options):
    return {name: options[name] for name in ("activation", "ignore_index")}


LAYOUTS = {
    "contiguous": lambda tensor: tensor.contiguous(),
    "channels last": lambda tensor: tensor.contiguous(memory_format=torch.channels_last),
    "transposed": lambda tensor: tensor.transpose(2, 3).contiguous().transpose(2, 3),
    "batch inside": lambda tensor: tensor.transpose(0, 1).contiguous().transpose(0, 1),
}


@every_dtype
@every_loss
def test_the_gradient_has_the_dtype_and_strides_of_the_logits(name, dtype):
    for activation, channels in some_readings(name, dtype):
        logits, target = images(activation, channels, dtype)
        loss = criterion(name, activation)
        value, gradient = run(loss, logits, target)
        assert value.shape == ()
        assert value.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        for layout, arrange in LAYOUTS.items():
            arranged = arrange(logits.detach())
            same, other = run(loss, arranged, arrange(target) if target.dim() == 4 else target)
            assert other.dtype == dtype
            assert other.stride() == arranged.stride(), layout
            torch.testing.assert_close(same, value, rtol=1e-6, atol=1e-7)
            torch.testing.assert_close(other, gradient, rtol=1e-2 if dtype.itemsize == 2 else 1e-5, atol=1e-7)
        # a view with holes, as a crop is: its gradient lands in the whole
        whole = torch.zeros(2, channels, 8, 12, dtype=dtype)
        whole[:, :, ::2, ::2] = logits.detach()
        whole.requires_grad_()
        loss(whole[:, :, ::2, ::2], target.repeat_interleave(2, -1)[..., ::2]).backward()
        torch.testing.assert_close(whole.grad[:, :, ::2, ::2], gradient, rtol=1e-2, atol=1e-6)


@every_dtype
@every_loss
def test_dropped_logits_never_enter_even_nan(name, dtype):
    for activation, channels in some_readings(name, dtype):
        logits, target = images(activation, channels, dtype)
        loss = criterion(name, activation)
        dropped = torch.zeros(2, 4, 6, dtype=torch.bool)
        dropped[0, 1, 2] = dropped[1, :, 4] = True
        per_channel = dropped.unsqueeze(1).expand_as(logits)
        ignored = target.masked_fill(dropped if target.dim() == 3 else per_channel, IGNORED)
        clean = [run(loss, logits, ignored), run(loss, logits, target, ~dropped)]
        for poison in (float("nan"), float("inf"), -float("inf")):
            poisoned = logits.detach().masked_fill(per_channel, poison)
            dirty = [run(loss, poisoned, ignored), run(loss, poisoned, target, ~dropped)]
            for (value, gradient), (same, other) in zip(clean, dirty, strict=True):
                assert torch.equal(value, same)
                assert torch.equal(gradient, other)
                assert other[per_channel].count_nonzero() == 0
        valid_nan = logits.detach().clone()
        valid_nan[0, 0, 0, 0] = float("nan")
        value, gradient = run(loss, valid_nan, target, ~dropped)
        assert value.isnan()
        assert gradient[per_channel].count_nonzero() == 0


@every_dtype
@every_loss
def test_same_input_same_bits_and_the_same_under_autocast_and_checkpointing(name, dtype):
    for activation, channels in some_readings(name, dtype):
        logits, target = images(activation, channels, dtype, spatial=(16, 24))
        loss = criterion(name, activation)
        value, gradient = run(loss, logits, target)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            cast = run(loss, logits, target)
        leaf = logits.detach().requires_grad_()
        stored = checkpoint(loss, leaf, target, use_reentrant=False)
        stored.backward()
        for again in (run(loss, logits, target), cast, (stored.detach(), leaf.grad)):
            assert torch.equal(value, again[0])
            assert torch.equal(gradient, again[1])
