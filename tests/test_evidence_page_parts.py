"""benchmarks/evidence/page.py: sentences follow the numbers, and the page stands whatever parts of the study there are."""

import evidence_tables
import pytest
from evidence_scripts import Scripts, importable
from evidence_tables import whole_plan


@pytest.fixture(scope="module")
def loaded():
    with importable():
        yield


@pytest.fixture
def scripts(loaded, tmp_path):
    return Scripts(tmp_path / "results")


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
