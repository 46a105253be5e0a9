"""Which implementation takes a CUDA tensor, and what is worked out before a launch."""

import sys
import types
import warnings

import pytest
import torch

from sizewise.stats import reference
from sizewise.stats.kernels import backend
from sizewise.stats.kernels.layout import collapse


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
    from sizewise.stats.kernels.field_order import sort_fields
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
    # 1000 tiles for 4 · 132 / 8 = 66 programs are 16 tiles each, which 63 programs do
    assert programs_per_row(64_000, 8, Shape(1, 64, 1, 2, 4), 132, 4) == 63
