"""SemanticLoss in Hugging Face's Trainer, with real (tiny) SegFormer and Mask2Former networks."""

import copy
import re
from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional
from torchvision_stub import import_peer

import sizewise as sw
from sizewise.integrations.transformers import (
    SemanticLoss,
    post_process_semantic_segmentation,
    semantic_logits,
)

transformers = import_peer("transformers", needs_torchvision=True)
import_peer("accelerate")  # Trainer needs it

CLASSES = 3


def segformer() -> torch.nn.Module:
    torch.manual_seed(0)
    config = transformers.SegformerConfig(
        num_labels=CLASSES,
        num_encoder_blocks=2,
        depths=[1, 1],
        hidden_sizes=[8, 16],
        num_attention_heads=[1, 2],
        patch_sizes=[7, 3],
        strides=[4, 2],
        sr_ratios=[2, 1],
        mlp_ratios=[2, 2],
        decoder_hidden_size=16,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        classifier_dropout_prob=0.0,
        drop_path_rate=0.0,
    )
    return transformers.SegformerForSemanticSegmentation(config)


def labelled(images: int = 2, size: int = 32) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randn(images, 3, size, size, generator=generator)
    labels = (pixels[:, 0] > 0.5).long() + (pixels[:, 1] > 1).long()
    labels[:, :3] = 255
    return pixels, labels


def test_with_cross_entropy_it_is_segformers_own_loss():
    model = segformer().eval()  # batch norm as it is
    pixels, labels = labelled()
    outputs = model(pixel_values=pixels, labels=labels)
    assert outputs.logits.shape == (2, CLASSES, 8, 8)  # a quarter of 32
    outputs.loss.backward()
    own = {name: weight.grad.clone() for name, weight in model.named_parameters()}
    model.zero_grad()
    loss = SemanticLoss("CE")(model(pixel_values=pixels), labels)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(float(outputs.loss.detach()), rel=1e-6)
    for name, weight in model.named_parameters():
        torch.testing.assert_close(weight.grad, own[name], rtol=1e-4, atol=1e-6)


def trained(folder, model, data, *, batch: int, accumulated: int, epochs: int = 1) -> torch.nn.Module:
    arguments = transformers.TrainingArguments(
        str(folder),
        num_train_epochs=epochs,
        per_device_train_batch_size=batch,
        gradient_accumulation_steps=accumulated,
        learning_rate=0.1,
        optim="sgd",
        lr_scheduler_type="constant",
        max_grad_norm=0.0,
        report_to="none",
        disable_tqdm=True,
        save_strategy="no",
        logging_strategy="no",
        use_cpu=True,
        dataloader_pin_memory=False,
        remove_unused_columns=False,
    )
    # both terms per image, so that a batch of four is the mean of four batches of one
    loss = SemanticLoss(sw.CrossEntropy(scope="image") + sw.SizeL1())
    trainer = transformers.Trainer(model, arguments, train_dataset=data, compute_loss_func=loss)
    trainer.train()
    return model


@pytest.mark.filterwarnings("ignore")  # Trainer's own
def test_trainer_learns_and_accumulated_batches_are_one_large_batch(tmp_path, capsys):
    pixels, labels = labelled(images=4)
    data = [{"pixel_values": image, "labels": label} for image, label in zip(pixels, labels, strict=True)]
    start = segformer()
    for part in start.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.eval()
            part.forward = lambda values: values  # statistics of a batch are not those of its parts
    whole = trained(tmp_path, copy.deepcopy(start), data, batch=4, accumulated=1)
    parts = trained(tmp_path, copy.deepcopy(start), data, batch=1, accumulated=4)
    moved = 0.0
    for (name, one), other, old in zip(whole.named_parameters(), parts.parameters(), start.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6, msg=lambda text, name=name: f"{name}: {text}")
        moved += float((one - old).detach().abs().sum())
    assert moved > 1e-3


