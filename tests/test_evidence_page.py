"""benchmarks/evidence/page.py: the page of a whole study says what its tables say."""

from xml.etree import ElementTree

import numpy as np
import pytest
from evidence_scripts import FOLDER, Scripts, importable


@pytest.fixture(scope="module")
def loaded():
    with importable():
        yield


@pytest.fixture(scope="module")
def whole(loaded, tmp_path_factory):
    """Four sets with every part, and their page."""
    scripts = Scripts(tmp_path_factory.mktemp("whole"))
    for at, name in enumerate(("kvasir", "camvid", "drive", "acdc")):
        scripts.write(name, seed=at)
    sets = scripts.study.read_study()
    return scripts, sets, *scripts.page.make_page(sets)


def test_the_answer_is_in_the_effects_that_were_put_in(whole):
    """CE 60 and 63 decided for Dice, DiceCE 63 and 63.5: a Dice term helps, and the decision takes most of that away."""
    _, _, text, _ = whole
    answer = text.partition("## The answer")[2].partition("## ")[0]
    assert "**A Dice term in the loss helps" in answer
    assert "**Deciding for Dice, without training anything again, helps CE" in answer
    assert "shown better on all 4, worse on none" in answer
    share = int(answer.partition("of its advantage by argmax, ")[2].partition(" %")[0])
    assert 70 < share < 95  # 2.5 of 3 points are 83 %
    assert "DiceCE (dice) has the best mean rank over 4 sets" in answer


def test_a_mean_over_sets_is_that_of_the_sets_and_has_a_direction(whole):
    scripts, sets, _, _ = whole
    found = scripts.contrasts.contrast(sets, "DiceCE", "CE")
    turned = scripts.contrasts.contrast(sets, "CE", "DiceCE")
    assert found.estimate == pytest.approx(np.mean([one.estimate for one in found.by_set.values()]))
    assert found.low < found.estimate < found.high
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))
    assert found.high - found.low < min(one.high - one.low for one in found.by_set.values())  # four sets know more
    assert found.word == "better"
    assert turned.word == "worse"


def test_the_interval_of_a_mean_over_sets_holds_its_level(loaded):
    """Three seeds' luck, cases and noise drawn anew 400 times on three sets: about 95 % of the intervals hold 0."""
    from dataclasses import dataclass

    from sections.contrasts import mean_interval

    from sizewise.study.statistics.components import mean_squares

    @dataclass
    class Drawn:
        squares: object
        estimate: float

    generator, held = np.random.default_rng(0), []
    for _ in range(400):
        sets = []
        for cases in (20, 50, 100):
            luck, hard = generator.normal(0, 0.2, (3, 1)), generator.normal(0, 0.5, (1, cases))
            squares = mean_squares(luck + hard + generator.normal(0, 1, (3, cases)))
            sets.append(Drawn(squares, float(squares.mean)))
        low, high = mean_interval(sets)
        held.append(low <= 0 <= high)
    assert 0.92 <= np.mean(held) <= 0.98


def test_what_the_decision_takes_of_the_losses_step_is_a_difference_of_differences(whole):
    scripts, sets, text, _ = whole
    pairs = (("DiceCE", "CE"), ("DiceCE (dice)", "CE (dice)"))
    by_argmax, by_dice = (scripts.contrasts.contrast(sets, *pair) for pair in pairs)
    taken = scripts.contrasts.contrast(sets, "CE", "DiceCE", metric=scripts.contrasts.GAIN)
    assert taken.estimate == pytest.approx(by_argmax.estimate - by_dice.estimate, abs=1e-12)
    assert taken.high - taken.low < by_argmax.high - by_argmax.low  # within runs: free of the luck of training
    assert "takes 2.5" in text  # of 3 points, 0.5 are left


def test_fewer_seeds_are_compared_on_those_that_both_have(whole):
    """Trials have two seeds and DiceCE three: how seeds spread is told by all that ran with these two."""
    scripts, sets, _, _ = whole
    (kvasir,) = [one for one in sets if one.name == "kvasir"]
    called = kvasir.calling({"size_terms:huber": "huber", "CE": "CE", "CE + 1 * Dice": "DiceCE", "FL": "FL"})
    found = scripts.contrasts.contrast((called,), "huber", "DiceCE")
    (one,) = found.by_set.values()
    assert one.seeds == 2
    assert one.squares.arms > 2


def test_patients_are_the_units_where_they_are_known(whole):
    scripts, sets, text, _ = whole
    found = scripts.contrasts.contrast(sets, "CE (dice)", "CE").by_set["ACDC"]
    assert (found.cases, found.groups) == (24, 12)
    assert "24 test cases of 12 patients" in text


def test_camvid_is_also_shown_without_its_first_class(whole):
    _, sets, text, _ = whole
    (camvid,) = [one for one in sets if one.name == "camvid"]
    assert camvid.leaving_out(0).dsc.classes == (1, 2)
    rows = [line for line in text.splitlines() if line.startswith("| CamVid without sky |")]
    assert len(rows) == 4  # the square twice, and the decision of both losses
    assert "| mean of 4 |" in text  # in no mean


