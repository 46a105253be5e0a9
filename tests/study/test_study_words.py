"""Studies from flags and YAML, and what is said about words that make no sense."""

import pytest

from sizewise.errors import BadInput
from sizewise.study.study_config import StudyConfig
from sizewise.study.study_words import parse_study


def test_flags_add_to_the_file_and_win(tmp_path):
    file = tmp_path / "study.yaml"
    file.write_text(
        "data: [synthetic, synthetic-3d]\nlosses: [CE, RCE]\nweights: 0.5\nseeds: 2\nsettings:\n  epochs: 7\n  batch_size: 4\n"
    )
    study = parse_study({"losses": "Dice,RCE", "settings": ("epochs=3", "size=32x32")}, file)
    assert study == StudyConfig(
        data=("synthetic", "synthetic-3d"),
        losses=("Dice", "RCE"),
        weights=(0.5,),
        seeds=(0, 1),
        settings=(("batch_size", 4), ("epochs", 3), ("size", "32x32")),
    )


def test_seeds_are_a_number_or_a_list():
    assert parse_study({"data": "synthetic", "losses": "CE", "seeds": "4"}).seeds == (0, 1, 2, 3)
    assert parse_study({"data": "synthetic", "losses": "CE", "seeds": "4,7"}).seeds == (4, 7)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"losses": "CE"}, "compare needs data: give `data=synthetic`"),
        ({"data": "synthetic"}, "compare needs losses: give `losses=CE,Dice,RCE`"),
        ({"data": "synthetic", "losses": "CE", "seeds": "many"}, "`seeds` must be a whole number, got 'many'"),
        ({"data": "synthetic", "losses": "CE", "seeds": "0"}, "at least one entry in seeds"),
        ({"data": "synthetic", "losses": "CE", "weights": "a"}, "`weights` must be a number, got 'a'"),
        ({"data": "synthetic", "losses": "CE,CE"}, "losses must differ from each other"),
        ({"data": "synthetic", "losses": "CE", "reference": "RCE"}, "reference must be one of CE, got 'RCE'"),
        ({"data": "synthetic", "losses": "CE", "settings": ("epoch=3",)}, "Did you mean 'epochs'"),
        ({"data": "synthetic", "losses": "CE", "settings": ("epochs",)}, "a setting must be NAME=VALUE"),
        ({"data": "synthetic", "losses": "CE", "settings": ("loss=RCE",)}, "a study has no setting 'loss'"),
    ],
)
def test_wrong_words_get_a_sentence(given, said):
    with pytest.raises(BadInput, match=said):
        parse_study(given)


def test_a_file_with_an_unknown_key_is_refused(tmp_path):
    file = tmp_path / "study.yaml"
    file.write_text("data: synthetic\nlosses: [CE]\nsettings: {epoch: 3}\n")
    with pytest.raises(BadInput, match=r"no setting 'epoch'.*Did you mean 'epochs'"):
        parse_study({}, file)
    file.write_text("data: synthetic\nloses: [CE]\n")
    with pytest.raises(BadInput, match="got loses"):
        parse_study({}, file)
    file.write_text("data: [synthetic\n")
    with pytest.raises(BadInput, match="not valid YAML"):
        parse_study({}, file)
    with pytest.raises(BadInput, match="can't be read"):
        parse_study({}, tmp_path / "none.yaml")


def test_one_seed_of_a_list_is_that_seed(tmp_path):
    file = tmp_path / "study.yaml"
    file.write_text("data: synthetic\nlosses: [CE]\nseeds: [5]\n")
    assert parse_study({}, file).seeds == (5,)


@pytest.mark.parametrize("seeds", ["3", "'3'", "[0, 1, 2]"])
def test_seeds_of_a_file_are_a_number_or_a_list(tmp_path, seeds):
    file = tmp_path / "study.yaml"
    file.write_text(f"data: synthetic\nlosses: [CE]\nseeds: {seeds}\n")
    assert parse_study({}, file).seeds == (0, 1, 2)


def test_a_file_means_what_the_flags_mean(tmp_path):
    """YAML reads 1e-3 as text and [64, 64] as a list; options may be written with a dash, as on the command line."""
    file = tmp_path / "study.yaml"
    file.write_text(
        "data: synthetic\nlosses: [CE, RCE]\nweights: [1e-1]\n"
        "settings: {learning-rate: 1e-3, batch-size: 2, size: [64, 64], merge: no, background: 0}\n"
    )
    flags = ("background=0", "learning-rate=1e-3", "batch-size=2", "size=64x64", "merge=no")
    study = parse_study({}, file)
    assert study == parse_study({"data": "synthetic", "losses": "CE,RCE", "weights": "0.1", "settings": flags})
    assert dict(study.settings) == {"learning_rate": 0.001, "batch_size": 2, "size": "64x64"} | {
        "merge": False,
        "background": "0",
    }


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("settings: {epochs: two}", "`epochs` must be a whole number, got 'two'"),
        ("settings: {epochs: 2.5}", "`epochs` must be a whole number, got"),
        ("settings: {merge: perhaps}", "`merge` must be true or false, got 'perhaps'"),
        ("settings: [1, 2]", "settings must be lines of NAME: VALUE"),
        ("settings: {ramp: 90}", "`ramp` must be text, got 90. Put it in quotes"),
        ("settings: {groups: }", "`groups` must be text, got None"),
        ("settings: {modality: 3}", "`modality` must be text, got 3"),
        ("seeds: 1:30", "`seeds` must be a whole number, got '1:30'"),
        ("seeds: [first]", "`seeds` must be a whole number, got 'first'"),
        ("weights: [high]", "`weights` must be a number, got 'high'"),
    ],
)
def test_wrong_values_in_a_file_get_a_sentence(tmp_path, line, said):
    file = tmp_path / "study.yaml"
    file.write_text(f"data: synthetic\nlosses: [CE, RCE]\n{line}\n")
    with pytest.raises(BadInput, match=said):
        parse_study({}, file)


def test_a_file_may_have_commas_as_the_flags_do(tmp_path):
    file = tmp_path / "study.yaml"
    file.write_text("data: synthetic, synthetic-3d\nlosses: CE, RCE\nweights: 0.1,1\nseeds: 0,4\n")
    study = parse_study({}, file)
    assert study.data == ("synthetic", "synthetic-3d")
    assert study.losses == ("CE", "RCE")
    assert study.weights == (0.1, 1.0)
    assert study.seeds == (0, 4)
    odd = tmp_path / "a, b"  # a folder that is there is one data set
    odd.mkdir()
    file.write_text(f"data: '{odd}'\nlosses: [CE]\n")
    assert parse_study({}, file).data == (str(odd),)
