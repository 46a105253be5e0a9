"""The settings of a run: typed, frozen, complete, and addressed by their hash."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from sizewise.errors import BadInput
from sizewise.wording import size_word

DEFAULT_LOSS = "JaccardCE"  # ahead of, or level with, every other arm where it was measured: docs/evidence.md
LARGEST_SEED = 2**32 - 1
DEFINITIONS = 2  # raised when equal settings come to mean another computation; 1: SizeL1 and DiceBias were sums
LEAST = {
    "epochs": 1, "batch_size": 1, "accumulate": 1, "validate_every": 1, "steps_per_epoch": 0, "patience": 0, "folds": 0,
    "fold": 0, "early_stop": 0,
}  # fmt: skip
MOST = {"epochs": 10**7, "batch_size": 2**16, "steps_per_epoch": 10**7, "folds": 1000}  # more is a slip of the hand
MOST_SAMPLES = 10**8  # of an epoch, whose plan is drawn at once
MOST_PIXELS = 2**31  # of an image or a crop
SPACINGS = (1e-4, 1e4)  # mm
LARGEST_NUMBER = 1e30  # training computes in single precision, which ends at 3e38
# Settings that runs of earlier versions do not have. They are written where they are used, so that hashes stay.
LATER = (
    "background", "ramp", "groups", "split", "test_share", "folds", "fold", "early_stop", "accumulate", "ema",
    "deep_supervision",
)  # fmt: skip
NOT_NEGATIVE = ("minimum_learning_rate", "momentum", "weight_decay", "clip_norm", "power", "nsd_tolerance")


@dataclass(frozen=True)
class RunConfig:
    r"""Everything that decides what a run computes. Two runs with the same hash are the same run.

    Attributes:
        data: a folder, or the name of a built-in data set: synthetic, synthetic-3d.
        data_name: read the folder as this data set, where it could be read in several ways.
        merge: all foreground classes become one.
        classes_csv: the table of class names with mask values or colours, where masks are coloured.
        ignore_index: the mask value of pixels without a label. None is the data set's own.
        modality: what was measured, such as CT or MRI, by channel: T1,T2, where the files do not say.
        background: none scores every class, 0 all but label 0. "auto" is the data set's own: 0 unless it has none.
        groups: which cases belong together: a regular expression whose match in a case's name is the group, as
            patient\d+, or a CSV with the columns case and group. They stay on one side of a split, and are the units
            of the statistics.
        split: a CSV with the columns case and subset (train, validation, test, none).
        test_share: of all labelled cases, drawn by whole groups. None is the data set's own test cases or fractions.
        folds: of a cross-validation over all labelled cases: a run tests one of them, a study all; 0 is one split.
        fold: which fold is tested, from 0.
        model: fpn-resnet50, monai-unet, …, any ARCH-ENCODER of SMP, or MODULE:NAME of your own.
        encoder_weights: none, imagenet, or a file.
        loss: a name that `sizewise losses` lists, a sum of terms as "CE + 0.5 * Tversky(alpha=0.3, beta=0.7)", or
            MODULE:NAME of your own.
        weight: λ, the weight of the loss's last term. None is the loss's own default.
        ramp: λ grows from 0 to its value between two shares of the training, as 0.1:0.3. Empty: λ all the time.
        loss_options: further options of ``sizewise.loss``, as (name, value) pairs.
        activation: softmax, or sigmoid, which makes a binary problem one channel, where Dice-type terms see the
            foreground alone. "auto" is the data set's.
        seed: of initialisation, data order and augmentation. The split has its own seed: losses and seeds are
            compared on the same cases.
        split_seed: of the split, where the data set's authors gave none.
        recipe: polyp, retinal, volume, …: where what follows came from. "auto" goes by the data.
        size: images are resized to it, as 352x352; `stored` keeps them.
        spacing: volumes are resampled to it, in mm, as 1.5x1.5x2; `stored` keeps them.
        patch: training sees crops of this size, as 96x96x64; `stored` is the whole image.
        oversample: the share of each batch whose crops are centred on a foreground pixel.
        augment: none, flip, picture (upright), any-way-up, street, volume or slices (volumes, within their slices).
        epochs: how many.
        steps_per_epoch: 0 is as many as one pass over the training cases takes.
        batch_size: over all devices.
        accumulate: batches whose mean gradient makes one update. Terms over a batch see one of them at a time.
        optimizer: adam, or sgd with Nesterov momentum.
        learning_rate: at the start.
        minimum_learning_rate: where the polynomial ends.
        momentum: of SGD.
        weight_decay: of the optimizer.
        clip_norm: largest norm of the gradient, 0 for no limit.
        schedule: constant, plateau, poly or poly-step. "plateau" halves when the validation loss has not fallen for
            more than ``patience`` validations; "poly" falls as (1 − t/T)^power by epoch, "poly-step" by iteration.
        power: of the polynomial.
        patience: validations before a plateau halves the rate, as in torch's ReduceLROnPlateau.
        validate_every: epochs between validations. The last epoch is always validated.
        early_stop: training ends after so many validations in a row without a better score; 0 never.
        ema: decay of a moving average of the weights, as 0.999, which is what is validated and kept; 0 is none.
        deep_supervision: the loss of several resolutions, for networks that give them: monai-dynunet, or one of your
            own that returns a list in training.
        precision: float32, bfloat16 or float16 (mixed, the latter with loss scaling, for GPUs without bfloat16). "auto"
            is bfloat16 on a GPU that has it.
        nsd_tolerance: in mm, or pixels where the spacing is unknown.
        definitions: what the words mean, so that no old run passes for a new one. Not for users to set.
    """

    data: str
    data_name: str = ""
    merge: bool = False
    classes_csv: str = ""
    ignore_index: int | None = None
    modality: tuple[str, ...] = ()
    background: Literal["auto", "0", "none"] = "auto"
    groups: str = ""
    split: str = ""
    test_share: float | None = None
    folds: int = 0
    fold: int = 0
    model: str = "monai-unet-small"
    encoder_weights: str = "none"
    loss: str = DEFAULT_LOSS
    weight: float | None = None
    ramp: str = ""
    loss_options: tuple[tuple[str, Any], ...] = ()
    activation: Literal["auto", "softmax", "sigmoid"] = "auto"
    seed: int = 0
    split_seed: int = 0
    recipe: str = "auto"
    size: tuple[int, ...] = ()
    spacing: tuple[float, ...] = ()
    patch: tuple[int, ...] = ()
    oversample: float = 0.0
    augment: Literal["none", "flip", "picture", "any-way-up", "street", "volume", "slices"] = "flip"
    epochs: int = 10
    steps_per_epoch: int = 0
    batch_size: int = 8
    accumulate: int = 1
    optimizer: Literal["adam", "sgd"] = "adam"
    learning_rate: float = 1e-3
    minimum_learning_rate: float = 0.0
    momentum: float = 0.9
    weight_decay: float = 0.0
    clip_norm: float = 0.0
    schedule: Literal["constant", "plateau", "poly", "poly-step"] = "constant"
    power: float = 0.9
    patience: int = 5
    validate_every: int = 1
    early_stop: int = 0
    ema: float = 0.0
    deep_supervision: bool = False
    precision: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    nsd_tolerance: float = 1.0
    definitions: int = DEFINITIONS

    def __post_init__(self) -> None:
        self._normalise()
        check_words(asdict(self))
        for name, least in LEAST.items():
            self._require(name, getattr(self, name) >= least, f"must be at least {least}")
        for name, most in MOST.items():
            self._require(name, getattr(self, name) <= most, f"must be at most {most:,}")
        samples = self.batch_size * self.steps_per_epoch
        if samples > MOST_SAMPLES:
            raise BadInput(f"`batch_size` times `steps_per_epoch` must be at most {MOST_SAMPLES:,}, got {samples:,}.")
        for name in ("seed", "split_seed"):
            self._require(name, 0 <= getattr(self, name) <= LARGEST_SEED, f"must lie between 0 and {LARGEST_SEED}")
        self._require("learning_rate", self.learning_rate > 0, "must be above 0")
        for name in NOT_NEGATIVE:
            self._require(name, getattr(self, name) >= 0, "must be at least 0")
        numbers = {name: getattr(self, name) for name in ("learning_rate", *NOT_NEGATIVE)} | dict(self.loss_options)
        for name, value in numbers.items():
            if isinstance(value, float) and value > LARGEST_NUMBER:
                raise BadInput(f"`{name}` must be at most {LARGEST_NUMBER:g}, got {value:g}.")
        if self.minimum_learning_rate > self.learning_rate:
            raise BadInput(
                f"`minimum_learning_rate` {self.minimum_learning_rate:g} is above `learning_rate` "
                f"{self.learning_rate:g}."
            )
        self._require("momentum", self.momentum < 1, "must be below 1")
        self._require("ema", 0 <= self.ema < 1, "is a decay, at least 0 and below 1")
        self._require("oversample", 0 <= self.oversample <= 1, "is a share of the batch, between 0 and 1")
        for name in ("size", "patch", "spacing"):
            positive = all(0 < one < math.inf for one in getattr(self, name))
            self._require(name, positive, "must be positive along every axis")
            if name != "spacing" and math.prod(getattr(self, name)) > MOST_PIXELS:
                raise BadInput(f"`{name}` must have at most {MOST_PIXELS:,} pixels, got {getattr(self, name)}.")
        low, high = SPACINGS
        within = all(low <= one <= high for one in self.spacing)
        self._require("spacing", within, f"must lie between {low:g} and {high:g} mm")

    def _require(self, name: str, holds: bool, wanted: str) -> None:
        value = getattr(self, name)
        if not holds:
            raise BadInput(f"`{name}` {wanted}, got {f'{value:g}' if isinstance(value, float) else value}.")

    def _normalise(self) -> None:
        """One form for equal settings, as the hash is that of their text: tuples for lists, 1.0 for 1."""
        for name, hint in get_type_hints(RunConfig).items():
            value = getattr(self, name)
            wants_float = hint is float or (float in get_args(hint) and get_origin(hint) is not tuple)
            if isinstance(value, list | tuple):
                value = tuple(map(float, value)) if name == "spacing" else _as_tuple(value)
            elif wants_float and isinstance(value, int):
                value = float(value)
            object.__setattr__(self, name, value)

    @property
    def hash(self) -> str:
        """Eight letters of the SHA-256 of the settings.

        >>> RunConfig(data="synthetic").hash == RunConfig(data="synthetic", seed=1).hash
        False
        """
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:8]

    def to_json(self) -> str:
        """The settings as text, in a fixed order."""
        later = {field.name: field.default for field in fields(self) if field.name in LATER}
        values = {name: value for name, value in asdict(self).items() if name not in later or value != later[name]}
        return json.dumps(values, indent=1, sort_keys=True)

    @staticmethod
    def from_values(values: Mapping[str, Any]) -> "RunConfig":
        """The settings that :meth:`to_json` wrote.

        >>> config = RunConfig(data="synthetic", size=(64, 64), loss_options=(("smooth", 1.0),))
        >>> RunConfig.from_values(json.loads(config.to_json())) == config
        True
        """
        values = {"definitions": 1} | dict(values)
        known = {field.name for field in fields(RunConfig)}
        if unknown := sorted(set(values) - known):
            raise BadInput(
                f"the run's config has settings that this version does not know: {', '.join(unknown)}. "
                "It was written by another version of sizewise."
            )
        return RunConfig(**values)

    def differences(self, other: "RunConfig") -> list[str]:
        """What differs: this one's value, not the other's.

        >>> RunConfig(data="synthetic").differences(RunConfig(data="synthetic", seed=1))
        ['`seed`: 0, not 1']
        >>> RunConfig(data="synthetic").differences(RunConfig(data="synthetic", size=(64, 96)))
        ['`size`: stored, not 64x96']
        """
        mine, theirs = asdict(self), asdict(other)
        return [
            f"`{name}`: {_written(name, mine[name])}, not {_written(name, theirs[name])}"
            for name in mine
            if mine[name] != theirs[name]
        ]


@dataclass(frozen=True)
class Runtime:
    """How and where a run is carried out. It does not decide what is computed, beyond rounding.

    Attributes:
        accelerator: "auto", "cpu" or "cuda".
        devices: GPUs, or CPU processes, on this machine.
        nodes: machines, started with torchrun.
        deterministic: the same bits from run to run on a GPU, at a cost in speed.
        workers: threads that decode files; 0: one per core.
        keep_on_device: "auto" keeps data that fit in device memory; "never" streams from disk.
        save_seconds: at least this long between two saves of the state.
        graphs: "auto" captures the step in a CUDA graph on one GPU; "off" runs it eagerly.
        compile: "on" runs the network through torch.compile in training, "auto" does so on one GPU where the run is
            long enough to pay for the compiler. A run that is resumed keeps what it began with.
        sharing: processes that carry out runs on this machine at the same time; scoring takes its share of the cores.
        threads: of torch on a CPU, where sums depend on their number; 0: as torch has it. A run that is resumed keeps
            the number that it began with.
        logger: trackers that a run is shown to: wandb, mlflow, tensorboard, or MODULE:NAME of your own, with commas.
    """

    accelerator: Literal["auto", "cpu", "cuda"] = "auto"
    devices: int = 1
    nodes: int = 1
    deterministic: bool = False
    workers: int = 0
    keep_on_device: Literal["auto", "never"] = "auto"
    save_seconds: float = 20.0
    graphs: Literal["auto", "off"] = "auto"
    compile: Literal["auto", "on", "off"] = "auto"
    sharing: int = 1
    threads: int = 0
    logger: str = ""


def check_words(settings: dict[str, Any]) -> None:
    """Settings that are one of a few words must be one of them."""
    for name, hint in get_type_hints(RunConfig).items():
        if name in settings and get_origin(hint) is Literal and settings[name] not in get_args(hint):
            from sizewise.checks import closest  # needs torch, which a command's help does not wait for

            words, value = get_args(hint), settings[name]
            raise BadInput(f"`{name}` must be one of {', '.join(words)}, got {value!r}.{closest(value, words)}")


def _written(name: str, value: Any) -> str:
    """A value as it is given; sizes as 64x96."""
    if name in ("size", "spacing", "patch"):
        return size_word(value)
    return repr(value)


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list | tuple) else value