def test_the_headline_has_a_point_for_each_arm_and_set_and_the_best_on_top(whole):
    _, sets, text, figures = whole
    (figure,) = [one for one in figures if one.name == "evidence-headline"]
    (panel,) = figure.views[0].panels
    assert len(figure.rows) == 9 * len(sets)  # five losses with two decisions, less CE by argmax
    assert panel.y_ticks[-1][1] == "DiceCE (dice)"  # 3.5 points were put in, JaccardCE has 2.7
    assert panel.y_ticks[0][1].startswith(("RCE", "CE + "))
    gains = [row[2] for row in figure.rows]
    assert -panel.x_range[0] >= -min(gains)
    assert panel.x_range[1] >= max(gains)
    assert not [mark for mark in panel.marks if mark.kind == "words"]
    assert text.index("figures/evidence-headline.svg") < text.index("**A Dice term")


def test_a_trial_meets_the_goal_with_nearer_sizes_and_no_lower_dsc(whole):
    scripts, sets, text, _ = whole
    nearer = scripts.contrasts.contrast(sets, "RCE-L1", "DiceCE", metric="size_error")
    lower = scripts.contrasts.contrast(sets, "RCE-L1", "DiceCE")
    higher = scripts.contrasts.contrast(sets, "DiceCE", "CE")
    assert scripts.trials.verdict(lower, nearer) == "sizes nearer, DSC lower"
    assert scripts.trials.verdict(higher, nearer) == scripts.trials.KEPT
    trials = text.partition("## Size penalties that were tried")[2].partition("\n## ")[0]
    assert "Of 2 trials none met the goal" in trials  # without «Size» in their names, sizes are drawn as DiceCE's
    assert "- `huber`: CE + Huber." in trials
    assert trials.count("| 4 |") == 4  # two trials, RCE-L1 and RCE-KL, each on all four sets


def test_versions_are_named_once_with_the_commits_that_ran(loaded):
    from sections.protocols import made_with

    machines = ["device A; torch 2; commit x", "device B; torch 2; commit y", "device A; torch 2; commit z", "cpu"]
    assert made_with(machines) == "cpu / device A; torch 2; commits x and z / device B; torch 2; commit y"


def test_the_papers_own_numbers_stand_beside_ours(whole):
    _, _, text, _ = whole
    claims = text.partition("## Beside the paper's claims")[2].partition("\n## ")[0]
    assert "*L1 is the better penalty than KL (90.7 against 89.3)*: **these runs do not show it**" in claims
    assert "*The best λ of DiceCE is the same on all sets, 0.1*: here validation chose 1 on 4 of 4 sets" in claims
    assert "| CE | 89.3" in claims


def test_figures_hold_the_numbers_of_the_tables(whole):
    scripts, sets, _, figures = whole
    by_name = {one.name: one for one in figures}
    assert set(by_name) == {
        *("evidence-headline", "evidence-ranks-argmax", "evidence-ranks", "evidence-size"),
        *("evidence-calibration", "evidence-bias"),
    }
    assert len(by_name["evidence-size"].rows) == len(sets) * 9  # five losses by two decisions, less CE by argmax
    gains = [row[-1] for row in by_name["evidence-calibration"].rows if row[1] == "CE"]
    assert len(gains) == 3 * len(sets)
    assert np.mean(gains) == pytest.approx(3.0, abs=0.3)
    assert [row[-1] for row in by_name["evidence-bias"].rows if row[1] == "CE"] == gains
    assert scripts.page.numbers_of(by_name["evidence-size"]).count("\n") == len(sets) * 9 + 1


def test_the_guide_gets_its_table_between_the_markers(whole):
    scripts, sets, _, _ = whole
    begin, end = scripts.page.BEGIN, scripts.page.END
    made = scripts.page.with_table(f"before\n\n{begin}\nold\n{end}\nafter\n", sets)
    assert made.startswith(f"before\n\n{begin}\n\n**Decided for Dice**")
    assert made.endswith(f"\n\n{end}\nafter\n")
    assert "old" not in made
    assert scripts.page.with_table(made, sets) == made


def test_the_committed_page_is_what_the_committed_tables_make(loaded):
    scripts = Scripts(FOLDER / "results")
    sets = scripts.study.read_study()
    text, figures = scripts.page.make_page(sets)
    docs = scripts.page.DOCS
    again = "make it again: python benchmarks/evidence/page.py"
    assert (docs / "evidence.md").read_text(encoding="utf-8") == text, again
    guide = (docs / "guides" / "decide.md").read_text(encoding="utf-8")
    assert guide == scripts.page.with_table(guide, sets), again
    assert {path.stem for path in (docs / "figures").glob("evidence-*.svg")} == {one.name for one in figures}, again
    for figure in figures:  # drawn by another version of matplotlib they look the same, and are not the same bytes
        path = docs / "figures" / f"{figure.name}.svg"
        assert path.with_suffix(".csv").read_text(encoding="utf-8") == scripts.page.numbers_of(figure), again
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
