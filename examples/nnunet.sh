#!/usr/bin/env bash
# nnU-Net with the loss RCE, from raw data to scores:  examples/nnunet.sh DATASET_ID [DEVICE]
# nnUNet_raw, nnUNet_preprocessed and nnUNet_results must be set, as for nnU-Net itself.
set -euo pipefail
dataset=$1 device=${2:-cuda}
raw=$(echo "$nnUNet_raw/Dataset$(printf %03d "$dataset")"_*)

# nnU-Net then also searches this folder for trainers.
export nnUNet_extTrainer="$(sizewise nnunet --path)${nnUNet_extTrainer:+:$nnUNet_extTrainer}"

# λ of the size term, and the length of the training. Unset, they are those of the loss and of nnU-Net.
export SIZEWISE_NNUNET_WEIGHT=0.5
export SIZEWISE_NNUNET_EPOCHS=${SIZEWISE_NNUNET_EPOCHS:-250}

# The final validation once more, with labels that are decided for Dice: fold_0/decided_dice beside fold_0/validation.
export SIZEWISE_VALIDATION_DECISION=dice

nnUNetv2_plan_and_preprocess -d "$dataset" -c 3d_fullres --verify_dataset_integrity
nnUNetv2_train "$dataset" 3d_fullres 0 -tr nnUNetTrainerRCE -device "$device"

# The models lie under a name that tells the settings: nnUNetTrainerRCE_weight0.5_epochs250.
trainer=$(sizewise nnunet --name nnUNetTrainerRCE)
predicted="$nnUNet_results/$(basename "$raw")/$trainer-predicted"
nnUNetv2_predict -d "$dataset" -c 3d_fullres -f 0 -tr "$trainer" -i "$raw/imagesTs" -o "$predicted" -device "$device"

# Where the test images have labels: Dice, surface distances and size errors per case and class.
if [ -d "$raw/labelsTs" ]; then
    sizewise evaluate --pred "$predicted" --target "$raw/labelsTs" --out "$predicted-scores"
fi
