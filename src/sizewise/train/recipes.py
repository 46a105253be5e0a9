"""Recipes: the paper's protocols, and defaults for data that it does not know. A recipe returns settings.

| recipe | protocol |
|---|---|
| demo | built-in 2D data, on a CPU core in half a minute |
| demo-3d | the same in 3D |
| picture | any photographs: R50-FPN, 352 along the shorter side, 40 epochs of Adam 2e-4 with polynomial decay; |
| | mirrored left and right, tilted and scaled a little, which leaves an upright picture one |
| any-way-up | the same for pictures without an upright (cells, skin, retina): turned and mirrored in every way |
| polyp | the paper's Kvasir-SEG and CVC-ClinicDB: R50-FPN at 352², Adam 1e-4, batch 8, 60 epochs, halved after 5 |
| retinal | the paper's Retinal Lesions: 512², lesions merged, one sigmoid channel: Dice terms see the lesion alone |
| volume | any volumes: patches with foreground oversampling, Adam 1e-3 with polynomial decay, 100 × 100 steps; |
| | flat patches are turned within their slices alone (augmentation `slices`) |
| paper-3d | the paper's MSD and AMOS: SGD 0.01, batch 2, 1,000 epochs of 250 steps, polynomial decay to 0 |
| cityscapes | the paper's: 512×1024, SGD 0.01, batch 8, 100 epochs, polynomial per iteration to 1e-4 |
"""

from typing import Any

from sizewise.errors import BadInput

Settings = dict[str, Any]

DEMO: Settings = {
    "model": "monai-unet-small",
    "augment": "flip",
    "epochs": 15,
    "learning_rate": 2e-3,
    "schedule": "poly",
    "batch_size": 8,
}
PICTURE: Settings = {
    "model": "fpn-resnet50",
    "encoder_weights": "imagenet",
    "size": (352, 352),
    "augment": "picture",
    "epochs": 40,
    "learning_rate": 2e-4,
    "schedule": "poly",
    "batch_size": 8,
}
ANY_WAY_UP: Settings = PICTURE | {"augment": "any-way-up"}
POLYP: Settings = ANY_WAY_UP | {"epochs": 60, "learning_rate": 1e-4, "schedule": "plateau", "patience": 5}
VOLUME: Settings = {
    "model": "monai-dynunet",
    "augment": "volume",
    "oversample": 0.5,
    "learning_rate": 1e-3,
    "clip_norm": 12.0,
    "schedule": "poly",
    "batch_size": 2,
    "epochs": 100,
    "steps_per_epoch": 100,
    "validate_every": 5,
}
RECIPES: dict[str, Settings] = {
    "demo": DEMO,
    "demo-3d": DEMO | {"batch_size": 4, "patch": (32, 32, 32), "oversample": 0.5, "epochs": 5},
    "picture": PICTURE,
    "any-way-up": ANY_WAY_UP,
    "polyp": POLYP,
    "retinal": POLYP | {"size": (512, 512), "merge": True, "activation": "sigmoid"},
    "volume": VOLUME,
    "paper-3d": VOLUME
    | {
        "optimizer": "sgd",
        "learning_rate": 0.01,
        "momentum": 0.99,
        "weight_decay": 3e-5,
        "epochs": 1000,
        "steps_per_epoch": 250,
        "validate_every": 50,
    },
    "cityscapes": PICTURE
    | {
        "size": (512, 1024),
        "augment": "street",
        "epochs": 100,
        "optimizer": "sgd",
        "learning_rate": 0.01,
        "minimum_learning_rate": 1e-4,
        "momentum": 0.9,
        "weight_decay": 1e-4,
        "schedule": "poly-step",
        "power": 1.0,
    },
}
KEEP_ASPECT = ("picture", "any-way-up")  # recipes whose size follows the pictures, unless it was given
BY_LAYOUT = {
    "synthetic": "demo",
    "synthetic-3d": "demo-3d",
    "kvasir-seg": "polyp",
    "cvc-clinicdb": "polyp",
    "retinal-lesions": "retinal",
    "idrid": "any-way-up",
    "cityscapes": "cityscapes",
    "amos": "paper-3d",
}


def recipe_by_layout(layout: str) -> str:
    """The recipe for a layout when the user names none; empty where that depends on what it holds.

    >>> recipe_by_layout("kvasir-seg"), recipe_by_layout("folder")
    ('polyp', '')
    """
    return BY_LAYOUT.get(layout, "")


def recipe_by_dims(spatial_dims: int) -> str:
    """The recipe for data that no layout has one for."""
    return "volume" if spatial_dims == 3 else "picture"


def recipe_settings(name: str) -> Settings:
    """The settings of a recipe.

    >>> recipe_settings("polyp")["epochs"]
    60
    """
    if name not in RECIPES:
        from sizewise.checks import closest  # with torch, which the names of recipes do without

        known = ", ".join(RECIPES)
        raise BadInput(f"`recipe` must be one of {known}, got {name!r}.{closest(name, tuple(RECIPES))}")
    return dict(RECIPES[name])
