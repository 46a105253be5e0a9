import csv

import numpy as np
import pytest
from synthetic_study import make_study

from sizewise.report.build import assemble
from sizewise.report.chart import Figure, LeftOut, Mark, Panel, View
from sizewise.report.draw import paint
from sizewise.report.gallery import error_map


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies")
    wide = make_study(folder / "wide", cases=12, seeds=2, overlays=0)
    small = make_study(folder / "small", data=("one",), cases=12, seeds=2, weights=("0.1", "1"), overlays=0)
    return {"wide": wide, "small": small}


@pytest.fixture(scope="module")
def reports(studies):
    return {name: assemble(study) for name, study in studies.items()}


@pytest.fixture(scope="module")
def tables(studies):
    """The lines of results.csv, as another program would read them."""
    return {
        name: list(csv.DictReader((study / "results.csv").read_text().splitlines())) for name, study in studies.items()
    }


def by_name(report):
    return {one.name: one for one in report.figures}


def test_every_figure_is_there_or_says_why_not(reports):
    names = {
        "differences", "decisions", "critical-difference", "violins", "weights", "temperatures", "sizes", "size-errors", "radar",
        "validation", "component-recall",
    }  # fmt: skip
    wide, small = by_name(reports["wide"]), by_name(reports["small"])
    assert set(wide) == set(small) == names
    assert {name for name, one in wide.items() if isinstance(one, LeftOut)} == {
        "decisions",
        "weights",
        "temperatures",
        "component-recall",
    }
    assert {name for name, one in small.items() if isinstance(one, LeftOut)} == {
        "decisions",
        "radar",
        "critical-difference",
        "temperatures",
        "component-recall",
    }
    assert all(one.why.endswith(".") or ")" in one.why for one in small.values() if isinstance(one, LeftOut))


def test_every_figure_has_its_numbers(reports):
    for report in reports.values():
        for one in report.figures:
            if isinstance(one, Figure):
                assert len(one.rows) > 0
                assert {len(row) for row in one.rows} == {len(one.columns)}
                for view in one.views:
                    for panel in view.panels:
                        for mark in panel.marks:
                            assert len(mark.x) == len(mark.y)
                            assert len(mark.text) in (0, len(mark.x))


def test_limits_of_agreement_are_the_mean_and_1_96_standard_deviations_of_the_errors(reports, tables):
    """Of the loss Dice and the class polyp, from the lines of results.csv: p − t, over 12 cases and 2 seeds."""
    wanted = {"loss": "Dice", "class": "1", "metric": "size_error"}
    errors = [float(row["value"]) for row in tables["small"] if wanted.items() <= row.items()]
    figure = by_name(reports["small"])["sizes"]
    row = next(dict(zip(figure.columns, row, strict=True)) for row in figure.rows if row[:2] == ["one: polyp", "Dice"])
    assert row["values"] == len(errors) == 24
    mean = sum(errors) / 24
    deviation = (sum((error - mean) ** 2 for error in errors) / 23) ** 0.5
    assert row["bias"] == pytest.approx(mean)
    assert row["upper_limit"] == pytest.approx(mean + 1.96 * deviation)
    assert row["lower_limit"] == pytest.approx(mean - 1.96 * deviation)
    panel = next(panel for panel in figure.views[0].panels if panel.title == "Dice")
    drawn = {mark.label: mark.y[0] for mark in panel.marks if mark.label}
    assert drawn == {
        "bias": pytest.approx(100 * mean, rel=1e-3),
        "limits": pytest.approx(100 * row["upper_limit"], rel=1e-3),
    }


