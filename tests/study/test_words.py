"""Studies from flags and YAML, and what is said about words that make no sense."""

import pytest

from sizewise.errors import BadInput
from sizewise.study.config import StudyConfig
from sizewise.study.words import parse_study


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
        ({"losses": "CE"}, "compare needs data: give --data synthetic"),
        ({"data": "synthetic"}, "compare needs losses: give --losses CE,Dice,RCE"),
        ({"data": "synthetic", "losses": "CE", "seeds": "many"}, "seeds must be whole numbers, got 'many'"),
        ({"data": "synthetic", "losses": "CE", "seeds": "0"}, "at least one entry in seeds"),
        ({"data": "synthetic", "losses": "CE", "weights": "a"}, "weights must be numbers, got 'a'"),
        ({"data": "synthetic", "losses": "CE,CE"}, "losses must differ from each other"),
        ({"data": "synthetic", "losses": "CE", "reference": "RCE"}, "reference must be one of CE, got 'RCE'"),
        ({"data": "synthetic", "losses": "CE", "settings": ("epoch=3",)}, "Did you mean 'epochs'"),
        ({"data": "synthetic", "losses": "CE", "settings": ("epochs",)}, "--setting must be NAME=VALUE"),
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
