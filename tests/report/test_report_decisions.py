"""A report of a study under two decisions: arms in the tables, compared within runs, argmax as the reference."""

import pytest
from synthetic_study import make_study

from sizewise.report.build import assemble
from sizewise.report.chart import Figure, LeftOut
from sizewise.report.findings import read_findings

ARMS = ["CE", "CE (dice)", "RCE", "RCE (dice)"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return make_study(
        tmp_path_factory.mktemp("decisions"), losses=("CE", "RCE"), cases=16, overlays=3, decisions=("argmax", "dice")
    )


@pytest.fixture(scope="module")
def report(study):
    return assemble(study)


def test_a_decision_is_an_arm_of_every_table(report):
    page = report.page
    scores = {table.name: table for table in page.score_tables}
    assert [row[0].text for row in scores["scores-1"].rows] == ARMS
    assert scores["scores-1"].columns[0] == "arm"
    assert ("losses", "2") in page.facts
    assert ("decisions", "argmax, dice") in page.facts
    classes = {row[0].text for table in page.class_tables for row in table.rows}
    assert {*ARMS} <= classes


def test_losses_are_compared_with_argmax_of_the_reference_and_decisions_within_runs(study, report):
    tables = {table.name: table for table in report.page.comparison_tables}
    assert tables["comparisons"].title == "Each arm minus CE"
    assert {row[1].text for row in tables["comparisons"].rows} == {"RCE", "RCE (dice)"}
    assert tables["decisions"].title == "Each decision minus argmax of the same networks"
    assert {row[1].text for row in tables["decisions"].rows} == {"CE (dice)", "RCE (dice)"}
    within = read_findings(study).conclusions.decisions
    assert {(one.arm, one.reference) for found in within.values() for one in found} == {
        ("CE (dice)", "CE"),
        ("RCE (dice)", "RCE"),
    }
    assert all(one.shown and one.gain > 0 for found in within.values() for one in found)


def test_the_verdict_says_so(report):
    groups = {group.title: group for group in report.page.verdict}
    group = groups["Decisions of the same networks on kvasir-seg"]
    assert group.lead in (
        "CE (dice) and RCE (dice) are better than argmax of the same networks.",
        "RCE (dice) and CE (dice) are better than argmax of the same networks.",
    )
    assert any(claim.startswith("CE (dice) is better than CE by") for claim in group.claims)
    assert "among 4 arms" in groups["Over all data sets"].lead
    assert any("differences within runs" in method for method in report.page.methods)


def test_figures_and_pictures(report):
    figures = {figure.name: figure for figure in report.figures}
    assert isinstance(figures["decisions"], Figure)
    assert [row[1] for row in figures["decisions"].rows[:2]] == ["CE (dice)", "RCE (dice)"]
    assert isinstance(figures["critical-difference"], Figure)
    curves = {row[1] for row in figures["validation"].rows}
    assert curves == {"CE", "RCE"}  # training knows nothing of decisions
    for cases in report.shown.values():
        assert list(cases[0].files) == ARMS
        assert cases[0].files["CE (dice)"].parent.name == "dice"
    costs = next(table for table in report.page.comparison_tables if table.name == "cost")
    assert {row[1].text for row in costs.rows} == {"CE", "RCE"}


def test_the_protocol_has_each_runs_temperature(report):
    runs = next(table for table in report.page.protocol_tables if table.name == "runs")
    at = runs.columns.index("decision temperature")
    assert {row[at].text for row in runs.rows} == {"1.25"}


def test_another_reference(study):
    """A decision can be the reference; its own argmax is then compared within runs alone."""
    tables = {table.name: table for table in assemble(study, reference="RCE (dice)").page.comparison_tables}
    assert {row[1].text for row in tables["comparisons"].rows} == {"CE", "CE (dice)"}


def test_without_decisions_nothing_is_said_of_them(tmp_path):
    study = make_study(tmp_path, losses=("CE", "RCE"), cases=12, seeds=2, data=("a",), runs=False)
    report = assemble(study)
    figures = {figure.name: figure for figure in report.figures}
    assert isinstance(figures["decisions"], LeftOut)
    assert [table.name for table in report.page.comparison_tables] == ["comparisons"]
    assert report.page.comparison_tables[0].title == "Each loss minus CE"
    assert "ecision" not in str(report.page.verdict)


def test_one_loss_with_decisions_has_something_to_say(tmp_path):
    study = make_study(
        tmp_path, losses=("CE",), cases=12, data=("a",), runs=False, decisions=("argmax", "dice", "size")
    )
    page = assemble(study).page
    assert [table.name for table in page.comparison_tables] == ["decisions"]
    assert page.verdict[0].title == "Decisions of the same networks"
