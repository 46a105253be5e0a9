"""Every private part of torch and Triton that this package touches, in one place.

Each entry says why it is needed, which versions it was seen to work with, and what happens without it. The library
itself runs with torch 2.6 and later; what is here for the kernels alone was seen with torch 2.8 to 2.13 and Triton 3.4
to 3.9, the range in which they run.
"""

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from threading import Lock
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, fx
from torch.autograd import forward_ad


def in_torch_func() -> bool:
    """Whether a transform of ``torch.func``, or a level of forward-mode derivatives, is at work.

    ``torch._C._are_functorch_transforms_active`` and ``forward_ad._current_level`` answer in under a microsecond, with
    torch 2.6 to 2.13. Without them the answer would be no, and torch would say in its own words what it lacks.
    """
    return _transforms() or getattr(forward_ad, "_current_level", -1) >= 0


def in_dispatch_mode() -> bool:
    """Whether a mode, as that of fake tensors, looks at the single operations of this call.

    ``torch._C._len_torch_dispatch_stack``, torch 2.6 to 2.13. Without it the answer would be no, and such a mode would
    see one opaque node.
    """
    return _modes() > 0


_transforms: Callable[[], bool] = getattr(torch._C, "_are_functorch_transforms_active", lambda: False)
_modes: Callable[[], int] = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 0)


def runs_while_compiling(function: Callable[..., None]) -> Callable[..., None]:
    """Mark a function that ``torch.compile`` calls once, when it reads the code, and leaves out of its graphs.

    This is ``torch.compiler.assume_constant_result``, which imports the compiler: a second for everybody who only wants
    a loss. Seen with torch 2.6 to 2.13. Without the mark the graph would end here.
    """
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function


def apply_of(function: type[torch.autograd.Function]) -> Callable[..., Any]:
    """``function.apply`` without its search for functorch, which :func:`in_torch_func` has done.

    ``Function.apply`` is a Python method above the C entry point of the same name; going past it saves as much as a
    launch takes. Seen with torch 2.6 to 2.13. Without it, ``function.apply`` itself.
    """
    return getattr(super(torch.autograd.Function, function), "apply", function.apply)


def cuda_stream(device: int) -> int | None:
    """The current stream of a CUDA device as Triton's launcher takes it; None without a device (< 0).

    ``torch._C._cuda_getCurrentRawStream`` is what inductor's code calls; torch 2.6 to 2.13. Without it a stream object
    is made, which takes 2 µs more.
    """
    if device < 0:
        return None
    return _raw_stream(device) if _raw_stream else torch.cuda.current_stream(device).cuda_stream


def cuda_device() -> int:
    """The current CUDA device. ``torch._C._cuda_getDevice`` skips a check that CUDA is there; torch 2.6 to 2.13."""
    return _get_device() if _get_device else torch.cuda.current_device()


_raw_stream: Callable[[int], int] | None = getattr(torch._C, "_cuda_getCurrentRawStream", None)
_get_device: Callable[[], int] | None = getattr(torch._C, "_cuda_getDevice", None)


def process_group(name: str) -> dist.ProcessGroup:
    """The process group of a name: operators take names, not objects.

    ``_resolve_process_group`` is how torch's own functional collectives find their group again; torch 2.6 to 2.13.
    Without it ``scope="global"`` fails with an ``AttributeError``.
    """
    return dist.distributed_c10d._resolve_process_group(name)  # type: ignore[arg-type]


def can_use_one_core() -> bool:
    """Whether the threads of :func:`single_core_threads` do that here."""
    return _thread_settings()[0] is not None


def single_core_threads(threads: int) -> ThreadPoolExecutor:
    """Threads in which torch's operations run on one core each: else each would start a team as large as the machine.

    ``torch.set_num_threads`` changes the whole process. OpenMP and MKL keep the number for each thread, and the
    libraries that torch has loaded let themselves be asked: ``omp_set_num_threads`` and ``MKL_Set_Num_Threads_Local``
    in the wheels for Linux, torch 2.6 to 2.13. Without the first, :func:`can_use_one_core` says so, and chunks are
    computed one after the other, each by all cores.

    >>> with single_core_threads(2) as pool:
    ...     list(pool.map(lambda _: torch.get_num_threads(), range(2)))
    [1, 1]
    """
    return ThreadPoolExecutor(threads, thread_name_prefix="sizewise", initializer=_use_one_core)


def _use_one_core() -> None:
    set_openmp, set_mkl = _thread_settings()
    torch.get_num_threads()  # torch copies the process's number into a thread once: let that be before
    if set_openmp is not None:
        set_openmp(1)
    if set_mkl is not None:
        set_mkl(1)


@cache
def _thread_settings() -> tuple[Any, Any]:
    try:
        loaded = ctypes.CDLL(torch._C.__file__)
    except (OSError, AttributeError):
        return None, None
    return tuple(getattr(loaded, name, None) for name in ("omp_set_num_threads", "MKL_Set_Num_Threads_Local"))  # type: ignore[return-value]


def compiles_to_same_bits() -> bool:
    """Whether ``torch.compile`` takes the option ``deterministic``, with which no choice that affects sums is timed.

    ``torch._inductor.list_options``; the option is there from torch 2.10 on. Without it two compilations may add in
    different orders.
    """
    from torch import _inductor

    return "deterministic" in getattr(_inductor, "list_options", list)()


