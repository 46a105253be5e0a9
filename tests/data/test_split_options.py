"""Splits that the user asks for: tables, shares, folds; strata; and enough groups for a verdict."""

import pytest

from sizewise.data.dataset import Case, Dataset, Reader
from sizewise.data.split import ENOUGH_GROUPS, split_cases
from sizewise.data.split_options import SplitOptions, make_split
from sizewise.errors import BadInput
from sizewise.study.statistics.paired import FEWEST_GROUPS


def dataset_of(cases, fractions=(0.8, 0.1, 0.1)):
    class Nothing(Reader):
        image = target = write = None

    return Dataset("d", ("background", "a"), tuple(cases), Nothing(), 3, fractions=fractions)


def cases(count, *, groups=0, subset=""):
    return [
        Case(f"c{number:03d}", (), (None,), group=f"p{number % groups}" if groups else "", subset=subset)
        for number in range(count)
    ]


def write_table(path, rows, header="case,subset"):
    path.write_text("\n".join([header, *(f"{case},{subset}" for case, subset in rows)]))
    return SplitOptions(table=str(path))


def test_a_table_decides(tmp_path):
    words = ["train", "training", "val", "test", "none", ""]
    table = write_table(tmp_path / "split.csv", [(f"c{i:03d}", word) for i, word in enumerate(words)])
    split = make_split(dataset_of(cases(6, subset="train")), table)
    assert (split.train, split.validation, split.test) == (("c000", "c001"), ("c002",), ("c003",))


def test_a_table_without_validation_gets_some_from_train(tmp_path):
    rows = [(f"c{i:03d}", "test" if i < 5 else "train") for i in range(25)]
    split = make_split(dataset_of(cases(25)), write_table(tmp_path / "split.csv", rows))
    assert (len(split.train), len(split.validation), len(split.test)) == (18, 2, 5)


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([("c000", "train"), ("c001", "tset")], "c001 is 'tset'. Wanted train, validation, test or none"),
        ([("c000", "train"), ("c000", "test")], "names c000 more than once"),
        ([("c000", "train"), ("x", "test")], "names x, which is no case of d; its cases are called like c000"),
        ([("c000", "train")], "does not name 3 of the labelled cases, such as c001"),
        (
            [("c000", "train"), ("c001", "test"), ("c002", "test"), ("c003", "test")],
            "the group 'p0' is in test and train",
        ),
    ],
)
def test_tables_that_make_no_sense(tmp_path, rows, text):
    with pytest.raises(BadInput, match=text):
        make_split(dataset_of(cases(4, groups=2)), write_table(tmp_path / "split.csv", rows))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"table": "a.csv", "folds": 5}, "`split` and `folds` each say which cases are tested"),
        ({"test_share": 1.5}, "`test_share` is a share of the cases, above 0 and below 1, got 1.5"),
        ({"folds": 1}, "`folds` must be at least 2, as 5, or 0 for one split, got 1"),
        ({"folds": 3, "fold": 3}, "`fold` counts from 0 to one less than `folds`, got 3 of 3"),
    ],
)
def test_options_that_make_no_sense(options, text):
    with pytest.raises(BadInput, match=text):
        SplitOptions(**options)


def test_a_share_goes_before_official_subsets():
    official = cases(30, subset="train") + [Case(f"t{i}", (), (None,), subset="test") for i in range(10)]
    assert len(make_split(dataset_of(official), SplitOptions(test_share=0.5)).test) == 20


def test_folds_test_every_case_once_and_never_part_a_group():
    dataset = dataset_of(cases(60, groups=13))
    group = {case.name: case.group for case in dataset.cases}
    tested = []
    for fold in range(4):
        split = make_split(dataset, SplitOptions(folds=4, fold=fold))
        assert not {group[name] for name in split.test} & {group[name] for name in split.train + split.validation}
        assert split.validation
        tested += split.test
    assert sorted(tested) == [case.name for case in dataset.cases]
    with pytest.raises(BadInput, match="`folds=14` needs as many groups of labelled cases, there are 13"):
        make_split(dataset, SplitOptions(folds=14))


def test_a_verdict_needs_as_many_groups_as_a_drawn_test_set_has():
    assert ENOUGH_GROUPS == FEWEST_GROUPS


@pytest.mark.parametrize(("groups", "tested"), [(60, 10), (25, 10), (24, 2), (300, 30)])
def test_a_drawn_test_set_has_enough_groups_where_the_data_has_them(groups, tested):
    split = split_cases(dataset_of(cases(2 * groups, groups=groups)), seed=0)
    assert len(split.test) == 2 * tested


def test_strata_keep_their_share_and_one_stratum_changes_nothing():
    dataset = dataset_of(cases(200))
    plain = split_cases(dataset, seed=3)
    alike = dict.fromkeys((case.name for case in dataset.cases), "classes 1")
    assert split_cases(dataset, seed=3, strata=alike) == plain
    strata = {case.name: "empty" if at % 10 == 0 else "classes 1" for at, case in enumerate(dataset.cases)}
    split = split_cases(dataset, seed=3, strata=strata)
    assert [sum(strata[name] == "empty" for name in side) for side in (split.train, split.validation, split.test)] == [
        16, 2, 2,
    ]  # fmt: skip
    assert (len(split.train), len(split.validation), len(split.test)) == (160, 20, 20)
