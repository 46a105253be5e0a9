"""The launch of a decision, prepared once for each form of input."""

from concurrent.futures import ThreadPoolExecutor
from math import ceil, log2
from typing import Any

import torch
import triton.language as tl
from torch import Tensor

from sizewise.decisions.kernels import state as places
from sizewise.decisions.kernels.aims import ALL, DICE, FIRST, IOU, LATER, NOTHING, NOTHING_SHIFTED, SIZE
from sizewise.decisions.kernels.turns import decide_tiles
from sizewise.decisions.rule import Rule
from sizewise.decisions.search import REPEATS, UPDATES, UPDATES_OF_ONE_CLASS
from sizewise.decisions.size_matching import CLOSE, DAMPING, MOST_STEP, PASSES
from sizewise.decisions.streaming import Given, Sums
from sizewise.private_apis import cuda_stream
from sizewise.stats.kernels.call import FEWEST_TILES_A_PROGRAM, INTERPRETED_PROCESSORS
from sizewise.stats.kernels.kept_tensors import numbers_on
from sizewise.stats.kernels.launch import Launch, programs_per_row
from sizewise.stats.kernels.layout import MAX_AXES, joint_layout, padded, plain_layout, reach
from sizewise.stats.kernels.passes import form_of, on_device_of, prepared
from sizewise.stats.kernels.shapes import Shape, forward_shape, power_of_two
from sizewise.stats.kernels.upsampling_table import table_of
from sizewise.stats.reference import compute_dtype
from sizewise.stats.upsampling import CORNERS

AIMS = {"dice": DICE, "iou": IOU, "size": SIZE}
# Two classes whose sizes are matched: a sixteenth of the floats is left after each turn.
BITS_A_TURN = 4
# Numbers of pixels that one thread counts fit in 16 bits.
MOST_PIXELS_A_PROGRAM = 1 << 20
# Of each tensor: images, channels, and the spatial axes.
STRIDES = 2 + MAX_AXES
# Of every multiprocessor since 2016, and how many programs the smallest of them runs at the same time.
REGISTERS = 1 << 16
MOST_PROGRAMS = 16
# Programs that wait for each other should have more to do than that.
FEWEST_TILES_TOGETHER = 2
# Above, unrolled classes make a kernel of all turns large, and the time to compile grows with more than its square.
MOST_IN_ONE_KERNEL = 8
FIELDS, SECTIONS = places.FIELDS.value, places.SECTIONS.value