def tiny_mask2former() -> torch.nn.Module:
    torch.manual_seed(0)
    backbone = transformers.SwinConfig(
        image_size=32,
        patch_size=2,
        embed_dim=8,
        depths=[1, 1, 1, 1],
        num_heads=[1, 1, 2, 2],
        window_size=2,
        out_features=["stage1", "stage2", "stage3", "stage4"],
    )
    config = transformers.Mask2FormerConfig(
        backbone_config=backbone,
        num_labels=CLASSES,
        feature_size=32,
        mask_feature_size=32,
        hidden_dim=32,
        encoder_feedforward_dim=16,
        dim_feedforward=16,
        encoder_layers=1,
        decoder_layers=2,
        num_attention_heads=2,
        num_queries=6,
    )
    return transformers.Mask2FormerForUniversalSegmentation(config)


def test_mask2former_through_semantic_logits():
    """The prediction is the one of its own post-processing, and the loss reaches its weights."""
    model = tiny_mask2former().eval()
    pixels, labels = labelled()
    outputs = model(pixel_values=pixels)
    loss = SemanticLoss("RCE")(outputs, labels)
    loss.backward()
    assert float(model.class_predictor.weight.grad.abs().sum()) > 0
    masks = functional.interpolate(outputs.masks_queries_logits, size=(384, 384), mode="bilinear", align_corners=False)
    ours = semantic_logits(outputs.class_queries_logits, masks).argmax(1)
    processor = transformers.Mask2FormerImageProcessor()
    theirs = torch.stack(processor.post_process_semantic_segmentation(outputs))
    assert float((ours == theirs).double().mean()) > 0.9999


@pytest.mark.filterwarnings("ignore")  # Trainer's own
def test_mask2former_in_trainer(tmp_path):
    """`labels` is none of its arguments, so that Trainer has to be told what they are called."""
    pixels, labels = labelled()
    data = [{"pixel_values": image, "labels": label} for image, label in zip(pixels, labels, strict=True)]
    arguments = transformers.TrainingArguments(
        str(tmp_path),
        max_steps=1,
        per_device_train_batch_size=2,
        remove_unused_columns=False,
        label_names=["labels"],
        prediction_loss_only=True,
        report_to="none",
        disable_tqdm=True,
        save_strategy="no",
        logging_strategy="no",
        use_cpu=True,
        dataloader_pin_memory=False,
    )
    model = tiny_mask2former()
    before = model.class_predictor.weight.detach().clone()
    loss = SemanticLoss("RCE")
    trainer = transformers.Trainer(model, arguments, train_dataset=data, eval_dataset=data, compute_loss_func=loss)
    trainer.train()
    assert not torch.equal(model.class_predictor.weight.detach(), before)
    with torch.no_grad():
        expected = float(loss(model.eval()(pixel_values=pixels), labels))
    assert trainer.evaluate()["eval_loss"] == pytest.approx(expected, rel=1e-4)


