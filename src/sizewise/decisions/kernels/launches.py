"""The launches of a decision, prepared once for each form of input, and how often they run."""

from typing import Any

import torch
import triton.language as tl
from torch import Tensor

from sizewise.decisions.kernels.labels import FIRST, SHIFTS, TRIAL, WRITE, WRITE_SHIFTS, label_tiles
from sizewise.decisions.kernels.update import update_rule
from sizewise.decisions.rule import RATIOS, Rule
from sizewise.decisions.search import REPEATS, UPDATES, UPDATES_OF_ONE_CLASS
from sizewise.decisions.streaming import Given, Sums
from sizewise.private_apis import cuda_stream
from sizewise.stats.kernels.call import FEWEST_TILES_A_PROGRAM, INTERPRETED_PROCESSORS
from sizewise.stats.kernels.launch import Launch, programs_per_row
from sizewise.stats.kernels.layout import MAX_AXES, joint_layout, padded, plain_layout, reach
from sizewise.stats.kernels.passes import form_of, on_device_of, prepared
from sizewise.stats.kernels.shapes import forward_shape, power_of_two
from sizewise.stats.kernels.upsampling_table import table_of
from sizewise.stats.reference import compute_dtype
from sizewise.stats.upsampling import CORNERS

# What one program of the second stage holds at a time.
UPDATE_ELEMENTS = 8192
# The state of a row: nine numbers for each class, and five for all.
PER_CLASS, NUMBERS = 9, 5
NEVER = 1 << 20
BEST = 3


