"""Sizes: hand-counted shares, the table, the CSV and the plot."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from sizewise.data.check import CaseSizes
from sizewise.data.dataset import Dataset
from sizewise.data.size_table import (
    bars,
    class_sizes,
    percent,
    plot_sizes,
    shares,
    size_bins,
    size_rows,
    write_plot,
    write_sizes,
)

SIZES = (CaseSizes("a", (90, 10, 0), 100), CaseSizes("b", (30, 10, 10), 50), CaseSizes("c", (10, 0, 0), 10))


@pytest.fixture
def dataset():
    return Dataset("d", ("background", "organ", "lesion"), (), None, 2)


def test_rows_are_hand_counted(dataset):
    background, organ, lesion = class_sizes(dataset, SIZES)
    assert background.present == 1
    assert organ.present == pytest.approx(2 / 3)
    assert organ.mean == pytest.approx((0.1 + 0.2 + 0) / 3)
    assert (organ.median, organ.smallest, organ.largest) == pytest.approx((0.15, 0.1, 0.2))  # where it is present
    assert (lesion.median, lesion.smallest, lesion.largest) == pytest.approx((0.2, 0.2, 0.2))
    assert size_rows(dataset, SIZES)[1] == ["1 organ", "67%", "10 %", "15 %", "10 %", "20 %", "█  █        "]


def test_multi_label_channels_are_counted_from_1_as_in_the_score_tables(tmp_path):
    lesions = Dataset("d", ("exudates", "disc"), (), None, 2, activation="sigmoid")
    sizes = (CaseSizes("a", (3, 7), 10),)
    assert [row[0] for row in size_rows(lesions, sizes)] == ["1 exudates", "2 disc"]
    write_sizes(lesions, sizes, tmp_path / "sizes.csv")
    assert (tmp_path / "sizes.csv").read_text().splitlines()[1:] == ["a,1,exudates,3,0.3", "a,2,disc,7,0.7"]


def test_bars_lie_where_the_sizes_are():
    """12 bins for two decades: a share s falls into bin 6 · (log10 s + 2)."""
    edges = size_bins(np.array([[0.011], [1.0]]))
    assert edges[[0, 6, 12]] == pytest.approx([0.01, 0.1, 1.0])
    assert np.histogram([0.05, 1.0, 0.0], edges)[0].nonzero()[0].tolist() == [4, 11]  # 6 · (−1.301 + 2) = 4.19
    assert bars([0, 0]) == "  "
    assert size_bins(np.zeros((0, 2)))[-1] == 1


def test_a_case_with_every_pixel_ignored_enters_nothing(dataset):
    assert len(shares((*SIZES, CaseSizes("d", (0, 0, 0), 0)))) == 3


def test_a_class_that_never_occurs_and_no_case_at_all(dataset):
    (_, organ, _) = class_sizes(dataset, (CaseSizes("a", (5, 0, 5), 10),))
    assert (organ.present, organ.mean, organ.median) == (0, 0, 0)
    assert class_sizes(dataset, ()) == ()
    plot_sizes(dataset, ())


def test_small_shares_keep_their_digits():
    assert [percent(share) for share in (1.0, 0.123, 0.0123, 1e-5)] == ["100 %", "12.3 %", "1.23 %", "0.001 %"]


def test_the_csv_has_a_row_per_case_and_class(dataset, tmp_path):
    write_sizes(dataset, SIZES, tmp_path / "sizes.csv")
    with (tmp_path / "sizes.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 9
    assert rows[4] == {"case": "b", "class": "1", "class_name": "organ", "size_px": "10", "proportion": "0.2"}


def test_the_plot_shows_every_present_region_on_a_log_axis(dataset, tmp_path):
    figure = plot_sizes(dataset, SIZES)
    (axes,) = figure.axes
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["organ\n(absent in 1)", "lesion\n(absent in 2)"]
    dots = np.concatenate([collection.get_offsets()[:, 0] for collection in axes.collections])
    assert sorted(dots.tolist()) == pytest.approx([0.1, 0.2, 0.2])
    (every,) = plot_sizes(replace(dataset, background=False), SIZES).axes
    assert len(every.get_yticklabels()) == 3  # label 0 is a class like the others
    svg, png = write_plot(figure, tmp_path)
    assert svg.read_text().startswith("<?xml")
    assert png.read_bytes().startswith(b"\x89PNG")