class KernelDecision:
    """The kernel for input of one form.

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
        self.one_class = self.classes - (given.background is not None) == 1
        self.numbers_at = places.PER_CLASS.value * self.classes
        self.rule_size = self.numbers_at + places.NUMBERS.value
        self.classes_block = max(power_of_two(self.classes), SECTIONS)
        classes_last = not given.sigmoid and values.shape[1] > 1 and values.stride(1) == 1
        self.shape = decision_shape(self.classes, classes_last, values.dtype.itemsize)
        self.processors = INTERPRETED_PROCESSORS
        if values.is_cuda:
            self.processors = torch.cuda.get_device_properties(values.device).multi_processor_count
        self.pixels = labels[0, 0].numel()
        self.table = None if given.upsample is None else table_of(values, labels, given.upsample)
        strides: list[int] = []
        for tensor, spatial in zip(tensors, layout.strides, strict=True):
            strides += [tensor.stride(0), tensor.stride(1) if tensor.shape[1] > 1 else 0, *padded(spatial)]
        whole_strides = [stride for place, stride in enumerate(strides) if place % STRIDES < STRIDES - MAX_AXES]
        height = layout.sizes[-2] if len(layout.sizes) > 1 else 1
        depth = layout.sizes[0] if len(layout.sizes) == MAX_AXES else 1
        self.tail = (layout.sizes[-1], height, *strides, depth)
        self.channels = values.shape[1]
        self.furthest = max(reach(layout.sizes, spatial) for spatial in layout.strides)
        self.constants: dict[str, Any] = {
            "RULE": self.rule_size,
            "ONE_CLASS": self.one_class,
            "UPDATES": UPDATES_OF_ONE_CLASS if self.one_class else UPDATES,
            "CLOSE": CLOSE,
            "DAMPING": DAMPING,
            "MOST_STEP": MOST_STEP,
            "BACKGROUND": -1 if given.background is None else given.background,
            "K": self.classes,
            "KB": self.classes_block,
            "CHUNK": self.shape.chunk,
            "BLOCK": self.shape.block,
            "VECTOR": self.shape.vector,
            "AXES": len(layout.sizes),
            "UPSAMPLED": given.upsample is not None,
            "CORNERS": given.upsample == CORNERS,
            "SIGMOID": given.sigmoid,
            "PROBABILITIES": given.probabilities,
            "TEMPERED": given.temperature != 1,
            "HAS_MASK": mask is not None,
            "EVEN": self.pixels % self.shape.block == 0,
            "ALIGNED": all(number % 16 == 0 for number in (self.pixels, *whole_strides)),
            "DTYPE": tl.float64 if self.dtype == torch.float64 else tl.float32,
        }
        self.registers = registers_a_thread(self.classes, self.shape, values.dtype.itemsize)
        self.nvidia = values.is_cuda and torch.version.hip is None
        self.together = self._programs_together() if self.nvidia else 0
        self.apart = self.shape.chunk == 1 and self.classes > MOST_IN_ONE_KERNEL  # turn 0 from the others
        self.launches: dict[tuple, Launch] = {}

    def best(self, given: Given, labels: Tensor, metric: str, prune: float, pooled: bool) -> None:
        """Write the labels that are best for Dice, IoU or sizes."""
        aim = AIMS[metric]
        turns = self._trials(aim.value) + 2  # argmax before, the labels after
        has_bound = prune > 0 and metric != "size"
        buffers = self._buffers(turns, pooled)
        tensors = self._tensors(given, labels, *buffers, prune, pooled)
        options = (aim, pooled, has_bound, prune >= 0.5)
        with on_device_of(given.values):
            stream = cuda_stream(given.values.get_device())
            begin = 0
            if self.apart:
                self._compile(options, turns, tensors)
                self._launch(*options, 0, 1)(*tensors, stream=stream)
                begin = 1
            if self.together and self._all_at_once(options, begin, turns, tensors, stream):
                return
            for turn in range(begin, turns):
                self._launch(*options, turn, turn + 1)(*tensors, stream=stream)

    def _compile(self, options: tuple[tl.constexpr, bool, bool, bool], turns: int, tensors: tuple[Tensor, ...]) -> None:
        """Compile turn 0 and the others side by side."""
        launches = [self._launch(*options, 0, 1), self._launch(*options, 1, turns if self.together else 2)]
        if launches[0].run is not None or not self.nvidia or torch.cuda.is_current_stream_capturing():
            return

        def compile_one(launch: Launch) -> None:
            with on_device_of(tensors[0]):
                launch.compile(*tensors)

        with ThreadPoolExecutor(len(launches), thread_name_prefix="sizewise") as pool:
            list(pool.map(compile_one, launches))

    def _all_at_once(
        self,
        options: tuple[tl.constexpr, bool, bool, bool],
        begin: int,
        turns: int,
        tensors: tuple[Tensor, ...],
        stream: int | None,
    ) -> bool:
        """Launch the turns as one grid whose programs wait for each other; False where the device refuses that."""
        launch = self._launch(*options, begin, turns)
        if launch.run is None and self.device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            return False  # not tried yet, and a launch that is refused would spoil the capture
        try:
            launch(*tensors, stream=stream)
        except RuntimeError as error:  # shared with other processes, the device may have less room than it says
            if not any(words in str(error).lower() for words in ("cooperative", "not supported")):
                raise
            self.together = 0
        return self.together > 0

    def write(self, given: Given, labels: Tensor, rule: Rule) -> None:
        """Write the labels that a rule gives."""
        rules, sums, tickets = self._buffers(2, False)
        self._set_rule(rules, rule, places.BEST.value, places.BEST_WALLED.value)
        self._pass(given, labels, rules, sums, tickets, rule)

    def take(self, given: Given, labels: Tensor, rule: Rule | None, prune: float = 0.0) -> Sums:
        """The sums of the labels that a rule gives, (rows, K); None is argmax, whose G and largest p are found as well.

        In place of the largest p there is 1 where any is above ``prune``, and 0 elsewhere.
        """
        rules, sums, tickets = self._buffers(2, False)
        if rule is not None:
            self._set_rule(rules, rule, 0, places.WALLED.value)
            rules[:, self.numbers_at + places.GOING.value] = 1
        self._pass(given, labels, rules, sums, tickets, rule, prune)
        found = sums[0 if rule is None else 1, :, :, : self.classes]
        chosen, inside, expected, above = found.unbind(1)
        unit = self._unit(False)
        return Sums(chosen, inside.double() / unit, expected.double() / unit, (above > 0).double())

    def _pass(
        self,
        given: Given,
        labels: Tensor,
        rules: Tensor,
        sums: Tensor,
        tickets: Tensor,
        rule: Rule | None,
        prune: float = 0.0,
    ) -> None:
        aim = NOTHING if rule is None or rule.shift is None else NOTHING_SHIFTED
        tensors = self._tensors(given, labels, rules, sums, tickets, prune, False)
        turn = 0 if rule is None else 1
        has_bound = rule is None or rule.bound is not None
        with on_device_of(given.values):
            stream = cuda_stream(given.values.get_device())
            self._launch(aim, False, has_bound, prune >= 0.5, turn, turn + 1)(*tensors, stream=stream)

    def _set_rule(self, rules: Tensor, rule: Rule, first: int, walled_at: int) -> None:
        def put(place: places.tl.constexpr, numbers: Tensor) -> None:
            rules[:, (first + place.value) * self.classes : (first + place.value + 1) * self.classes] = numbers

        if rule.shift is not None:
            put(places.GAIN, rule.shift)
            return
        offset = rule.gain * rule.threshold
        put(places.GAIN, rule.gain)
        put(places.OFFSET, offset)
        put(places.WALL, offset)
        if rule.bound is not None:
            put(places.WALL, offset.masked_fill(rule.bound, torch.inf))
            bound_at = places.BOUND.value * self.classes
            rules[:, bound_at : bound_at + self.classes] = rule.bound
            rules[:, self.numbers_at + walled_at] = rule.bound.any(-1)

    def _programs_together(self) -> int:
        """How many programs a row can have if all of them run at the same time; 0 where that is not enough."""
        resident = self.processors * min(MOST_PROGRAMS, REGISTERS // (32 * self.shape.warps * self.registers))
        tiles = -(-self.pixels // self.shape.block)
        wanted = min(resident // self.rows, -(-tiles // FEWEST_TILES_TOGETHER))
        if wanted * MOST_PIXELS_A_PROGRAM < self.pixels:
            return 0
        return -(-tiles // -(-tiles // wanted))

    def _trials(self, aim: int) -> int:
        """How many rules are tried after argmax, at most."""
        if aim != SIZE.value:
            return UPDATES_OF_ONE_CLASS if self.one_class else UPDATES + REPEATS
        return PASSES - 1 if self.classes > 2 else 1 + torch.finfo(self.dtype).bits // BITS_A_TURN

    def _buffers(self, turns: int, pooled: bool) -> tuple[Tensor, Tensor, Tensor]:
        """The state of each row of the scope, the sums of each turn, and how many programs have come to its end."""
        period = self._period(pooled)
        sizes = [period * self.rule_size, turns * period * FIELDS * self.classes_block, (turns + 1) * period]
        rules, sums, tickets = torch.zeros(sum(sizes), dtype=torch.int64, device=self.device).split(sizes)
        return (
            rules.view(torch.float64).view(period, self.rule_size),
            sums.view(turns, period, FIELDS, self.classes_block),
            tickets,
        )

    def _tensors(
        self, given: Given, labels: Tensor, rules: Tensor, sums: Tensor, tickets: Tensor, prune: float, pooled: bool
    ) -> tuple[Tensor, ...]:
        """The tensors of :func:`decide_tiles`, in order."""
        values = given.values
        settings = numbers_on(self.device, torch.float64, 1 / given.temperature, prune, self._unit(pooled))
        mask = values if given.mask is None else given.mask
        return values, mask, labels, rules, sums, tickets, settings, values if self.table is None else self.table

    def _period(self, pooled: bool) -> int:
        return self.groups if pooled else self.rows

    def _unit(self, pooled: bool) -> float:
        """What stands for 1 in sums that are integers: as much as leaves room for every pixel."""
        return 2.0 ** (61 - ceil(log2(1 + self.pixels * (self.images if pooled else 1))))

    def _launch(
        self, aim: tl.constexpr, pooled: bool, has_bound: bool, half_bound: bool, begin: int, end: int
    ) -> Launch:
        key = (aim.value, pooled, has_bound, half_bound, begin, end)
        if key not in self.launches:
            waits = end - begin > 1
            programs = programs_per_row(self.pixels, self.rows, self.shape, self.processors, FEWEST_TILES_A_PROGRAM)
            programs = self.together if waits else max(programs, -(-self.pixels // MOST_PIXELS_A_PROGRAM))
            constants = {"AIM": aim.value, "WAITS": waits, "TRIALS": self._trials(aim.value), **self.constants}
            single = aim.value in (NOTHING.value, NOTHING_SHIFTED.value)
            one_phase = single or self.apart
            constants["PHASES"] = (ALL if not one_phase else FIRST if begin == 0 else LATER).value
            constants |= {"HAS_BOUND": has_bound, "HALF_BOUND": half_bound}
            constants["WIDE"] = self.furthest + self.shape.block * programs >= 1 << 31
            ordered = {name: constants[name] for name in decide_tiles.arg_names if name in constants}
            numbers = (self.pixels, programs, self.channels, self.rows, self._period(pooled), *self.tail, begin, end)
            options: dict[str, Any] = {"maxnreg": self.registers} if self.nvidia else {}
            if waits:
                options["launch_cooperative_grid"] = True
            self.launches[key] = Launch(
                decide_tiles, self.rows * programs, self.shape.warps, numbers, ordered, **options
            )
        return self.launches[key]


def decision_shape(classes: int, classes_last: bool, itemsize: int) -> Shape:
    """Block sizes: those of the forward pass, but no more than two pixels in a thread of many classes."""
    shape = forward_shape(classes, classes_last, itemsize)
    if shape.chunk == 1 and shape.vector == 4 and classes > 8:
        return shape._replace(vector=2, block=64)
    return shape


def registers_a_thread(classes: int, shape: Shape, itemsize: int) -> int:
    """What the compiler may use: fewer let more programs run at the same time, and hide how long memory takes.

    A thread holds e of a few pixels for each class, two sums and the rule. Compiled for an H200, all but a few numbers
    fit; with 16 and 19 classes that is worth more than the fourth of the programs that it costs.
    """
    wanted = 248 if shape.chunk > 1 or itemsize == 8 or classes > 26 else 168 if classes > MOST_IN_ONE_KERNEL else 128
    return min(wanted, REGISTERS // (32 * shape.warps))


def kernel_decision(given: Given, labels: Tensor) -> KernelDecision:
    """The kernels for such input."""
    form = form_of(given.values, labels, given.mask)
    reading = (given.sigmoid, given.probabilities, given.temperature != 1, given.background, given.upsample)
    return prepared(("decide", form, *reading), lambda: KernelDecision(given, labels))