def test_the_error_by_size_is_the_mean_over_regions_of_that_size(reports, tables):
    """The smallest sixth of the true sizes of polyps, by hand: (p − t) / t of loss Dice, whose mean is −0.2 or so."""
    figure = by_name(reports["small"])["size-errors"]
    row = next(dict(zip(figure.columns, row, strict=True)) for row in figure.rows if row[:2] == ["one: polyp", "Dice"])
    mine = [one for one in tables["small"] if (one["loss"], one["class"]) == ("Dice", "1")]
    true = {(one["case"], one["seed"]): float(one["value"]) for one in mine if one["metric"] == "true_proportion"}
    relative = [
        float(one["value"])
        for one in mine
        if one["metric"] == "relative_size_error"
        and one["value"]
        and row["from_proportion"] <= true[one["case"], one["seed"]] < row["to_proportion"]
    ]
    assert row["bin"] == 0
    assert row["values"] == len(relative) > 0
    assert row["mean_relative_error"] == pytest.approx(sum(relative) / len(relative))
    assert -0.5 < row["mean_relative_error"] < 0


def test_a_study_of_an_earlier_version_has_a_report_without_the_figures_of_sizes(tmp_path):
    """Its table has neither true sizes nor decisions."""
    study = make_study(tmp_path, data=("one",), cases=12, seeds=2, overlays=0, losses=("CE", "RCE"))
    for table in (study / "results.csv", *study.glob("runs/*/cases.csv")):
        lines = [line for line in table.read_text().splitlines() if ",true_proportion," not in line]
        table.write_text("\n".join(line.replace(",decision,", ",").replace(",argmax,", ",") for line in lines) + "\n")
    report = assemble(study)
    left_out = {name: one.why for name, one in by_name(report).items() if isinstance(one, LeftOut)}
    assert "Earlier versions did not write them" in left_out["sizes"]
    assert "Earlier versions did not write them" in left_out["size-errors"]
    assert report.page.class_tables[0].rows[0][0].text == "CE"  # no row of region sizes
    assert "RCE" in report.page.verdict[0].sentences[0]
    assert [run for run in report.page.protocol_tables[0].rows if run[2].text == "RCE"]


def test_weight_curves_have_one_point_per_weight(reports):
    figure = by_name(reports["small"])["weights"]
    lines = {m.label: m for m in figure.views[0].panels[0].marks if m.kind == "line" and not m.dashed}
    assert set(lines) == {"DiceCE", "RCE"}
    assert list(lines["RCE"].x) == pytest.approx([0.1, 1.0], rel=0.1)
    assert lines["DiceCE"].x[0] < 0.1 < lines["RCE"].x[0]  # side by side, so that no bar hides another
    assert "one standard deviation over seeds" in figure.caption


def test_temperature_curves_keep_each_weight_apart(tmp_path):
    """Two τ with two λ each are two curves of two points; the loss without either is a level."""
    study = make_study(tmp_path, data=("one",), cases=6, seeds=1, runs=False, weights=("0.1", "1"))
    table = study / "results.csv"
    text = table.read_text().replace(",DiceCE,", ",RCE τ=1,").replace(",RCE,", ",RCE τ=10,")
    table.write_text(text)
    figure = by_name(assemble(study))["temperatures"]
    marks = figure.views[0].panels[0].marks
    lines = {mark.label: list(mark.x) for mark in marks if mark.kind == "line"}
    assert set(lines) == {"CE", "Dice", "RCE λ=0.1", "RCE λ=1"}
    assert all(x == pytest.approx([1.0, 10.0], rel=0.1) for x in lines.values())
    assert {mark.label for mark in marks if mark.dashed} == {"CE", "Dice"}
    assert len(figure.rows) == 2 + 4  # the levels, and the points of both curves
    assert [row[2] for row in figure.rows if row[1] == "RCE λ=1"] == [1.0, 10.0]


def test_the_cost_of_each_loss_stands_beside_its_score(reports):
    table = next(table for table in reports["small"].page.comparison_tables if table.name == "cost")
    assert table.columns == ["data", "loss", "DSC (%)", "ms per step", "peak memory (MiB)", "training (s)", "runs"]
    assert [row[1].text for row in table.rows] == ["CE", "Dice", "DiceCE λ=0.1", "DiceCE λ=1", "RCE λ=0.1", "RCE λ=1"]
    scores = next(one for one in reports["small"].page.score_tables if one.name == "scores-1")
    assert [row[2].text for row in table.rows] == [row[1].text.split()[0] for row in scores.rows]
    assert all(20 <= float(row[3].text) <= 21 for row in table.rows)
    assert {row[6].text for row in table.rows} == {"2"}