def test_semantic_logits_are_the_formula():
    generator = torch.Generator().manual_seed(1)
    classes = torch.randn(2, 5, 4, generator=generator, requires_grad=True)
    masks = torch.randn(2, 5, 3, 2, generator=generator, requires_grad=True)
    found = semantic_logits(classes, masks)
    wanted = torch.zeros(2, 3, 3, 2, dtype=torch.float64)
    for query in range(5):
        probability = classes.detach().double().softmax(-1)[:, query, :3]  # the fourth is "no object"
        wanted += probability[:, :, None, None] * masks.detach().double().sigmoid()[:, query, None]
    torch.testing.assert_close(found.detach().double(), wanted.log(), rtol=1e-5, atol=1e-5)
    direct = torch.einsum("nqc,nqhw->nchw", classes.softmax(-1)[..., :-1], masks.sigmoid()).log()
    weights = torch.randn(found.shape, generator=generator)
    ours = torch.autograd.grad((found * weights).sum(), (classes, masks))
    for one, other in zip(ours, torch.autograd.grad((direct * weights).sum(), (classes, masks)), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_semantic_logits_stay_finite_where_probabilities_underflow():
    """One query, sure of "no object" by 200 and of no mask by 300: log p = -200 - 300, which float32 holds."""
    classes, masks = torch.tensor([[[0.0, 200.0]]]), torch.full((1, 1, 1, 1), -300.0, requires_grad=True)
    found = semantic_logits(classes, masks)
    assert float(found.detach()) == pytest.approx(-500.0)
    found.sum().backward()
    assert float(masks.grad) == pytest.approx(1.0)


def test_bad_use_is_told_what_to_do():
    loss = SemanticLoss("RCE")
    logits = SimpleNamespace(logits=torch.zeros(1, 3, 4, 4))
    with pytest.raises(ValueError, match=re.escape("labels must be a tensor (N, H, W) of class ids, got NoneType")):
        loss(logits, None)
    with pytest.raises(ValueError, match=r"got SimpleNamespace\. Is it a model for semantic"):
        loss(SimpleNamespace(logits=torch.zeros(1, 10)), torch.zeros(1, 8, 8, dtype=torch.long))
    with pytest.raises(ValueError, match="label 7"):
        loss(logits, torch.full((1, 8, 8), 7))


SIZES = [(32, 32), (30, 41)]


@pytest.mark.parametrize("network", ["SegFormer", "Mask2Former", "MaskFormer"])
@pytest.mark.parametrize("sizes", [SIZES, torch.tensor(SIZES), None], ids=["list", "tensor", "none"])
def test_argmax_is_the_processors_own_post_processing(network, sizes):
    generator = torch.Generator().manual_seed(2)
    if network == "SegFormer":
        outputs = SimpleNamespace(logits=torch.randn(2, 4, 8, 8, generator=generator))
        processor = transformers.SegformerImageProcessor()
    else:
        queries = {
            "class_queries_logits": 3 * torch.randn(2, 6, 4, generator=generator),
            "masks_queries_logits": 3 * torch.randn(2, 6, 8, 8, generator=generator),
        }
        outputs = type(f"{network}Output", (SimpleNamespace,), {})(**queries)
        processor = getattr(transformers, f"{network}ImageProcessor")()
    theirs = processor.post_process_semantic_segmentation(outputs, target_sizes=None if sizes is None else SIZES)
    ours = post_process_semantic_segmentation(outputs, target_sizes=sizes, metric="argmax")
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype == torch.int64
        assert one.shape == other.shape
        assert float((one == other).double().mean()) > 0.9999


def test_decisions_are_taken_at_the_size_of_each_image():
    logits = torch.randn(2, 4, 8, 8, generator=torch.Generator().manual_seed(3))
    options = {"metric": "dice", "background": 0, "temperature": 1.4, "prune": 0.3}
    decided = post_process_semantic_segmentation(SimpleNamespace(logits=logits), SIZES, **options)
    for number, size in enumerate(SIZES):
        full = functional.interpolate(logits[number : number + 1], size=size, mode="bilinear", align_corners=False)
        assert torch.equal(decided[number], sw.decide(full, **options)[0])
        assert not torch.equal(decided[number], full[0].argmax(0))


def test_a_real_networks_outputs_are_decided():
    pixels, _ = labelled()
    with torch.no_grad():
        outputs = tiny_mask2former().eval()(pixel_values=pixels)
    assert type(outputs).__name__.startswith("Mask2Former")  # which its own size follows from
    for metric in ("dice", "iou", "size"):
        assert [one.shape for one in post_process_semantic_segmentation(outputs, SIZES, metric=metric)] == SIZES
    with pytest.raises(ValueError, match=r"temperature divides logits, and Mask2Former.* holds queries"):
        post_process_semantic_segmentation(outputs, temperature=2.0)


def test_bad_outputs_and_sizes_are_told_what_to_do():
    outputs = SimpleNamespace(logits=torch.zeros(2, 3, 8, 8))
    with pytest.raises(ValueError, match=re.escape("one (height, width) for each of 2 images, got [(4, 4)]")):
        post_process_semantic_segmentation(outputs, [(4, 4)])
    with pytest.raises(ValueError, match="post_process_semantic_segmentation: the model's outputs must have logits"):
        post_process_semantic_segmentation(SimpleNamespace(logits=torch.zeros(2, 3)))


def test_a_criterion_that_upsamples_reads_segformers_logits_as_they_are():
    pixels, labels = labelled()
    outputs = segformer().eval()(pixel_values=pixels)
    plain, small = SemanticLoss("RCE"), SemanticLoss(sw.loss("RCE", upsample="linear"))
    torch.testing.assert_close(small(outputs, labels), plain(outputs, labels))
