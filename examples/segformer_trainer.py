"""Hugging Face: SegFormer in Trainer with our loss. Its logits have a quarter of the resolution; 255 is ignored.

pip install '.[transformers]'  # in a checkout
"""

import tempfile

import torch
from discs import discs

from sizewise.integrations.transformers import SemanticLoss
from sizewise.models.torchvision_ops import import_with_torchvision

# Any `import transformers` does; this one also works next to a torchvision that was built for another torch.
transformers = import_with_torchvision("transformers", extra="transformers", reason="this example")


def main():
    """A tiny SegFormer from scratch; a real one comes from SegformerForSemanticSegmentation.from_pretrained(...)."""
    transformers.set_seed(0)
    images, labels = discs(16, size=32)
    labels[:, :2] = 255  # a border without labels
    data = [
        {"pixel_values": image.expand(3, -1, -1), "labels": label} for image, label in zip(images, labels, strict=True)
    ]
    model = transformers.SegformerForSemanticSegmentation(
        transformers.SegformerConfig(
            num_labels=3,
            depths=[1, 1],
            hidden_sizes=[16, 32],
            num_encoder_blocks=2,
            num_attention_heads=[1, 2],
            patch_sizes=[7, 3],
            strides=[4, 2],
            sr_ratios=[2, 1],
            mlp_ratios=[2, 2],
            decoder_hidden_size=32,
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer = transformers.Trainer(
            model,
            transformers.TrainingArguments(
                folder,
                num_train_epochs=4,
                per_device_train_batch_size=4,
                gradient_accumulation_steps=2,
                learning_rate=5e-3,
                report_to="none",
                disable_tqdm=True,
                save_strategy="no",
                logging_strategy="no",
                use_cpu=not torch.cuda.is_available(),
            ),
            train_dataset=data,
            eval_dataset=data,
            compute_loss_func=SemanticLoss("RCE"),  # the one line; without it: the model's own cross-entropy
        )
        before = trainer.evaluate()["eval_loss"]
        trainer.train()
        print(f"loss {before:.3f} -> {trainer.evaluate()['eval_loss']:.3f}")


if __name__ == "__main__":
    main()
