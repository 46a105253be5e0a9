"""The benchmark runs, its rows say where they come from, and its command answers bad options with a sentence."""

import csv
import subprocess
import sys

import pytest
import torch

import sizewise as sw
from sizewise.bench import correctness, run_benchmark
from sizewise.bench.measure import make_input
from sizewise.bench.options import BenchInput, parse_losses, parse_shapes
from sizewise.errors import BadInput


@pytest.fixture
def alone(monkeypatch):
    """Without the peers, whose imports take longer than all else; the command's test has them."""
    monkeypatch.setattr("sizewise.bench.candidates.find_spec", lambda name: None)


@pytest.mark.usefixtures("alone")
def test_rows_and_file(tmp_path, capsys):
    rows = run_benchmark(
        "cpu", inputs=[BenchInput((1, 3, 16, 16))], losses=("RCE",), rounds=2, memory=False, out=tmp_path
    )
    assert {"sizewise", "torch"} <= {row["library"] for row in rows}
    assert all(row["median_ms"] > 0 and row["torch"] for row in rows)
    with (tmp_path / "bench.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(rows)
    assert "1 × 3 × 16 × 16" in capsys.readouterr().out


@pytest.mark.usefixtures("alone")
def test_the_floor_counts_the_bytes_that_must_move(monkeypatch):
    # 1·2·4·4 logits of 4 bytes, read twice and written once; 16 labels of 8 bytes, read twice: 384 + 256 bytes.
    # In bfloat16 with uint8 labels 192 + 32. At 1 MB/s a byte takes 1e-3 ms.
    monkeypatch.setattr("sizewise.bench.run.copy_bandwidth", lambda device: 1e6)
    inputs = [BenchInput((1, 2, 4, 4)), BenchInput((1, 2, 4, 4), "bfloat16")]
    rows = run_benchmark("cpu", inputs=inputs, losses=("RCE",), rounds=1, memory=False)
    assert {(row["logits"], row["labels"], row["floor_ms"]) for row in rows} == {
        ("float32", "int64", 0.64),
        ("bfloat16", "uint8", 0.224),
    }


@pytest.mark.parametrize("shape", [(2, 3, 5), (2, 3, 4, 5), (2, 3, 4, 5, 6)])
def test_channels_last_has_the_classes_of_a_pixel_side_by_side(shape):
    plain, _ = make_input(BenchInput(shape), "cpu")
    logits, _ = make_input(BenchInput(shape, layout="channels_last"), "cpu")
    assert logits.stride(1) == 1
    assert plain.stride(1) != 1
    assert torch.equal(logits, plain)
    assert logits.requires_grad
    assert logits.is_leaf


def test_a_wrong_loss_is_not_timed(monkeypatch):
    logits, target = make_input(BenchInput((1, 3, 8, 8)), "cpu")
    correctness.check_losses(["RCE"], logits, target)

    def off_in_the_gradient(self, logits, target):
        right = self.total(self.terms(logits, target))
        return right + 1e-4 * (right - right.detach())

    monkeypatch.setattr(sw.Loss, "forward", off_in_the_gradient)
    with pytest.raises(RuntimeError, match="the gradient of RCE on"):
        correctness.check_losses(["RCE"], logits, target)


def test_names_and_shapes():
    assert parse_losses("all")[:2] == ("RCE", "RFL")
    assert len(parse_losses("all")) == 15  # each once, by its short name, but for those of components
    assert parse_shapes(["2x3x128x128x128"]) == [(2, 3, 128, 128, 128)]
    with pytest.raises(BadInput, match="as 8x2x512x512"):
        parse_shapes(["8x512"])


def bench(*arguments):
    command = [sys.executable, "-m", "sizewise.cli.main", "bench", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_command_writes_table_and_plot(tmp_path):
    options = ("--device", "cpu", "--shape", "1x2x8x8", "--rounds", "1", "--no-memory", "--out", tmp_path)
    done = bench("--losses", "all", "--layout", "contiguous,channels_last", *options)
    assert done.returncode == 0, done.stderr
    assert "× floor" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bench.csv", "bench.png", "bench.svg"]
    with (tmp_path / "bench.csv").open() as file:
        ours = [(row["layout"], row["loss"]) for row in csv.DictReader(file) if row["library"] == "sizewise"]
    assert ours == [(layout, name) for layout in ("contiguous", "channels_last") for name in parse_losses("all")]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--shape", "8x2"), "--shape must be images x classes x pixels"),
        (("--losses", "RCEE"), "--losses must name losses, or be all, got 'RCEE'"),
        (("--losses", "CE,CC-DiceCE"), "bench: CC-DiceCE counts connected components"),
        (("--dtype", "float8"), "--dtype must be of float32, bfloat16"),
        (("--layout", "nhwc"), "--layout must be of contiguous, channels_last, comma-separated, got 'nhwc'"),
        (("--device", "tpu"), "--device must be cpu or cuda, got 'tpu'"),
        (("--rounds", "0"), "--rounds must be at least 1, got 0"),
        (("--out", __file__), "--out must be a folder"),
    ],
)
def test_bad_options_get_a_sentence(arguments, sentence, capsys, monkeypatch):
    from sizewise.cli import main

    monkeypatch.setattr(sys, "argv", ["sizewise", "bench", "--device", "cpu", *arguments])
    with pytest.raises(SystemExit) as left:
        main.main()
    assert left.value.code == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.usefixtures("alone")
def test_rows_survive_the_file(tmp_path):
    rows = run_benchmark(
        "cpu", inputs=[BenchInput((1, 2, 4, 4))], losses=("RCE",), rounds=1, memory=False, out=tmp_path
    )
    with (tmp_path / "bench.csv").open(newline="") as file:
        saved = list(csv.DictReader(file))
    assert [float(row["median_ms"]) for row in saved] == [row["median_ms"] for row in rows]
    assert saved[0]["peak_over_logits"] == ""
    assert saved[0]["library"] == "sizewise"
