"""The chosen weights on the test cases, each in its own geometry, and the scores of each decision."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from sizewise.data.dataset import Case, Image
from sizewise.errors import BadInput
from sizewise.metrics.case import RegionScore
from sizewise.metrics.cases_csv import ARGMAX
from sizewise.metrics.label_map_stream import LabelMaps, Named, score_label_maps
from sizewise.models.build import size_multiple
from sizewise.parallel import available_cores, map_ahead
from sizewise.private_apis import single_core_threads
from sizewise.progress import track
from sizewise.train.case_pictures import KEPT, overlay_folder, save_overlay
from sizewise.train.checkpoint import load_checkpoint
from sizewise.train.config import RunConfig
from sizewise.train.decided_labels import LabelMaker
from sizewise.train.inference import OVERLAP
from sizewise.train.predictor import Network, Predictor
from sizewise.train.preparation import Preparation
from sizewise.train.run_folder import settings_hash
from sizewise.train.task import Task, make_model

WHAT = "Scoring test cases"


def load_best(config: RunConfig, task: Task, folder: Path, *, device: torch.device, in_channels: int) -> nn.Module:
    """The network with the weights that were best on validation."""
    state = load_checkpoint(folder / "best.pt", run=settings_hash(folder))
    plain = replace(config, encoder_weights="none")  # the checkpoint has them
    model = make_model(plain, task, in_channels=in_channels)
    try:
        model.load_state_dict(state["model"])
    except (RuntimeError, KeyError) as error:
        raise BadInput(
            f"{folder / 'best.pt'} does not hold weights of this version's {config.model}: {error}"
        ) from error
    if device.type == "cuda" and task.dataset.spatial_dims == 2:
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return model.to(device).eval()


def load_network(
    config: RunConfig,
    task: Task,
    preparation: Preparation,
    folder: Path,
    *,
    fabric: Fabric,
    flips: tuple[int, ...] = (),
    overlap: float = OVERLAP,
) -> Network:
    """The same with all that stands between an image and its logits."""
    model = load_best(config, task, folder, device=fabric.device, in_channels=len(preparation.mean))
    return Network(
        model,
        preparation,
        patch=config.patch,
        multiple=size_multiple(config.model),
        sigmoid=task.sigmoid,
        fabric=fabric,
        flips=flips,
        overlap=overlap,
    )


@torch.inference_mode()
def predict_cases(task: Task, network: Predictor, cases: Sequence[Case]) -> Iterator[tuple[Case, Image, Tensor]]:
    """Each case with its image and its logits (1, K, *s), at the size that the network saw."""
    images = map_ahead(task.dataset.reader.image, cases, threads=reading_threads(task))
    for case, image in zip(cases, images, strict=True):
        network.check(image, case.name)
        yield case, image, network.logits(image)


def reading_threads(task: Task) -> int:
    """That read files ahead of the device: few, as every volume that waits takes memory."""
    return min(available_cores(), 2 if task.dataset.spatial_dims == 3 else 4)


def score_cases(
    config: RunConfig,
    task: Task,
    network: Predictor,
    names: tuple[str, ...],
    *,
    fabric: Fabric,
    decisions: Sequence[str] = (ARGMAX,),
    temperatures: Mapping[str, float] | None = None,
    overlays: Path | None = None,
    sharing: int = 1,
) -> dict[str, dict[str, list[RegionScore]]]:
    """Predict and score: the device predicts while the cores measure surfaces, with a process each if there is much.

    A case is predicted once and decided once for each of ``decisions``, at its temperature; returns the scores of each,
    by case. Small pictures of some cases go to the folder ``overlays``, those of other decisions than argmax to folders
    in it; ``sharing`` processes have the cores in common.
    """
    cases = task.cases(names)[fabric.global_rank :: fabric.world_size]
    predicted = predict_cases(task, network, cases)
    degrees = temperatures or {}
    makers = {decision: LabelMaker(task, degrees.get(decision, 1.0)) for decision in decisions}
    total = len(cases) * len(decisions)
    shown = {case.name for case in cases[:: -(-len(cases) // KEPT)]} if cases and overlays is not None else set()

    targets = map_ahead(task.dataset.reader.target, cases, threads=reading_threads(task))

    def label_maps(drawing: Executor) -> Iterator[LabelMaps]:
        drawn = []
        for (case, image, logits), target in zip(predicted, targets, strict=True):
            for decision in decisions:
                labels = makers[decision].label_map(logits, image.pixels.shape[1:], decision)
                if case.name in shown and overlays is not None:
                    place = overlay_folder(overlays, decision)
                    drawn.append(drawing.submit(save_overlay, place, case.name, image, labels, target))
                yield LabelMaps(case.name, labels, target, image.spacing, decision)
        for one in drawn:
            one.result()

    with single_core_threads(reading_threads(task)) as drawing:
        scored = score_label_maps(
            label_maps(drawing),
            expected=total,
            classes=tuple(task.names),
            nsd_tolerance=config.nsd_tolerance,
            ignore_index=task.dataset.ignore_index,
            jobs=max(1, available_cores() // (fabric.world_size * sharing)),
        )
        scores: dict[Named, list[RegionScore]] = dict(track(scored, what=WHAT, total=total))
    if fabric.world_size > 1:
        everyone: list[dict[Named, list[RegionScore]]] = [{} for _ in range(fabric.world_size)]
        torch.distributed.all_gather_object(everyone, scores)
        scores = {key: value for part in everyone for key, value in part.items()}
    return {decision: {name: scores[Named(name, decision)] for name in names} for decision in decisions}
