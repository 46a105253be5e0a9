"""A trained run as one file: preparation, network and decision, for programs that have neither sizewise nor torch.

The file takes the pixels of one image of a fixed size, ``pixels`` (C, *S), as they are read: uint8 for a run on
photographs, float32 else. It gives ``labels`` (*S) uint8, or (C, *S) where regions may overlap, and ``probabilities``
(K, *S) float32 before any temperature. Everything in it is computed in float32.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sizewise.checks import check_word
from sizewise.data.dataset import Image
from sizewise.data.split import Split
from sizewise.errors import BadInput, RunFailed, import_extra
from sizewise.files import replacing
from sizewise.metrics.cases_csv import ARGMAX
from sizewise.models.build import size_multiple
from sizewise.models.padding import pad_to_multiple
from sizewise.train.decided_labels import background_of
from sizewise.train.ensemble import load_predictor
from sizewise.train.failures import first_line, is_out_of_memory
from sizewise.train.graph_decision import graph_labels
from sizewise.train.inference import enlarged
from sizewise.train.label_choice import check_decision, make_labels
from sizewise.train.predict import problem_dataset, read_members
from sizewise.train.predictor import Network
from sizewise.train.preparation import Preparation, resize
from sizewise.train.task import Task, make_task

FORMATS = {"onnx": ".onnx", "torch-export": ".pt2"}
DECISIONS = (ARGMAX, "dice", "iou")
OPSET = 20


@dataclass(frozen=True)
class Exported:
    """What was written, and how close it is to what predicting gives.

    Attributes:
        path: the file.
        shape: of the images that it takes, channels first.
        equal_labels: the share of pixels with the same label, on random pixels.
        largest_difference: between probabilities.
    """

    path: Path
    shape: tuple[int, ...]
    equal_labels: float
    largest_difference: float


class RunGraph(nn.Module):
    """From pixels to labels and probabilities, in float32 and without a branch."""

    factor: Tensor
    offset: Tensor

    def __init__(
        self, model: nn.Module, preparation: Preparation, task: Task, *, multiple: int, decide: str, temperature: float
    ) -> None:
        super().__init__()
        self.model, self.preparation, self.task = model, preparation, task
        self.multiple, self.decide, self.temperature = multiple, decide, temperature
        factor, offset = preparation.input_scale(torch.device("cpu"))
        self.register_buffer("factor", factor)
        self.register_buffer("offset", offset)

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        """Labels and probabilities of one image (C, *S)."""
        shape, preparation, task = tuple(pixels.shape[1:]), self.preparation, self.task
        wanted = preparation.size or shape
        if preparation.scaling == "photo":  # as 8 bits are resized: to whole numbers
            prepared = pixels.float() if shape == wanted else resize(pixels.float(), wanted).round().clamp(0, 255)
        else:
            prepared = preparation.prepared(pixels, wanted).float()
        column = (1, -1, *[1] * len(shape))
        padded, crop = pad_to_multiple(
            prepared[None] * self.factor.view(column) + self.offset.view(column), self.multiple
        )
        logits = enlarged(self.model(padded)[crop].float(), shape)
        probabilities = torch.sigmoid(logits) if task.sigmoid else torch.softmax(logits, 1)
        labels = graph_labels(
            logits,
            metric=self.decide,
            sigmoid=task.sigmoid,
            background=background_of(task),
            temperature=self.temperature,
        ).to(torch.uint8)
        return labels[0] if task.sigmoid and not task.multilabel else labels, probabilities[0]


def export_run(
    run: Path,
    out: Path,
    *,
    format: str = "onnx",
    shape: tuple[int, ...] = (),
    decide: str = ARGMAX,
    temperature: float | None = None,
    log: Callable[[str], None] = print,
) -> Exported:
    """Write a run as one file, and compare it with what predicting gives.

    Args:
        run: a run folder with best.pt.
        out: the file.
        format: "onnx", or "torch-export" for ``torch.export.load``.
        shape: the spatial size of the images; () is the size that the network was trained on. Where training resampled
            volumes, images must have that spacing; where it saw patches, the file takes one window.
        decide: "argmax", "dice" or "iou".
        temperature: of the decision. None: what the run has kept, or what fits its validation cases now.
        log: takes lines for the screen.
    """
    _check_words(format, decide)
    if out.suffix != FORMATS[format]:
        raise BadInput(f"`out` must end with {FORMATS[format]} for {format}, which readers go by, got '{out.name}'.")
    check_decision(decide, temperature)
    members = read_members([run])
    (member,) = members
    task = make_task(member.config, problem_dataset(member.problem), Split((), (), ()))
    shape = _image_shape(member.preparation, member.config.patch, shape, task.dataset.spatial_dims)
    network, fabric = load_predictor(members, task, device="cpu")
    assert isinstance(network, Network)
    maker = make_labels(
        members,
        task,
        network,
        fabric=fabric,
        decide=decide,
        temperature=temperature,
        keep_largest=None,
        log=log,
    )
    model = network.model
    assert isinstance(model, nn.Module)
    multiple = size_multiple(member.config.model)
    graph = RunGraph(
        model.eval(), member.preparation, task, multiple=multiple, decide=decide, temperature=maker.temperature
    )
    example = _example(member.preparation, shape)
    notes = {
        "classes": json.dumps(dict(enumerate(task.dataset.classes, start=task.dataset.first_id))),
        "decision": decide,
        "temperature": repr(maker.temperature),
        "spacing_mm": json.dumps(member.preparation.spacing),
        "run": member.config.hash,
    }
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        compute = WRITERS[format](graph.eval(), example, out, notes)
    except OSError as error:
        raise BadInput(f"`out` {out} cannot be written: {error.strerror or error}. Name another file.") from error
    except (RuntimeError, TypeError) as error:  # of torch, about a network of the user's own
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        if is_out_of_memory(cause):
            raise MemoryError(first_line(cause)) from error
        raise RunFailed(
            f"{member.config.model} cannot be written as {format}: {first_line(cause).rstrip('. ')}. A network whose "
            "steps depend on the values of pixels has no such file; `sw.load_run` runs it as it is."
        ) from error
    labels, probabilities = compute(example)
    logits = network.logits(
        Image(example, (1.0,) * len(shape) if not member.preparation.spacing else member.preparation.spacing)
    )
    equal = float((labels == maker.label_map(logits, shape, decide)).mean())
    difference = np.abs(probabilities - maker.probabilities(logits, shape).astype(np.float32)).max()
    return Exported(out, example.shape, equal, float(difference))


def _check_words(format: str, decide: str) -> None:
    try:
        check_word("export", "`format`", format, tuple(FORMATS))
        check_word("export", "`decide`", decide, DECISIONS)
    except ValueError as error:
        raise BadInput(str(error)) from error


def _image_shape(
    preparation: Preparation, patch: tuple[int, ...], shape: tuple[int, ...], dims: int
) -> tuple[int, ...]:
    """The spatial size that the file takes."""
    shape = shape or patch or preparation.size
    if not shape:
        raise BadInput("`shape`: this run takes images of any size, and a file takes one: say which, as 352x352.")
    if len(shape) != dims or min(shape) < 1:
        raise BadInput(f"`shape` must be {dims} numbers of at least 1, got {'x'.join(map(str, shape))}.")
    if patch and (preparation.size or shape) != patch:
        raise BadInput(
            f"`shape`: the network sees windows of {'x'.join(map(str, patch))}, and the file takes one of them. Larger "
            "images take a program that moves it over them, as `sw.load_run` does."
        )
    return shape


def _example(preparation: Preparation, shape: tuple[int, ...]) -> np.ndarray:
    """Random pixels of the right kind."""
    drawn = np.random.default_rng(0)
    full = (len(preparation.mean), *shape)
    if preparation.scaling == "photo":
        return drawn.integers(0, 256, full, np.uint8)
    spread = np.array(preparation.std, np.float32).reshape(-1, *[1] * len(shape))
    return (drawn.standard_normal(full) * spread + 0.0).astype(np.float32)


Compute = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def write_onnx(graph: RunGraph, example: np.ndarray, out: Path, notes: dict[str, str]) -> Compute:
    """Write an ONNX file, and open it with onnxruntime."""
    import_extra("onnxscript", extra="export", reason="exporting to ONNX")
    onnx: Any = import_extra("onnx", extra="export", reason="exporting to ONNX")
    onnxruntime: Any = import_extra("onnxruntime", extra="export", reason="checking an ONNX file")
    import warnings

    with warnings.catch_warnings(), torch.inference_mode():  # the exporter tells of its own plans
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            graph,
            (torch.from_numpy(example),),
            input_names=["pixels"],
            output_names=["labels", "probabilities"],
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    made = program.model_proto
    for name, value in notes.items():
        made.metadata_props.add(key=f"sizewise.{name}", value=value)
    with replacing(out) as partial:
        onnx.save(made, str(partial))
    session = onnxruntime.InferenceSession(str(out), providers=["CPUExecutionProvider"])
    return lambda pixels: tuple(session.run(None, {"pixels": pixels}))


def write_torch_export(graph: RunGraph, example: np.ndarray, out: Path, notes: dict[str, str]) -> Compute:
    """Write a ``.pt2`` file for ``torch.export.load``, and open it."""
    with torch.no_grad():
        program = torch.export.export(graph, (torch.from_numpy(example),))
    with replacing(out) as partial, open(partial, "wb") as file:
        torch.export.save(program, file, extra_files={f"sizewise.{name}": value for name, value in notes.items()})
    module = torch.export.load(str(out)).module()

    def compute(pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with torch.no_grad():
            labels, probabilities = module(torch.from_numpy(pixels))
        return labels.numpy(), probabilities.numpy()

    return compute


WRITERS = {"onnx": write_onnx, "torch-export": write_torch_export}
