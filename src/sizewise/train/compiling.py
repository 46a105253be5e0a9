"""Whether training runs the network compiled: decided once for each run, before its first step.

``torch.compile`` fuses what lies between convolutions, and takes its time to do so. The step around it, from cropping
to the update, is captured in a CUDA graph as without it. Compiled code rounds differently, and drops other values in
dropout; so a run goes on as it began, whatever it is told when it is resumed.
"""

from sizewise.errors import RunFailed
from sizewise.private_apis import compiles_to_same_bits
from sizewise.train.compiled_network import compiled_network
from sizewise.train.config import Runtime
from sizewise.train.failures import first_line, is_out_of_memory
from sizewise.train.setup import Log, Setup

COMPILING_SECONDS = 60.0  # allowed for the compiler, as if nothing were cached
SAVED_SHARE = 0.2  # of a step; R50-FPN in bfloat16 went from 11.3 to 8.75 ms under torch.compile with graphs of its own
TIMED_STEPS = 10


def get_ready(setup: Setup, runtime: Runtime, *, steps: int, log: Log) -> None:
    """Compile the network and capture the step, where they are asked for and possible; ``steps`` is the whole run's.

    Weights, statistics and sums are as before when this returns; batches and random numbers are not.
    """
    step, state = setup.step, setup.state
    begun = state.progress.epoch > 0
    wanted = state.compiled if begun else runtime.compile == "on"
    if not begun and runtime.compile == "auto" and setup.captured and not runtime.deterministic:
        seconds = step.capture(timed=TIMED_STEPS)
        wanted = pays(seconds, steps)
        if wanted:
            step.forget_capture()
            log(f"compiling the network: {steps} steps of {1e3 * seconds:.1f} ms are worth the minute")
    if wanted:
        state.compiled = compile_network(setup, runtime, begun=begun, log=log)
    if setup.captured and step.replay is None:
        step.capture()


def pays(seconds: float, steps: int) -> bool:
    """Whether so many steps, of so many seconds uncompiled, save more time than the compiler takes.

    >>> pays(0.0113, 20_000), pays(0.0113, 30_000)
    (False, True)
    """
    return steps * seconds * SAVED_SHARE > COMPILING_SECONDS


def compile_network(setup: Setup, runtime: Runtime, *, begun: bool, log: Log) -> bool:
    """Compile, and return whether that worked; an error where a run has been trained that way already."""
    if runtime.deterministic and not compiles_to_same_bits():
        why = "with `deterministic` it needs a later torch, whose compiler does not choose by timing"
    else:
        try:
            step = setup.step
            step.take(compiled_network(step.fabric, step.model.module, same_bits=runtime.deterministic))
            return True
        except Exception as error:
            if is_out_of_memory(error):
                raise
            why = first_line(getattr(error, "inner_exception", error))  # torch wraps what its compiler says
    if begun:
        raise RunFailed(
            f"this run was trained with `compile=on`, and the network cannot be compiled here: {why}. Resume it where "
            "it can, or begin a new one with `compile=off`."
        )
    log(f"note: the network cannot be compiled and is trained as it is: {why}")
    return False