def test_memory_of_a_process_is_not_that_of_a_loss(tmp_path):
    study = make_study(tmp_path, data=("one",), cases=3, seeds=1, overlays=0, losses=("CE", "RCE"))
    for path in study.glob("runs/*/cost.json"):
        path.write_text(path.read_text().replace('"device"', '"process"'))
    report = assemble(study)
    assert "peak memory (MiB)" not in next(one for one in report.page.comparison_tables if one.name == "cost").columns


def test_error_map_tells_missed_from_false():
    target = np.array([[0, 1, 1], [0, 2, 2]])
    predicted = np.array([[1, 1, 0], [0, 2, 1]])
    assert error_map(target, predicted).tolist() == [[3, 1, 2], [0, 1, 4]]


def test_paper_numbers_stand_beside_ours(reports):
    tables = {table.name: table for table in reports["wide"].page.paper_tables}
    table = tables["paper-kvasir-seg-dsc"]
    assert "Table 2" in table.title
    row = next(row for row in table.rows if row[0].text == "RCE")  # the paper's RCE with L1, R50-FPN on Kvasir
    assert row[1].text == "90.7 ± 0.4"
    assert row[1].rank == "best"
    assert table.columns[1] == "paper: fpn-resnet50"
    assert row[3].text != "–"
    assert not reports["small"].page.paper_tables


def test_of_a_paper_table_with_classes_the_mean_comes_first_and_each_class_has_ours_beside_it(tmp_path):
    study = make_study(
        tmp_path,
        data=("cityscapes",),
        cases=4,
        seeds=1,
        overlays=0,
        classes=("void", "road", "wall"),
        losses=("CE", "RCE"),
    )
    (table,) = assemble(study).page.paper_tables
    assert table.columns[1:5] == [
        "paper: fpn-resnet50", "paper: fpn-resnet101", "ours: net, mean over cases", "ours: net, pooled",
    ]  # fmt: skip
    road = list(table.columns).index("paper: fpn-resnet50, road")
    assert table.columns[road + 2 : road + 4] == ["ours: net, mean over cases, road", "ours: net, pooled, road"]
    ce = table.rows[0]
    assert (ce[0].text, ce[1].text, ce[road].text) == ("CE", "68.5", "97.2")  # as the validation table prints them
    assert ce[road + 2].text != "–"


def test_the_decathlons_cancer_is_the_papers_tumor(tmp_path):
    names = ("background", "liver", "cancer")
    study = make_study(
        tmp_path, data=("Task03_Liver",), cases=4, seeds=1, overlays=0, classes=names, losses=("CE", "RCE")
    )
    (table,) = assemble(study).page.paper_tables
    assert {"paper: 3D nnU-Net, tumor", "ours: net, mean over cases, tumor"} <= set(table.columns)


def test_class_table_has_region_sizes_and_the_mean(reports):
    table = reports["small"].page.class_tables[0]
    assert table.columns == ["loss", "polyp", "vessel", "mean"]
    assert table.rows[0][0].text == "mean region proportion (%)"
    polyp, vessel, mean = (float(cell.text.split()[0]) for cell in table.rows[1][1:])
    assert mean == pytest.approx((polyp + vessel) / 2, abs=0.011)


def test_a_few_dots_are_drawn_larger_than_a_cloud():
    """Ten cases behind a line were hardly seen."""

    def size(count):
        dots = Mark("points", list(range(count)), list(range(count)), faint=True)
        (axes,) = paint(View("", [Panel([dots])]), title="", height=0.5).axes
        return axes.get_lines()[0].get_markersize()

    assert size(10) > size(1000)
