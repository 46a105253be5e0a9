"""benchmarks/evidence/page.py: the page says what the tables say, whatever parts of the study there are."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import evidence_tables
import numpy as np
import pytest
from evidence_tables import whole_plan, write_tables

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks" / "evidence"
PATIENTS = (FOLDER / "protocols" / "acdc-groups.csv").read_text(encoding="utf-8").splitlines()[1:25]
CASES = {"kvasir": 14, "camvid": 12, "drive": 12, "dsb2018": 12, "acdc": [line.partition(",")[0] for line in PATIENTS]}
DATA = {"kvasir": "kvasir-seg"}  # by its folder's name the report knows that the paper has it
CLASSES = {"kvasir": (1,), "camvid": (0, 1, 2), "drive": (1,), "dsb2018": (1,), "acdc": (1, 2, 3)}


class Scripts:
    """The scripts as modules."""

    def __init__(self, results):
        import page
        import run
        import tables
        from sections import contrasts, study, trials

        self.page, self.run, self.tables, self.contrasts, self.study, self.trials = page, run, tables, contrasts, study, trials  # fmt: skip
        tables.RESULTS = results

    def write(self, name, plan=None, *, table="", **options):
        plan = plan or whole_plan(self.run, name)
        write_tables(
            self.tables,
            table or name,
            plan,
            classes=CLASSES[name],
            data=DATA.get(name, name),
            cases=CASES[name],
            **options,
        )


def forget():
    for name in [
        one for one in sys.modules if one.split(".")[0] in ("page", "run", "tables", "shrink", "size_terms", "sections")
    ]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def loaded():
    forget()
    sys.path.append(str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))
    forget()


@pytest.fixture
def scripts(loaded, tmp_path):
    return Scripts(tmp_path / "results")


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


def test_wordings_follow_the_numbers(scripts, monkeypatch):
    monkeypatch.setattr(evidence_tables, "EFFECTS", {"CE": (0.6, -0.02), "CE + 1 * Dice": (0.57, 0.0)})
    scripts.write("kvasir")
    scripts.write("drive", seed=1)
    text, _ = scripts.page.make_page(scripts.study.read_study())
    assert "**A Dice term in the loss costs on these sets" in text  # two sets say nothing of others
    assert "**Deciding for Dice costs CE" in text
    assert "these runs say the opposite" in text
    monkeypatch.setattr(evidence_tables, "EFFECTS", {"CE": (0.6, 0.0), "CE + 1 * Dice": (0.6, 0.0)})
    scripts.write("kvasir")
    scripts.write("drive", seed=1)
    text, _ = scripts.page.make_page(scripts.study.read_study())
    assert "helps is not shown" in text


def test_what_is_missing_is_named_and_what_is_there_is_shown(scripts):
    pilot = {
        scripts.run.compound(term, weight): (0,) for term, weights in scripts.run.GRID.items() for weight in weights
    }
    scripts.write("kvasir", {**pilot, "CE": (0,)})
    text, figures = scripts.page.make_page(scripts.study.read_study())
    assert "not yet enough runs" in text
    assert "part 1: ACDC (all), CamVid (all)" in text
    assert "Kvasir-SEG (11)" in text  # of 5 losses with 3 seeds, seed 0 of CE and of the three compounds is there
    assert "There are no runs of CC-DiceCE" in text
    assert "There are no runs of the trials with two seeds yet" in text
    assert "There are no runs of the other named losses yet" in text
    assert "left out, since" in text  # ranks over one set
    named = [one.name for one in figures]
    assert named == ["evidence-headline", "evidence-size", "evidence-calibration", "evidence-bias"]


def test_no_tables_make_a_page_too(scripts):
    text, figures = scripts.page.make_page(scripts.study.read_study())
    assert "hold no runs yet" in text
    assert figures == []


def test_the_chosen_weight_of_each_set_is_one_arm(scripts, monkeypatch):
    scripts.write("kvasir")
    monkeypatch.setitem(evidence_tables.VALIDATION, "CE + 0.1 * Dice", 0.95)
    scripts.write("drive", whole_plan(scripts.run, "drive") | {"CE + 0.1 * Dice": (0, 1, 2)}, seed=1)
    drive, kvasir = scripts.study.read_study()
    assert drive.chosen["DiceCE"] == "CE + 0.1 * Dice"
    assert kvasir.chosen["DiceCE"] == "CE + 1 * Dice"
    assert drive.seeds("DiceCE") == kvasir.seeds("DiceCE") == ("0", "1", "2")
    found = scripts.contrasts.contrast((drive, kvasir), "DiceCE", "CE")
    assert found.by_set["DRIVE"].estimate == pytest.approx(0.01, abs=0.008)
    assert found.by_set["Kvasir-SEG"].estimate == pytest.approx(0.03, abs=0.008)
    text, _ = scripts.page.make_page((drive, kvasir))
    components = text.partition("## Every component")[2].partition("## ")[0]
    assert "DiceCE, λ = 1" in components  # it has runs of its own where another λ was chosen
    assert "share one seed" not in components


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


def test_a_set_far_from_all_others_stands_at_the_edge_of_the_headline(scripts, monkeypatch):
    for at, name in enumerate(("kvasir", "drive", "dsb2018")):
        if name == "dsb2018":
            monkeypatch.setitem(evidence_tables.EFFECTS, "CE + 1 * Dice", (0.90, 0.0))
        scripts.write(name, seed=at)
    _, figures = scripts.page.make_page(scripts.study.read_study())
    (panel,) = figures[0].views[0].panels
    assert panel.x_range[1] < 10
    words = [mark.text[0] for mark in panel.marks if mark.kind == "words"]
    assert len(words) == 2  # by argmax and decided for Dice
    assert all(float(word) == pytest.approx(30, abs=4) for word in words)


@pytest.mark.parametrize(
    ("dice", "says"),
    [
        (0.66, "the difference outlasts the short protocol"),
        (0.60, "that a difference is left is not shown"),
        (0.54, "CE overtakes it"),
    ],
)
def test_longer_training_is_told_beside_the_study_and_in_no_mean(scripts, monkeypatch, dice, says):
    scripts.write("kvasir")
    before, _ = scripts.page.make_page(scripts.study.read_study())
    assert "no runs of CE and DiceCE with longer training yet" in before
    assert "- longer: IDRiD (all) and Kvasir-SEG (4)" in before
    monkeypatch.setattr(evidence_tables, "EFFECTS", {"CE": (0.6, 0.0), "CE + 1 * Dice": (dice, 0.0)})
    scripts.write("kvasir", dict.fromkeys(scripts.run.SKY, (0, 1)), table="kvasir-longer", seed=1)
    text, _ = scripts.page.make_page(scripts.study.read_study())
    section = text.partition("## With more training")[2].partition("\n## ")[0]
    assert says in section
    assert len([line for line in section.splitlines() if line.startswith("| Kvasir-SEG |")]) == 2
    assert "- longer: IDRiD (all)\n" in text
    assert text.partition("## Every loss")[0] == before.partition("## Every loss")[0]


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


def test_a_trial_with_one_seed_waits(scripts):
    for name, seeds in (("kvasir", (0, 1)), ("drive", (0,))):
        plan = whole_plan(scripts.run, name) | {"size_terms:dual": seeds, "size_terms:huber": seeds}
        scripts.write(name, {loss: number for loss, number in plan.items() if loss != "size_terms:relative"})
    text, _ = scripts.page.make_page(scripts.study.read_study())
    trials = text.partition("## Size penalties that were tried")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:4] for line in trials.splitlines() if line.startswith("| ")][1:]
    assert {row[0].strip(): row[2].strip() for row in rows} == dict.fromkeys(("RCE-L1", "RCE-KL", "huber", "dual"), "1")
    assert "means over Kvasir-SEG or" in trials
    assert "trials: ACDC (20), DRIVE (18), DSB2018 (20) and Kvasir-SEG (16)" in text


@pytest.mark.parametrize(
    ("recall", "precision", "said"),
    [
        (0.08, -0.06, ("finds more of the small", "; but what it draws is less often a true component")),
        (0.08, 0.0, ("finds more of the small", "; and a difference in how often")),
        (-0.08, 0.06, ("finds fewer of the small", "; but what it draws is more often a true component")),
        (0.0, 0.06, ("that CC-DiceCE finds more of the small", "is not shown", "; and what it draws is more often")),
    ],
)
def test_the_sentence_on_components_follows_the_numbers(scripts, monkeypatch, recall, precision, said):
    loss = "CC-DiceCE"
    effects = {(loss, "component_recall_small"): recall, (loss, "component_precision"): precision}
    monkeypatch.setattr(evidence_tables, "COMPONENT_EFFECTS", effects)
    same = {"CE + 1 * Dice": (0.6, 0.0), loss: (0.6, 0.0)}
    monkeypatch.setattr(evidence_tables, "EFFECTS", same)
    for seed, name in enumerate(("drive", "dsb2018")):
        scripts.write(name, seed=seed)
    text, _ = scripts.page.make_page(scripts.study.read_study())
    section = text.partition("## Every component")[2].partition("\n## ")[0]
    assert all(words in section for words in said), section
    assert "**On average over 2 sets, " in section
    assert "not told apart: DSC, NSD, recall of all components, recall of medium ones and recall of large" in section
    assert section.count("| mean of 2 |") == 7
    assert "component precision, small" not in section


def test_components_with_one_seed_say_nothing_yet(scripts):
    for seed, (name, seeds) in enumerate({"drive": (0,), "dsb2018": (0, 1, 2)}.items()):
        plan = whole_plan(scripts.run, name)
        scripts.write(name, plan | {"CC-DiceCE": seeds}, seed=seed)
    text, _ = scripts.page.make_page(scripts.study.read_study())
    section = text.partition("## Every component")[2].partition("\n## ")[0]
    assert "**On DSB2018, " in section
    assert "| mean of" not in section
    assert "On DRIVE both share fewer than two seeds" in section


def test_the_other_named_losses_have_a_line_each_and_their_ranks(scripts):
    for seed, name in enumerate(("kvasir", "drive", "dsb2018", "acdc")):
        plan = whole_plan(scripts.run, name)
        others = dict.fromkeys(scripts.run.OTHERS, (0, 1)) if name != "acdc" else {}
        scripts.write(name, {loss: seeds for loss, seeds in plan.items() if ":" not in loss} | others, seed=seed)
    text, figures = scripts.page.make_page(scripts.study.read_study())
    section = text.partition("## The other named losses")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert [row.split("|")[1].strip() for row in rows] == list(scripts.run.OTHERS)
    sets = {row.split("|")[1].strip(): row.split("|")[2].strip() for row in rows}
    assert sets == dict.fromkeys(scripts.run.OTHERS, "3") | {"FL": "4", "DBCE": "4"}  # which ACDC has too
    assert "worse: WCE (−2." in section  # 60.5 against DiceCE's 63
    assert "over 3 data sets" in section
    (ranks,) = [one for one in figures if one.name == "evidence-ranks-named"]
    assert len(ranks.rows) == len(scripts.run.OTHERS) + 5
    tables = text.partition("## Every loss on every set")[2].partition("\n## ")[0]
    assert "<summary>10 other losses on DRIVE</summary>" in tables  # with CC-DiceCE, which has its own section too
    assert "<summary>2 other losses on ACDC</summary>" in tables


def test_runs_without_a_decision_leave_the_rest_as_it_is(scripts):
    """λ that were not chosen may have been scored by argmax alone, or one seed of an arm may."""
    scripts.write("kvasir")
    scripts.write("drive", seed=1)
    tables = scripts.tables
    argmax_alone = {("CE + 0.1 * Dice", "0"), ("CE + 3 * SizeL1", "0"), ("CE + 1 * SizeKL", "1")}
    rows = [row for row in tables.read_scores("drive") if row[6] != "dice" or (row[3], row[5]) not in argmax_alone]
    assert len(rows) < len(tables.read_scores("drive"))
    runs = tables.read_runs("drive")
    for run in runs:
        if (run["loss"], run["seed"]) in argmax_alone:
            run["temperature"] = run["decided_at"] = ""
    before, _ = scripts.page.make_page(scripts.study.read_study())
    tables.write("drive", rows, runs)
    drive, kvasir = scripts.study.read_study()
    text, _ = scripts.page.make_page((drive, kvasir))
    answers = [one.partition("## The answer")[2].partition("## ")[0] for one in (before, text)]
    assert answers[0].splitlines()[2:5] == answers[1].splitlines()[2:5]  # of CE and DiceCE, which have all
    assert drive.dsc.present[drive.dsc.arm("RCE-KL (dice)")].tolist() == [True, False, True]
    assert "3 seeds, ± over seeds (RCE-KL (dice): 2)." in text
    assert "3 seeds, ± over seeds (RCE-KL (dice): 2)." not in before


def test_a_row_of_the_decision_is_of_the_runs_that_were_decided(scripts):
    """One network of DiceCE was never decided: before, after and gain are of the two that were."""
    scripts.write("kvasir")
    scripts.write("drive", seed=1)
    tables = scripts.tables
    _, drive = scripts.study.read_study()[::-1]
    loss = drive.chosen["DiceCE"]
    tables.write(
        "drive",
        [row for row in tables.read_scores("drive") if (row[3], row[5], row[6]) != (loss, "0", "dice")],
        tables.read_runs("drive"),
    )
    text, _ = scripts.page.make_page(scripts.study.read_study())
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| DRIVE | DiceCE |")]
    (row,) = [one for one in rows if "→" in one[3]]
    before, after = (float(number) for number in row[3].split("→"))
    gain = float(row[4].split()[0].replace("−", "-"))
    assert after - before == pytest.approx(gain, abs=0.11)  # two roundings to a tenth
    assert "Not every run was decided (DRIVE, DiceCE (dice): 2 runs of 3); " in text


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