class KernelDecision:
    """The kernels for input of one form.

    Args:
        given: an example of the input.
        labels: where its labels go, (N, 1 or C, *S).
    """

    def __init__(self, given: Given, labels: Tensor) -> None:
        values, mask = given.values, given.mask
        tensors = [values, values if mask is None else mask, labels]
        layout = joint_layout(tensors) if given.upsample is None else plain_layout(given.spatial, tensors)
        assert layout is not None, "takes_kernels has asked"
        self.rows, self.classes, self.groups = given.rows, given.classes, given.groups
        self.images, self.device = given.images, values.device
        self.dtype = compute_dtype(values.dtype)
        self.rule_size = PER_CLASS * self.classes + NUMBERS
        classes_last = not given.sigmoid and values.shape[1] > 1 and values.stride(1) == 1
        shape = forward_shape(self.classes, classes_last, values.dtype.itemsize)
        processors = INTERPRETED_PROCESSORS
        if values.is_cuda:
            processors = torch.cuda.get_device_properties(values.device).multi_processor_count
        pixels = labels[0, 0].numel()
        self.table = None if given.upsample is None else table_of(values, labels, given.upsample)
        self.programs = programs_per_row(pixels, self.rows, shape, processors, FEWEST_TILES_A_PROGRAM)
        strides: list[int] = []
        for tensor, spatial in zip(tensors, layout.strides, strict=True):
            strides += [tensor.stride(0), tensor.stride(1) if tensor.shape[1] > 1 else 0, *padded(spatial)]
        height = layout.sizes[-2] if len(layout.sizes) > 1 else 1
        self.head = (pixels, self.programs, values.shape[1], self.rows)
        depth = layout.sizes[0] if len(layout.sizes) == MAX_AXES else 1
        self.tail = (layout.sizes[-1], height, *strides, depth)
        furthest = max(reach(layout.sizes, spatial) for spatial in layout.strides)
        self.shape, self.cells = shape, self.rows * self.programs
        self.constants: dict[str, Any] = {
            "RULE": self.rule_size,
            "BACKGROUND": -1 if given.background is None else given.background,
            "K": self.classes,
            "CHUNK": shape.chunk,
            "BLOCK": shape.block,
            "VECTOR": shape.vector,
            "AXES": len(layout.sizes),
            "UPSAMPLED": given.upsample is not None,
            "CORNERS": given.upsample == CORNERS,
            "SIGMOID": given.sigmoid,
            "PROBABILITIES": given.probabilities,
            "TEMPERED": given.temperature != 1,
            "HAS_MASK": mask is not None,
            "EVEN": pixels % shape.block == 0,
            "WIDE": furthest + shape.block * self.programs >= 1 << 31,
            "DTYPE": tl.float64 if self.dtype == torch.float64 else tl.float32,
        }
        self.launches: dict[tuple, Launch] = {}

    def best(self, given: Given, labels: Tensor, metric: str, prune: float, pooled: bool) -> None:
        """Write the labels that are best for Dice or IoU."""
        state, period = self._state(pooled)
        workspace = torch.empty(4 * self.cells * self.classes, dtype=self.dtype, device=self.device)
        settings = self._settings(given, prune)
        one_class = self.classes - (given.background is not None) == 1
        updates = UPDATES_OF_ONE_CLASS if one_class else UPDATES + REPEATS
        last = (UPDATES_OF_ONE_CLASS if one_class else UPDATES) - 1
        tensors = self._tensors(given, labels, state, workspace, settings)
        with on_device_of(given.values):
            stream = cuda_stream(given.values.get_device())
            for turn in range(updates + 1):
                mode = FIRST if turn == 0 else TRIAL
                self._labels(mode, period, prune > 0, last)(*tensors, stream=stream)
                self._update(turn == 0, metric, one_class, period, given)(workspace, state, stream=stream)
            self._labels(WRITE, period, prune > 0, last)(*tensors, stream=stream)

    def write(self, given: Given, labels: Tensor, rule: Rule) -> None:
        """Write the labels that a rule gives."""
        state, period = self._state(False)
        gain = rule.gain if rule.shift is None else rule.shift
        state[:, BEST * self.classes : (BEST + 1) * self.classes] = gain
        state[:, (BEST + 1) * self.classes : (BEST + 2) * self.classes] = rule.threshold
        if rule.bound is not None:
            state[:, (BEST + 2) * self.classes : (BEST + 3) * self.classes] = rule.bound
        mode = WRITE if rule.shift is None else WRITE_SHIFTS
        settings = self._settings(given, 0.0)
        tensors = self._tensors(given, labels, state, state, settings)
        with on_device_of(given.values):
            self._labels(mode, period, rule.bound is not None)(*tensors, stream=cuda_stream(given.values.get_device()))

    def take(self, given: Given, labels: Tensor, rule: Rule | None, prune: float = 0.0) -> Sums:
        """The sums of the labels that a rule gives, (rows, K); None is argmax, whose G and largest p are found as well.

        In place of the largest p there is 1 where any is above ``prune``, and 0 elsewhere.
        """
        state, period = self._state(False)
        mode = FIRST
        if rule is not None:
            mode = TRIAL if rule.shift is None else SHIFTS
            state[:, : self.classes] = rule.gain if rule.shift is None else rule.shift
            state[:, self.classes : 2 * self.classes] = rule.threshold
            if rule.bound is not None:
                state[:, 2 * self.classes : 3 * self.classes] = rule.bound
            state[:, PER_CLASS * self.classes] = 1
        workspace = torch.zeros(4 * self.cells * self.classes, dtype=self.dtype, device=self.device)
        settings = self._settings(given, prune)
        tensors = self._tensors(given, labels, state, workspace, settings)
        has_bound = rule is not None and rule.bound is not None
        with on_device_of(given.values):
            self._labels(mode, period, has_bound)(*tensors, stream=cuda_stream(given.values.get_device()))
        chosen, inside, expected, above = workspace.view(4, self.rows, self.classes, self.programs).double()
        return Sums(chosen.sum(-1).long(), inside.sum(-1), expected.sum(-1), above.amax(-1))

    def _tensors(self, given: Given, *others: Tensor) -> tuple[Tensor, ...]:
        """The tensors of :func:`label_tiles`, in order."""
        values = given.values
        return (
            values,
            values if given.mask is None else given.mask,
            *others,
            values if self.table is None else self.table,
        )

    def _state(self, pooled: bool) -> tuple[Tensor, int]:
        period = self.groups if pooled else self.rows
        return torch.zeros(period, self.rule_size, dtype=torch.float64, device=self.device), period

    def _settings(self, given: Given, prune: float) -> Tensor:
        return pair_on(self.device, 1 / given.temperature, prune)

    def _labels(self, mode: Any, period: int, has_bound: bool, last: int = NEVER) -> Launch:
        key = ("labels", mode.value, period, has_bound, last)
        if key not in self.launches:
            first = 0 if mode in (FIRST, TRIAL, SHIFTS) else BEST
            places = {name: (first + place) * self.classes for place, name in enumerate(("GAIN", "THRESHOLD", "BOUND"))}
            constants = {"MODE": mode.value, **places, "GOING": PER_CLASS * self.classes, **self.constants}
            constants["LAST"] = last
            constants["HAS_BOUND"] = has_bound and mode.value in (TRIAL.value, WRITE.value)
            numbers = (*self.head, period, *self.tail)
            ordered = {name: constants[name] for name in label_tiles.arg_names if name in constants}
            self.launches[key] = Launch(label_tiles, self.cells, self.shape.warps, numbers, ordered)
        return self.launches[key]

    def _update(self, first: bool, metric: str, one_class: bool, period: int, given: Given) -> Launch:
        key = ("update", first, metric, period)
        if key not in self.launches:
            block = power_of_two(self.classes)
            constants = {
                "FIRST": first,
                "DICE": metric == RATIOS[0],
                "ONE_CLASS": one_class,
                "UPDATES": UPDATES_OF_ONE_CLASS if one_class else UPDATES,
                "BACKGROUND": self.constants["BACKGROUND"],
                "K": self.classes,
                "KB": block,
                "PARTS": min(power_of_two(self.programs), max(1, UPDATE_ELEMENTS // block)),
                "RULE": self.rule_size,
            }
            numbers = (self.rows, self.programs, period, self.rows // period)
            self.launches[key] = Launch(update_rule, period, 8, numbers, constants)
        return self.launches[key]


def kernel_decision(given: Given, labels: Tensor) -> KernelDecision:
    """The kernels for such input."""
    form = form_of(given.values, labels, given.mask)
    reading = (given.sigmoid, given.probabilities, given.temperature != 1, given.background, given.upsample)
    return prepared(("decide", form, *reading), lambda: KernelDecision(given, labels))


_pairs: dict[tuple, Tensor] = {}


def pair_on(device: torch.device, one: float, two: float) -> Tensor:
    """Two numbers where kernels can read them; the same tensor every time."""
    key = (device, one, two)
    if key not in _pairs:
        made = torch.full((2,), one, dtype=torch.float64, device=device)
        made[1:].fill_(two)
        if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            return made  # its value, and its memory, belong to the graph alone
        _pairs[key] = made
    return _pairs[key]
