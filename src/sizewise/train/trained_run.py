"""A trained run as a function on arrays: the network with its preparation and its decision."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from sizewise.data.dataset import Image
from sizewise.data.split import Split
from sizewise.errors import BadInput
from sizewise.metrics.cases_csv import ARGMAX
from sizewise.train.decided_labels import LabelMaker
from sizewise.train.ensemble import Member, load_predictor
from sizewise.train.label_choice import check_decision, make_labels
from sizewise.train.predict import problem_dataset, read_members
from sizewise.train.predictor import Predictor
from sizewise.train.task import make_task
from sizewise.wording import counted

AN_IMAGE = "the image"


class TrainedRun:
    """What :func:`load_run` returns: call it with an image's pixels.

    Attributes:
        classes: the names of all classes by the ids in label maps; for overlapping regions by channel, from 1.
        decide: how labels are chosen.
        temperature: what logits are divided by before a decision other than argmax.
    """

    def __init__(self, members: Sequence[Member], network: Predictor, maker: LabelMaker, *, decide: str) -> None:
        self._member, self._network, self._maker = members[0], network, maker
        self.decide, self.temperature = decide, maker.temperature
        dataset = maker.task.dataset
        self.classes = dict(enumerate(dataset.classes, start=dataset.first_id))

    def __call__(self, pixels: Any, *, spacing: Sequence[float] | None = None) -> np.ndarray:
        """The label map of an image, at its size.

        Args:
            pixels: (C, *S), or (*S) where there is one channel: uint8 for a run on photographs, else as measured.
            spacing: millimetres between neighbours along each axis; needed where the run resamples.

        Returns:
            (*S) uint8 class ids, or (C, *S) of 0 and 1 where regions may overlap.
        """
        image = self._image(pixels, spacing)
        return self._maker.label_map(self._logits(image), image.pixels.shape[1:], self.decide)

    def probabilities(self, pixels: Any, *, spacing: Sequence[float] | None = None) -> np.ndarray:
        """(K, *S) float16: of each class at the image's size, before any temperature. Arguments as for a call."""
        image = self._image(pixels, spacing)
        return self._maker.probabilities(self._logits(image), image.pixels.shape[1:])

    def _logits(self, image: Image) -> Tensor:
        self._network.check(image, AN_IMAGE)
        return self._network.logits(image)

    def _image(self, pixels: Any, spacing: Sequence[float] | None) -> Image:
        array = np.asarray(pixels)
        preparation, dims = self._member.preparation, int(self._member.problem["spatial_dims"])
        channels = len(preparation.mean)
        if array.ndim == dims and channels == 1:
            array = array[None]
        if array.ndim != dims + 1 or len(array) != channels:
            hint = ""
            if array.ndim == dims + 1 and array.shape[-1] == channels:
                hint = " With the channels last? Pass `np.moveaxis(pixels, -1, 0)`."
            raise BadInput(
                f"`pixels` must be {counted(channels, 'channel')} of a {dims}D image, with shape "
                f"(C, {', '.join('HWD'[:dims])}), got an array of shape {array.shape}.{hint}"
            )
        if not array.size:
            raise BadInput(f"`pixels` must have pixels, got an empty array of shape {array.shape}.")
        if array.dtype.kind not in "buif":
            raise BadInput(f"`pixels` must be numbers, got {array.dtype}.")
        if preparation.scaling != "photo":
            array = array.astype(np.float32)
        if spacing is None:
            if preparation.spacing:
                wanted = "×".join(f"{step:g}" for step in preparation.spacing)
                raise BadInput(f"this run resamples images to {wanted} mm: give the image's own `spacing`.")
            spacing = (1.0,) * dims
        steps = tuple(float(step) for step in spacing)
        if len(steps) != dims or not all(0 < step < np.inf for step in steps):
            raise BadInput(f"`spacing` must be {dims} numbers of mm above 0, got {tuple(spacing)}.")
        return Image(array, steps)


def run_list(run: str | Path | Sequence[str | Path]) -> list[str | Path]:
    """One run folder or several, as a list."""
    return [run] if isinstance(run, str | Path) else list(run)


def load_run(
    run: str | Path | Sequence[str | Path],
    *,
    decide: str = ARGMAX,
    temperature: float | None = None,
    flips: bool = False,
    overlap: float | None = None,
    keep_largest: bool = False,
    device: str = "auto",
) -> TrainedRun:
    """The network of a run folder with its preparation and decision, as a function from pixels to labels.

    Args:
        run: the folder, or several, whose mean probabilities are decided.
        decide: "argmax", "dice", "iou" or "size".
        temperature: of the decision. None: what the run has kept, or what fits its validation cases now.
        flips: predict mirrored images too, along the axes that training mirrored.
        overlap: of neighbouring windows, where training saw patches; None is 0.5.
        keep_largest: of the classes where that scores better on the validation cases.
        device: "auto", "cpu" or "cuda".

    >>> import numpy as np, sizewise as sw, tempfile
    >>> from sizewise.train.config import Runtime
    >>> from sizewise.train.resolve import resolve
    >>> from sizewise.train.run import run_training
    >>> folder = Path(tempfile.mkdtemp()) / "run"
    >>> tiny = resolve({"data": "synthetic", "epochs": 1, "steps_per_epoch": 1, "size": (16, 16), "batch_size": 2})
    >>> _ = run_training(tiny, folder=folder, runtime=Runtime(accelerator="cpu"), log=lambda line: None)
    >>> segment = sw.load_run(folder, device="cpu")
    >>> segment(np.zeros((20, 30), np.uint8)).shape
    (20, 30)
    >>> segment.classes
    {0: 'background', 1: 'organ', 2: 'cyst', 3: 'lesion'}
    """
    check_decision(decide, temperature)
    if not isinstance(run, str | Path | Sequence) or not all(isinstance(one, str | Path) for one in run_list(run)):
        raise BadInput(f"`run` must be a run folder, or a list of several, got {run!r}.")
    given = run_list(run)
    members = read_members([Path(one).expanduser() for one in given])
    task = make_task(members[0].config, problem_dataset(members[0].problem), Split((), (), ()))
    network, fabric = load_predictor(members, task, device=device, flips=flips, overlap=overlap)
    maker = make_labels(
        members,
        task,
        network,
        fabric=fabric,
        decide=decide,
        temperature=temperature,
        keep_largest={"flips": flips, "overlap": overlap} if keep_largest else None,
        log=lambda line: None,
    )
    return TrainedRun(members, network, maker, decide=decide)
