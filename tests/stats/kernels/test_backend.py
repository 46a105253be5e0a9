"""Which implementation takes a CUDA tensor, and what is worked out before a launch."""

import sys
import threading
import time
import types
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from sizewise import private_apis
from sizewise.stats import reference
from sizewise.stats.kernels import backend
from sizewise.stats.kernels.layout import collapse, joint_layout, memory_of, word_bytes


@pytest.fixture(autouse=True)
def fresh():
    backend.kernels.cache_clear()
    yield
    backend.kernels.cache_clear()


def test_without_triton_the_reference_runs_and_says_so_once(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    logits = torch.zeros(1, 2, 4)
    with pytest.warns(RuntimeWarning, match="Triton is not installed.*plain torch reference"):
        assert backend.backend(logits, logits, sigmoid=False, upsample=None) is reference
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert backend.backend(logits, logits, sigmoid=False, upsample=None) is reference


def test_an_old_triton_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", types.SimpleNamespace(__version__="2.3.1"))
    with pytest.warns(RuntimeWarning, match=r"Triton 2\.3\.1 is older than 3\."):
        assert backend.kernels() is None


def test_more_classes_than_a_tile_holds_go_to_the_reference():
    logits = torch.zeros(1, backend.MOST_CLASSES + 1, 1)
    assert backend.backend(logits, logits, sigmoid=False, upsample=None) is reference


def test_spatial_axes_collapse_jointly():
    # contiguous (2, 3, 4, 5): strides 60, 20, 5, 1; its spatial axes are one line of 20 pixels
    assert collapse((4, 5), [(5, 1), (5, 1)]) == ((20,), ((1,), (1,)))
    # a crop of the labels keeps two axes for both
    assert collapse((4, 5), [(5, 1), (8, 1)]) == ((4, 5), ((5, 1), (8, 1)))
    # channels last with 3 classes, and transposed logits: sorted by the logits' strides
    assert collapse((4, 5), [(15, 3), (5, 1)]) == ((20,), ((3,), (1,)))
    assert collapse((4, 5), [(1, 4), (1, 4)]) == ((20,), ((1,), (1,)))
    assert collapse((1, 1), [(7, 7), (3, 3)]) == ((1,), ((1,), (1,)))


def test_what_a_launch_is_made_of():
    pytest.importorskip("triton", reason="the kernels are written in Triton, which is not installed")
    from sizewise.stats.kernels.field_order import group_fields, sort_fields
    from sizewise.stats.kernels.launch import label_type, programs_per_row
    from sizewise.stats.kernels.shapes import Shape

    # labels compare as int64 in effect: −1 never equals a uint8 or a uint64, 2^40 never an int32
    assert [label_type(torch.uint8, one)[1] for one in (255, -1, None)] == [True, False, False]
    assert [label_type(torch.uint64, one)[1] for one in (255, -1)] == [True, False]
    assert [label_type(torch.int32, one)[1] for one in (-1, 1 << 40)] == [True, False]
    # size(10), count, nll, pixels: pixels and count need no softmax, count goes with nll, τ = 1 comes before τ = 10
    order = sort_fields([(4, 10.0), (0, 0.0), (2, 0.0), (1, 0.0)], chunks=3, can_pair=True)
    assert order.places == (3, 1, 2, 0)
    assert order.temperatures == (0.0, 0.0, 1.0, 10.0)
    assert order.starts == (0, 1, 4, 7)
    assert order.paired == (0, 1, 2, 0)
    # size(10), count, nll, pixels: pixels are per row, count goes with nll, τ = 1 comes before τ = 10
    order = group_fields([(4, 10.0), (0, 0.0), (2, 0.0), (1, 0.0)])
    assert order.places == (3, 1, 2, 0)
    assert order.groups == (-1, 0, 0, 1)
    assert order.temperatures == (1.0, 10.0)
    assert order.firsts == (1, 3)
    assert order.besides == (0, 0)
    # a focal term needs 1 − p; a count alone needs no softmax
    assert group_fields([(4, 1.0), (2, 2.0)]).besides == (1,)
    assert group_fields([(4, 10.0), (0, 0.0)]).temperatures == (0.0, 10.0)
    assert group_fields([(1, 0.0)]).temperatures == ()
    # 1000 tiles for 4 · 132 / 8 = 66 programs are 16 tiles each, which 63 programs do
    assert programs_per_row(64_000, 8, Shape(1, 64, 1, 2, 4), 132, 4) == 63


def test_how_many_bytes_are_read_at_once():
    def found(logits):
        layout = joint_layout([logits])
        memory = memory_of(logits, layout)
        return memory, word_bytes([logits], layout, memory)

    lines, last = torch.zeros(2, 3, 4, 8), torch.zeros(2, 4, 8, 3).movedim(-1, 1)
    assert found(lines) == ("pixels", 8)
    assert found(lines.bfloat16()) == ("pixels", 8)
    assert found(lines.double()) == ("pixels", 0)
    assert found(last) == ("runs", 8)
    assert found(last.bfloat16()) == ("runs", 8)
    # lines of 6 bfloat16 are words of two, not of four; lines of 5 are none
    assert found(torch.zeros(1, 3, 2, 8, dtype=torch.bfloat16)[..., :6]) == ("pixels", 4)
    assert found(torch.zeros(1, 3, 2, 5)) == ("pixels", 8)  # one line of 10
    assert found(torch.zeros(1, 3, 2, 8)[..., :5]) == ("pixels", 0)
    # an odd start, odd classes' starts, a crop of the classes, every second pixel
    assert found(torch.zeros(97)[1:].view(2, 3, 4, 4)) == ("pixels", 0)
    assert found(torch.zeros(1, 3, 25)[..., :24]) == ("pixels", 0)
    assert found(torch.zeros(2, 4, 8, 4)[..., :3].movedim(-1, 1)) == ("classes", 0)
    assert found(lines[..., ::2]) == ("pixels", 0)
    assert found(torch.zeros(1, 1, 4, 8)) == ("pixels", 8)


def test_which_input_the_kernels_by_words_take():
    from sizewise.stats.kernels.shapes import WordShape, word_gradient_shape, word_sums_shape

    # lines of float32 in words of two, of 16 bits in words of two forward and of four backward, or two where four do
    # not fit
    assert word_sums_shape(19, "pixels", 4, 8) == WordShape(1, 64, 1, 2, 12, 8, False, True)
    assert word_gradient_shape(19, "pixels", 4, 8) == WordShape(1, 64, 1, 2, 32, 8, False, True)
    assert word_sums_shape(19, "pixels", 2, 8) == WordShape(1, 64, 1, 2, 16, 4, False, True)
    assert word_gradient_shape(19, "pixels", 2, 8) == WordShape(1, 128, 1, 4, 32, 8, False, True)
    assert word_gradient_shape(19, "pixels", 2, 4) == WordShape(1, 64, 1, 2, 32, 4, False, True)
    # classes last: read one by one, also where pixels do not follow each other; written as runs where they do
    for itemsize, waves in ((4, 12), (2, 32)):
        for memory, word in (("runs", 8), ("runs", 0), ("classes", 0)):
            assert word_sums_shape(19, memory, itemsize, word) == WordShape(1, 32, 1, 1, 16, 0, False, True)
        assert word_gradient_shape(19, "runs", itemsize, 8) == WordShape(1, 64, 1, 2, waves, 2 * itemsize, True, True)
        assert word_gradient_shape(16, "runs", itemsize, 8) is None  # no padding
        for memory in ("runs", "classes", "pixels"):
            assert word_gradient_shape(19, memory, itemsize, 0) is None
    # many classes in 16 bits; not float64, nor few classes
    assert word_sums_shape(150, "pixels", 2, 8) == WordShape(8, 16, 1, 4, 8, 8, False, True)
    assert word_gradient_shape(150, "pixels", 2, 8) == WordShape(8, 16, 1, 4, 32, 8, False, True)
    for given in ((150, "pixels", 4, 8), (150, "runs", 2, 8), (150, "pixels", 2, 4), (200, "pixels", 2, 8)):
        assert word_sums_shape(*given) is None
        assert word_gradient_shape(*given) is None
    assert word_gradient_shape(26, "pixels", 2, 8) is None  # would not fit the registers, which runs do
    assert word_gradient_shape(26, "runs", 2, 8) == word_gradient_shape(19, "runs", 2, 8)
    for shape_of in (word_sums_shape, word_gradient_shape):
        assert shape_of(19, "pixels", 8, 0) is shape_of(5, "pixels", 4, 8) is shape_of(19, "pixels", 2, 0) is None


def test_threads_that_compile_first_hash_triton_once(monkeypatch):
    triton = pytest.importorskip("triton", reason="the kernels are written in Triton, which is not installed")
    hashed = []

    def triton_key():
        hashed.append(threading.current_thread())
        time.sleep(0.05)  # the others arrive meanwhile

    monkeypatch.setattr(triton.runtime.cache, "triton_key", triton_key, raising=False)
    monkeypatch.setattr(private_apis, "_prepared", [])
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(private_apis.prepare_triton) for _ in range(4)]:
            assert done.result() is None
    assert len(hashed) == 1


@pytest.mark.parametrize("spread", [True, False])
def test_launches_go_to_the_c_launcher(spread):
    """Triton's ways to it, as versions up to 3.6 and as 3.9 have them."""

    class Launcher:
        def __init__(self):
            self.calls = []
            self.launch = lambda *given: self.calls.append(given)

        def __call__(self, x, y, z, stream, function, metadata, *own):
            if spread:
                self.launch(x, y, z, stream, function, False, None, metadata, *own)
            else:
                self.launch(x, y, z, stream, function, False, metadata, None, own)

    class Compiled:
        run = Launcher()

    def run(*own, stream=None):
        Compiled.run(7, 1, 1, stream, "function", (4, 1, 0), *own)

    direct = private_apis.c_launcher(Compiled, run, 3)
    assert Compiled.run.calls == []  # to look is not to launch
    for launch in (run, direct):
        launch(1, 2.5, "K", stream=11)
    first, second = Compiled.run.calls
    assert first == second
    assert private_apis.c_launcher(Compiled, lambda *own, stream: None, 3) is None
    assert private_apis.c_launcher(Compiled, run, 0) is None
    assert private_apis.c_launcher(object(), run, 3) is None
