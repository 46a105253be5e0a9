"""One toy of each kind that is meant to be added from outside: everything else picks it up. Engines: test_engine.py."""

import math
import sys
import types
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
import torch
from data.layouts.image_folder import write_multiclass_folder
from report.synthetic_study import make_study

import sizewise as sw
from sizewise.cli.score_screen import show_scores
from sizewise.data import folder as image_folder
from sizewise.data.recognise import LAYOUTS, find_layout, open_dataset
from sizewise.errors import BadInput
from sizewise.metrics.case import score_case
from sizewise.metrics.cases_csv import read_cases, score_rows, write_cases
from sizewise.metrics.device_counts import count_metrics, values_of
from sizewise.metrics.registry import METRICS, Metric, add_metric, score_names
from sizewise.report.build import FIGURES, assemble, write_report
from sizewise.report.chart import Figure, Mark, Panel, View
from sizewise.terms.overlap import OverlapTerm

pytestmark = pytest.mark.filterwarnings("ignore:Please import:DeprecationWarning")  # surface-distance calls old scipy
ROOT = Path(__file__).parents[1]


def test_a_term_is_a_subclass():
    """Two of four pixels are class 1 and p = ½: P = T = 2, I = 1, so 1 − (2 + 1) / (4 + 1) = 0.4, squared."""

    class SquaredDice(OverlapTerm):
        def per_region(self, stats, images):
            return (1 - (2 * stats.overlap + self.smooth) / (stats.size + stats.count + self.smooth)) ** 2

    logits, target = torch.zeros(1, 2, 1, 4, requires_grad=True), torch.tensor([[[0, 0, 1, 1]]])
    criterion = sw.CrossEntropy() + 0.5 * SquaredDice()
    loss = criterion(logits, target)
    loss.backward()
    assert loss.item() == pytest.approx(math.log(2) + 0.5 * 0.4**2)
    assert logits.grad.abs().sum() > 0
    assert "SquaredDice" in repr(criterion)
    assert set(criterion.terms(logits, target)) == {"CrossEntropy", "SquaredDice"}


@pytest.fixture
def precision():
    """A metric of counts, the share of what was predicted that is right: pooled, on the screen and in reports."""
    before = dict(METRICS)
    metric = Metric(
        "precision",
        "precision",
        "|P ∩ T| / |P|",
        "0 to 1",
        "%",
        "higher",
        1.0,
        "points of precision",
        of_counts=lambda counts: counts.intersection / counts.predicted if counts.predicted else None,
        pooled=True,
        screen=("precision", "{:.3f}"),
    )
    add_metric(metric)
    yield metric
    METRICS.clear()
    METRICS.update(before)


def test_a_metric_is_an_entry_of_the_registry(precision, tmp_path, capsys):
    """Scored, written, pooled, shown on the screen, known to torchmetrics, and in the documentation's table."""
    target = np.zeros((8, 8), np.uint8)
    target[2:4, 2:6] = 1  # 8 pixels
    predicted = np.roll(target, 1, axis=0)  # 4 of its 8 are right
    options = {"classes": [1], "spacing": (1, 1), "nsd_tolerance": 1.0}
    scores = {name: score_case(found, target, **options) for name, found in (("a", predicted), ("b", target))}
    write_cases(tmp_path / "cases.csv", score_rows(scores))
    rows = {(row.case, row.metric): row.value for row in read_cases(tmp_path / "cases.csv")}
    assert (rows["a", "precision"], rows["b", "precision"], rows["all", "precision_pooled"]) == (0.5, 1.0, 0.75)
    show_scores(read_cases(tmp_path / "cases.csv"))
    shown = capsys.readouterr().out
    assert "pooled precision" in shown
    assert "75.000" in shown
    assert "precision" in count_metrics()
    assert values_of("precision", torch.tensor([[2, 4, 3, 9]])).tolist() == [0.5]
    spec = spec_from_file_location("metrics_table", ROOT / "docs" / "hooks" / "metrics_table.py")
    hook = module_from_spec(spec)
    spec.loader.exec_module(hook)
    assert "| `precision` | \\|P ∩ T\\| / \\|P\\| | 0 to 1, 1 |" in hook.metrics_markdown()
    with pytest.raises(BadInput, match="there is a metric 'precision' already"):
        add_metric(precision)


def test_a_report_has_the_metric_and_can_compare_by_it(precision, tmp_path):
    study = make_study(tmp_path, data=("one",), cases=12, seeds=2, runs=False, losses=("CE", "RCE"))
    table = study / "results.csv"
    lines = table.read_text().splitlines()
    lines += [line.replace(",dsc,", ",precision,") for line in lines if ",dsc," in line]
    lines += [line.replace(",dsc_pooled,", ",precision_pooled,") for line in lines if ",dsc_pooled," in line]
    table.write_text("\n".join(lines) + "\n")
    assert "precision" in score_names()
    page = assemble(study, metric="precision").page
    assert {"precision (%)", "pooled precision (%)"} <= set(page.score_tables[0].columns)
    assert page.comparison_tables[0].columns[2] == "points of precision"
    assert "points of precision" in str(page.verdict)


def test_a_layout_is_a_module(tmp_path, monkeypatch):
    """A folder of pictures with a file that tells whose it is; every other folder is read as before."""
    layout = types.ModuleType("my_layout")
    layout.NAME, layout.LAYOUT = "my-data", "images/, masks/ and OURS.txt"
    layout.recognise = lambda path: (path / "OURS.txt").exists()
    layout.load = lambda path, *, options: image_folder.load(path, options=options)
    monkeypatch.setitem(sys.modules, "my_layout", layout)
    monkeypatch.setattr("sizewise.data.recognise.LAYOUTS", ["my_layout", *LAYOUTS])
    data = write_multiclass_folder(tmp_path / "data")
    assert find_layout(data).name == "folder"
    (data / "OURS.txt").touch()
    assert find_layout(data).name == "my-data"
    assert find_layout(data, name="folder").name == "folder"
    assert len(open_dataset(data).cases) > 1
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match=r"my-data: images/, masks/ and OURS\.txt"):
        open_dataset(tmp_path / "empty")


def test_a_figure_is_a_function_of_the_findings(tmp_path, monkeypatch):
    def sizes(found):
        values = [len(found.scores.arm_names), len(found.scores.seeds)]
        panel = Panel([Mark("points", [0.0, 1.0], values, "counts", 0, text=["arms", "seeds"])])
        return Figure(
            "counts", "Arms and seeds", "How many.", "Mine", [View("", [panel])], ["n"], [[n] for n in values]
        )

    monkeypatch.setitem(FIGURES, "counts", sizes)
    study = make_study(tmp_path / "study", data=("one",), cases=12, seeds=2, runs=False, losses=("CE", "RCE"))
    report = assemble(study)
    assert [section.title for section in report.page.figure_sections][-1] == "Mine"
    path = write_report(report, tmp_path / "out")
    assert 'id="figure-counts"' in path.read_text()
    assert "Arms and seeds" in (tmp_path / "out" / "report.md").read_text()
    assert {file.name for file in (tmp_path / "out" / "figures").glob("counts.*")} == {
        "counts.svg",
        "counts.png",
        "counts.csv",
    }
    assert (tmp_path / "out" / "figures" / "counts.csv").read_text() == "n\n2\n2\n"
