"""Splits: official subsets, fractions, groups, tiny data sets, the same names on every machine."""

import pytest

from sizewise.data.dataset import Case, Dataset, Reader
from sizewise.data.split import Split, split_cases
from sizewise.errors import BadInput


def dataset_of(cases, fractions=(0.8, 0.1, 0.1)):
    class Nothing(Reader):
        image = target = write = None

    return Dataset("d", ("background", "a"), tuple(cases), Nothing(), 2, fractions=fractions)


def case(name, *, subset="", group="", target=True):
    return Case(name, (f"{name}.png",), (f"{name}-mask.png",) if target else (), group=group, subset=subset)


def cases(count, **options):
    return [case(f"c{number:03d}", **options) for number in range(count)]


def counts(split):
    return len(split.train), len(split.validation), len(split.test)


def test_fractions_are_kept_and_nothing_is_lost():
    split = split_cases(dataset_of(cases(100)), seed=0)
    assert counts(split) == (80, 10, 10)
    assert sorted(split.train + split.validation + split.test) == [f"c{number:03d}" for number in range(100)]
    assert list(split.train) == sorted(split.train)
    assert counts(split_cases(dataset_of(cases(100), (0.7, 0.1, 0.2)), seed=0)) == (70, 10, 20)


def test_no_validation_fraction_takes_a_tenth_of_train():
    assert counts(split_cases(dataset_of(cases(100), (0.8, 0.0, 0.2)), seed=0)) == (72, 8, 20)
    assert counts(split_cases(dataset_of(cases(100), (0.8, 0.0, 0.2)), seed=0, validation_from_train=0)) == (80, 0, 20)


def test_these_very_names_come_out_on_every_machine():
    split = split_cases(dataset_of(cases(10), (0.6, 0.2, 0.2)), seed=1)
    assert split == Split(
        train=("c001", "c002", "c003", "c004", "c008", "c009"), validation=("c000", "c007"), test=("c005", "c006")
    )


def test_the_seed_decides_and_the_order_of_the_cases_does_not():
    one = split_cases(dataset_of(cases(50)), seed=0)
    assert split_cases(dataset_of(cases(50)[::-1]), seed=0) == one
    assert split_cases(dataset_of(cases(50)), seed=1) != one


def test_official_subsets_stand():
    official = [case("a", subset="train"), case("b", subset="validation"), case("c", subset="test")]
    assert split_cases(dataset_of(official), seed=5) == Split(("a",), ("b",), ("c",))


def test_train_and_test_alone_carve_validation_out_of_train():
    official = cases(20, subset="train") + [case(f"t{number}", subset="test") for number in range(7)]
    split = split_cases(dataset_of(official), seed=0)
    assert counts(split) == (18, 2, 7)
    assert all(name.startswith("c") for name in split.train + split.validation)


def test_a_scored_validation_becomes_the_test_set():
    official = (
        cases(30, subset="train")
        + [case(f"v{number}", subset="validation") for number in range(5)]
        + [case(f"t{number}", subset="test", target=False) for number in range(5)]
    )
    split = split_cases(dataset_of(official), seed=0)
    assert split.test == ("v0", "v1", "v2", "v3", "v4")
    assert counts(split) == (27, 3, 5)


def test_cases_without_a_label_map_enter_nothing():
    split = split_cases(dataset_of([*cases(10), case("unlabelled", target=False)]), seed=0)
    assert "unlabelled" not in split.train + split.validation + split.test


@pytest.mark.parametrize("seed", range(8))
def test_groups_never_straddle(seed):
    videos = [case(f"v{video}-{frame}", group=f"video {video}") for video in range(12) for frame in range(video + 3)]
    split = split_cases(dataset_of(videos), seed=seed)
    sides = [{name.split("-")[0] for name in part} for part in (split.train, split.validation, split.test)]
    assert not sides[0] & sides[1]
    assert not sides[0] & sides[2]
    assert not sides[1] & sides[2]
    total = len(videos)  # 3 + 4 + … + 14 = 102
    assert total == 102
    assert abs(len(split.test) - 0.1 * total) <= 7  # no more than half the largest group off
    assert abs(len(split.validation) - 0.1 * total) <= 7


def test_carving_validation_keeps_groups_together():
    videos = [case(f"v{video}-{frame}", group=f"{video}", subset="train") for video in range(5) for frame in range(4)]
    split = split_cases(dataset_of([*videos, case("t", subset="test")]), seed=0)
    assert len(split.validation) == 4  # a whole video, though a tenth would be two frames
    assert len({name.split("-")[0] for name in split.validation}) == 1


@pytest.mark.parametrize(("count", "expected"), [(2, (1, 0, 1)), (3, (1, 1, 1)), (4, (2, 1, 1)), (5, (3, 1, 1))])
def test_tiny_data_sets(count, expected):
    assert counts(split_cases(dataset_of(cases(count)), seed=0)) == expected


def test_what_cannot_be_split_is_said():
    with pytest.raises(BadInput, match="d: no case is left to score: the one labelled case is all there is"):
        split_cases(dataset_of(cases(1)), seed=0)
    with pytest.raises(BadInput, match="the 5 labelled cases belong to one group"):
        split_cases(dataset_of(cases(5, group="patient")), seed=0)
    with pytest.raises(BadInput, match="d: no case has a label map"):
        split_cases(dataset_of(cases(3, target=False)), seed=0)
    with pytest.raises(BadInput, match=r"no case is left to train on: what is labelled \(3 cases\)"):
        split_cases(dataset_of(cases(3, subset="test")), seed=0)
    with pytest.raises(BadInput, match="validation_from_train must be at least 0 and below 1, got 1"):
        split_cases(dataset_of(cases(3)), seed=0, validation_from_train=1)


def test_a_group_named_like_a_case_is_not_that_case():
    mixed = [case("a"), case("b", group="a"), case("c", group="a"), case("d")]
    split = split_cases(dataset_of(mixed, (0.5, 0.0, 0.5)), seed=0, validation_from_train=0)
    sides = [set(split.train), set(split.test)]
    assert any({"b", "c"} <= side for side in sides)


def test_json_there_and_back_and_its_errors(tmp_path):
    split = split_cases(dataset_of(cases(20)), seed=0)
    path = tmp_path / "split.json"
    path.write_text(split.to_json())
    assert Split.read(path) == split
    path.write_text('{"train": ["a"]}')
    with pytest.raises(BadInput, match="validation must be a list, and it is missing"):
        Split.read(path)
    path.write_text('{"train": ["a"], "validation": [], "test": ["a"]}')
    with pytest.raises(BadInput, match="named more than once: a"):
        Split.read(path)
