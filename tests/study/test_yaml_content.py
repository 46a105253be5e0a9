"""The reader of YAML: what JSON's reader refuses is refused here too."""

import os

import pytest

from sizewise.errors import BadInput
from sizewise.study.yaml_content import LARGEST_BYTES, read_yaml_content


def test_what_yaml_takes_for_minutes_and_seconds_stays_as_it_is_written(tmp_path):
    """YAML 1.1 reads 1:30 as 90, which would be ninety seeds."""
    file = tmp_path / "study.yaml"
    file.write_text("seeds: 1:30\nramp: 1:30.5\nepochs: 12\npower: 0.9\n")
    assert read_yaml_content(file) == {"seeds": "1:30", "ramp": "1:30.5", "epochs": 12, "power": 0.9}


@pytest.mark.parametrize("text", ["losses: [CE]\nlosses: [RCE]\n", "settings:\n  epochs: 3\n  'epochs': 300\n"])
def test_a_name_that_is_there_twice_is_refused(tmp_path, text):
    file = tmp_path / "study.yaml"
    file.write_text(text)
    with pytest.raises(BadInput, match=r"is not valid YAML in UTF-8: '(losses|epochs)' is there twice"):
        read_yaml_content(file)


def test_an_anchor_may_be_written_over(tmp_path):
    file = tmp_path / "study.yaml"
    file.write_text("a: &a {b: 1, c: 2}\nd: {<<: *a, b: 3}\n")
    assert read_yaml_content(file)["d"] == {"b": 3, "c": 2}


def test_what_is_no_plain_file_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    os.truncate(os.open(tmp_path / "large.yaml", os.O_CREAT | os.O_WRONLY), LARGEST_BYTES + 1)
    for name, said in (("pipe", "no plain file"), ("large", "a study is a page of text"), ("none", "does not exist")):
        with pytest.raises(BadInput, match=said):
            read_yaml_content(tmp_path / f"{name}.yaml")