def direct_launcher(compiled: Any, grid: tuple[int, int, int], arguments: int = 0) -> Callable[..., None] | None:
    """A compiled Triton kernel as a function of plain addresses; None where there is none, as in the interpreter.

    ``CompiledKernel[grid]`` goes past Triton's analysis of the arguments, which takes longer than a small kernel;
    Triton 3.4 to 3.9. Without it every launch is analysed. For a number of ``arguments`` the function calls Triton's C
    launcher itself, see :func:`c_launcher`, or the other where that is not found.
    """
    import triton

    kind = getattr(triton.compiler, "CompiledKernel", None)
    if kind is None or not isinstance(compiled, kind):
        return None
    run = compiled[grid]
    return c_launcher(compiled, run, arguments) or run


def prepare_triton() -> None:
    """Have Triton do once what it does before it first compiles: hash half a gigabyte of its own files, find its GPU.

    It keeps both results, but threads that compile at the same time would each begin by themselves; and on a cold
    cache a C compiler makes the part that talks to the GPU, for which the hash need not wait. ``triton_key`` is in
    ``triton.runtime.cache``, in earlier versions in ``triton.compiler.compiler``; Triton 3.4 to 3.9. Without it the
    threads do it each.
    """
    import triton

    with _preparing:
        if _prepared:
            return
        modules = (triton.runtime.cache, triton.compiler.compiler)
        found = [getattr(module, "triton_key", None) for module in modules]
        with ThreadPoolExecutor(1, thread_name_prefix="sizewise") as pool:
            for key in [one for one in found if one is not None][:1]:
                pool.submit(key)
            with suppress(Exception):  # a machine without a GPU, on which the launch says so
                triton.runtime.driver.active.get_current_device()
        _prepared.append(True)


_preparing = Lock()
_prepared: list[bool] = []


def c_launcher(compiled: Any, run: Callable[..., None], count: int) -> Callable[..., None] | None:
    """The C function below ``CompiledKernel[grid]``; None where it is not found.

    The three Python functions between them take 7 µs of each launch, to arrive at the same arguments every time. What
    they are depends on the version, so ``run`` is called once with objects that are known again, and with an
    ``.launch`` that only looks at what it is given. Seen with Triton 3.4, 3.6 and 3.9. Hooks on launches, as profilers
    of Triton's set them, see only kernels that are first launched after them.
    """
    launcher: Any = getattr(compiled, "run", None)
    launch = getattr(launcher, "launch", None)
    if launch is None or not count:
        return None
    seen: list[tuple[Any, ...]] = []
    stream, arguments = object(), tuple(object() for _ in range(count))

    def look(*given: Any) -> None:
        if any(one is stream for one in given):
            seen.append(given)
        else:
            launch(*given)  # another thread's, which is meant

    try:
        launcher.launch = look
        run(*arguments, stream=stream)
    except Exception:
        return None
    finally:
        launcher.launch = launch
    if len(seen) != 1:
        return None
    given = seen[0]
    place = next(place for place, one in enumerate(given) if one is stream)
    before, after = given[:place], given[place + 1 :]
    if len(after) >= count and all(one is own for one, own in zip(after[-count:], arguments, strict=True)):
        after = after[:-count]
        return lambda *own, stream=None: launch(*before, current_stream(stream), *after, *own)
    if after and isinstance(after[-1], tuple) and after[-1] == arguments:
        after = after[:-1]
        return lambda *own, stream=None: launch(*before, current_stream(stream), *after, own)
    return None


def current_stream(stream: int | None) -> int | None:
    """A stream as launchers take it: the one that is given, or the current one."""
    return cuda_stream(cuda_device()) if stream is None else stream


def graph_with_symbols(
    function: Callable[..., Any], tensors: Sequence[Tensor], fixed: Sequence[Sequence[int]]
) -> tuple[fx.GraphModule, Sequence[Tensor], Any]:
    """The operations of ``function(*tensors)`` below autograd, with every size that is not ``fixed`` as a symbol.

    Symbols are one for each dim: two dims have the same one only where the function itself asks whether they are
    equal. Dims of size 0 and 1 are always fixed.

    ``FakeTensorMode``, ``ShapeEnv`` and ``make_fx`` are what ``torch.export`` is made of. This use of them was seen
    with torch 2.8 to 2.13. Where it fails, the formula of a loss runs as single torch operations.

    For each symbol torch looks for the line of the user's that it comes from, and to tell that line from its own code
    imports ``torch.export`` and inductor: half of the time of a loss's first call. Here nobody asks for the line, and
    ``_get_user_frame`` finds none. Results of operations are not kept for a second use either, which takes longer than
    a formula has operations to save (``cache_enabled``). Without these two names it is slower.

    Returns:
        The graph, the tensors' stand-ins whose shapes are symbols, and the environment that knows what was asked.
    """
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

    class Shapes(ShapeEnv):
        def _get_user_frame(self) -> None:
            return None

    known = Shapes(duck_shape=False)
    mode = FakeTensorMode(shape_env=known)
    mode.cache_enabled = False
    fakes = []
    for tensor, constant in zip(tensors, fixed, strict=True):
        sizes = [
            DimDynamic.STATIC if place in constant or size < 2 else DimDynamic.DYNAMIC
            for place, size in enumerate(tensor.shape)
        ]
        fakes.append(mode.from_tensor(tensor, symbolic_context=StatelessSymbolicContext(dynamic_sizes=sizes)))
    graph = make_fx(function, tracing_mode="symbolic")(*fakes)
    graph.graph.eliminate_dead_code()
    return graph, fakes, known
