import json
import re
import xml.etree.ElementTree as ET

import pytest
from PIL import Image
from synthetic_study import NASTY, make_study

from sizewise.errors import BadInput
from sizewise.report.build import assemble, build_report
from sizewise.report.gallery import read_overlay
from sizewise.report.page import render


@pytest.fixture(scope="module")
def nasty(tmp_path_factory):
    """A whole report of a study whose names are hostile."""
    study = make_study(
        tmp_path_factory.mktemp("nasty"),
        data=(f"set {NASTY}",),
        cases=12,
        seeds=2,
        nasty=True,
        overlays=3,
        losses=("CE", "RCE"),
    )
    failed = study / "runs" / "broken"
    failed.mkdir()
    (failed / "failed.json").write_text(json.dumps({"error": f"no memory {NASTY}"}))
    return build_report(study)


def test_everything_is_written(nasty):
    folder = nasty.parent
    figures = {path.name for path in (folder / "figures").iterdir()}
    for stem in ("differences", "violins", "sizes", "size-errors", "validation"):
        for ending in ("svg", "png", "csv"):
            assert any(name.startswith(stem) and name.endswith(ending) for name in figures), (stem, ending)
    assert {"overlays-1.png", "overlays.csv"} <= figures
    assert {"scores-1.tex", "comparisons.tex", "classes-1-dsc.tex"} <= {p.name for p in (folder / "tables").iterdir()}
    for path in (folder / "figures").glob("*.svg"):
        tree = ET.fromstring(path.read_text())  # well formed
        assert not [node for node in tree.iter() if node.tag.endswith(("}script", "}img"))]
    for path in (folder / "figures").glob("*.png"):
        Image.open(path).verify()


def test_every_view_is_drawn_where_asked(tmp_path):
    """Two data sets with two classes: violins have 2 + 4 views, of which 4 are drawn unless all are asked for."""
    study = make_study(tmp_path, data=("a", "b"), cases=3, seeds=1, runs=False, losses=("CE",))
    page = build_report(study)
    assert len(list((study / "figures").glob("violins*.svg"))) == 4
    assert "--every-view</code> draws all 6" in page.read_text()
    assert (study / "report.md").read_text().count("](figures/violins") == 4
    build_report(study, every_view=True)
    assert len(list((study / "figures").glob("violins*.svg"))) == 6
    assert (study / "report.md").read_text().count("](figures/violins") == 6


def test_hostile_names_stay_words(nasty):
    page = nasty.read_text()
    assert "<img src=x" not in page
    assert "onerror=alert(1)&gt;" in page  # it is shown, as text
    assert page.count("<script") == page.count("</script>")
    assert "<img" not in (nasty.parent / "report.md").read_text()
    assert "</script>" not in "".join(p.read_text() for p in (nasty.parent / "figures").glob("*.svg"))


def test_the_page_needs_nothing_else(nasty):
    page = nasty.read_text()
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#|data:)""", page)
    assert "@import" not in page
    assert "url(http" not in page


def test_a_failed_run_is_named(nasty):
    assert "Run broken failed: no memory &lt;/script&gt;" in nasty.read_text()


def test_the_same_study_gives_the_same_page(nasty):
    assert render(assemble(nasty.parent).page) == nasty.read_text()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({}, "holds no study.json"),
        ({"study.json": "{"}, "cannot be read"),
        ({"study.json": '{"losses": "CE"}'}, "losses must be a list, got 'CE'"),
        ({"study.json": "{}"}, "cannot read"),
        ({"study.json": "{}", "results.csv": "a,b\n"}, "wanted the columns"),
        ({"study.json": "[]", "results.csv": ""}, "must hold an object"),
    ],
)
def test_what_is_no_study_gets_a_sentence(tmp_path, content, sentence):
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(BadInput, match=sentence):
        build_report(tmp_path)


def test_a_damaged_picture_of_a_case_says_what_to_do(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(BadInput, match=r"a\.npz' is no overlay .* removed, the report goes without its picture"):
        read_overlay(tmp_path / "a.npz")


def test_an_unknown_reference_is_refused(tmp_path):
    study = make_study(tmp_path, data=("one",), cases=12, seeds=2, runs=False, losses=("CE", "RCE"))
    with pytest.raises(BadInput, match="must be one of CE, RCE, got 'Dyce'"):
        assemble(study, reference="Dyce")
    assert "minus RCE" in assemble(study, reference="RCE").page.comparison_tables[0].title


def test_a_reference_with_several_temperatures_is_its_first(tmp_path):
    """results.csv calls the losses «RCE τ=1» and «RCE τ=10»; the study, and the user, say RCE."""
    study = make_study(tmp_path, data=("one",), cases=12, seeds=2, runs=False, losses=("CE", "DiceCE", "RCE"))
    table = study / "results.csv"
    table.write_text(table.read_text().replace(",DiceCE,0.1,", ",RCE τ=1,1,").replace(",RCE,1,", ",RCE τ=10,1,"))
    (study / "study.json").write_text(json.dumps({"reference": "RCE"}))
    for report in (assemble(study), assemble(study, reference="RCE")):
        assert report.page.comparison_tables[0].title == "Each loss minus RCE τ=1"
        assert "no results" not in str(report.page.verdict)


def test_another_metric_can_be_what_is_compared(tmp_path):
    """Dice makes every region a fifth too small in these made-up numbers, the others none: its size error is larger."""
    study = make_study(tmp_path, data=("one",), cases=24, seeds=3, runs=False, losses=("CE", "Dice"))
    page = assemble(study, metric="size_error").page
    assert page.verdict[0].lead == ("Dice is worse than CE. CE has the best mean, so there is no reason to leave it.")
    assert "points of size error" in page.verdict[0].claims[0]
    table = next(table for table in page.comparison_tables if table.name == "comparisons")
    assert table.columns[2] == "points of size error"
    assert table.rows[0][2].text.startswith("+")  # more error
    assert float(table.rows[0][7].text.replace("−", "-")) < 0  # and so a loss in rank-biserial terms
    for word in ("dice", "dsc_pooled"):
        with pytest.raises(BadInput, match=f"`metric` must be one of dsc, iou, nsd, hd95, .* got '{word}'"):
            assemble(study, metric=word)


def test_a_ranking_is_over_data_sets_or_over_enough_seeds(tmp_path):
    def names(folder, **options):
        study = make_study(tmp_path / folder, cases=12, runs=False, losses=("CE", "RCE"), **options)
        return [table.name for table in assemble(study).page.comparison_tables]

    assert "ranking" not in names("a", data=("one",), seeds=2)  # «first in 100 %» of what two seeds can say
    assert "ranking" in names("b", data=("one",), seeds=5)
    assert "ranking" in names("c", data=("one", "two"), seeds=2)


def test_data_sets_stand_side_by_side(tmp_path):
    study = make_study(tmp_path, data=("one", "two"), cases=12, seeds=2, runs=False, losses=("CE", "RCE"))
    page = assemble(study).page
    table = page.score_tables[0]
    assert table.columns == ["loss", "one", "two", "mean"]
    one, two, mean = (float(cell.text.split()[0]) for cell in table.rows[0][1:])
    assert mean == pytest.approx((one + two) / 2, abs=0.011)
    assert [row[1].rank for row in table.rows] == ["second", "best"]
    assert ("cases", "24") in page.facts  # twelve of each, though they have the same names


def test_one_loss_and_one_seed_are_no_comparison(tmp_path):
    alone = assemble(make_study(tmp_path / "a", data=("one",), cases=3, seeds=1, runs=False, losses=("CE",)))
    assert alone.page.verdict[0].lead == "Nothing to compare: CE is the only loss."
    few = assemble(make_study(tmp_path / "b", data=("one",), cases=12, seeds=1, runs=False, losses=("CE", "RCE")))
    untested = (
        "Nothing could be tested: one seed, where it takes 2 and better 3. That is not the same as no difference."
    )
    assert few.page.verdict[0].lead == untested  # and no advice
    assert few.page.comparison_tables[0].rows[0][4].text == "not testable"
    assert "One seed cannot separate RCE from luck" in few.page.verdict[0].sentences[0]


def test_a_study_that_is_not_finished_has_a_report(tmp_path):
    study = make_study(tmp_path, data=("one",), cases=12, seeds=2, runs=False, losses=("CE", "Dice", "RCE"))
    table = study / "results.csv"
    lines = [line.split(",") for line in table.read_text().splitlines(keepends=True)]
    runs = (("CE", "0"), ("Dice", "0"), ("RCE", "1"))
    table.write_text("".join(",".join(line) for line in lines if line[0] == "run" or (line[3], line[5]) in runs))
    verdict = assemble(study).page.verdict
    assert verdict[-1].sentences == ["one: RCE has no seed in common with CE, so it is not compared."]
    assert "Dice" in verdict[0].sentences[0]
    table.write_text("".join(",".join(line) for line in lines if line[3] != "CE"))  # the study's reference failed
    assert "The study's reference CE has no results." in assemble(study).page.verdict[-1].sentences


def interrupt(study, stopped):
    """As Ctrl-C leaves a study: the runs that ``stopped`` picks by config have no scores, and no rows."""
    lines = (study / "results.csv").read_text().splitlines(keepends=True)
    for run in (study / "runs").iterdir():
        if stopped(json.loads((run / "config.json").read_text())):
            name = (run / "cases.csv").read_text().splitlines()[1].partition(",")[0]
            lines = [line for line in lines if not line.startswith(f"{name},")]
            (run / "cases.csv").unlink()
    (study / "results.csv").write_text("".join(lines))


def test_an_interrupted_study_calls_its_arms_as_the_whole_one_would(tmp_path):
    """Two data sets and two λ, stopped in the middle of the second data set: its only λ is still «RCE λ=0.1»."""
    study = make_study(
        tmp_path, data=("one", "two"), cases=12, seeds=2, overlays=0, weights=("0.1", "1"), losses=("CE", "RCE")
    )
    interrupt(study, lambda config: config["data"] == "two" and config["weight"] == "1")
    (study / "study.json").write_text(json.dumps({"reference": "RCE"}))
    page = assemble(study).page
    said = str(page.verdict)
    assert "no run of the reference" not in said
    assert [group.title for group in page.verdict if "CE" in group.lead][1:] == ["one", "two"]
    assert all("RCE λ=0.1" in group.lead for group in page.verdict if group.title in ("one", "two"))
    states = {(row[1].text, row[2].text, row[4].text) for row in page.protocol_tables[0].rows}
    assert ("two", "RCE λ=1", "unfinished") in states
    assert ("two", "RCE λ=0.1", "finished") in states


def test_runs_without_scores_count_when_arms_are_named(tmp_path):
    """Every run of λ = 1 was stopped: the table has one λ, the study two."""
    study = make_study(
        tmp_path, data=("one",), cases=12, seeds=2, overlays=0, weights=("0.1", "1"), losses=("CE", "RCE")
    )
    interrupt(study, lambda config: config["weight"] == "1")
    page = assemble(study).page
    assert [row[0].text for row in page.score_tables[0].rows] == ["CE", "RCE λ=0.1"]
    assert "2 runs are not finished" in page.alerts[0]


def test_groups_are_what_is_resampled(tmp_path):
    study = make_study(tmp_path, data=("one",), cases=24, seeds=2, runs=False, losses=("CE", "RCE"))
    (study / "groups.json").write_text(json.dumps({"one": {f"case {i:03d}": f"patient {i // 2}" for i in range(24)}}))
    said = assemble(study).page.verdict[0]
    assert "of 12 groups" in " ".join([*said.claims, *said.sentences])
