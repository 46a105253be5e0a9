"""Every command of the pages, and every `Next:` line that they print, run one after another as a reader would.

What takes long is made small by options that are appended: a tiny network, two steps, one seed. What needs a GPU, a
download, a cluster or nnU-Net is only parsed; ``tests/test_docs_site.py`` does that for every line.
"""

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from data.layouts.image_folder import write_image_folder

from sizewise.cli.main import main

ROOT = Path(__file__).parents[2]
TINY = "--recipe demo --model monai-unet-small --size 16x16 --batch-size 2 --steps-per-epoch 2 --epochs 1 --device cpu"
LESS = {
    "train": TINY,
    "compare": f"{TINY} --seeds 1 --jobs 1".replace("--model ", "--models "),
    "predict": "--device cpu",
    "decide": "--device cpu",
    "evaluate": "--jobs 1",
    "bench": "--shape 1x2x16x16 --rounds 1 --device cpu --no-memory",
}
ELSEWHERE = ("Task07", "pancreas", "--devices", "imagenet", "ray", "CVC-ClinicDB", "nnunet", "…")  # see above
PLACEHOLDERS = {
    "PATH": "my-data",
    "IMAGES": "new-images",
    "MASKS": "my-data/masks",
    "FOLDER_OF_TRUE_LABEL_MAPS": "my-data/masks",
    "OTHER": "other-predictions",
    "DIR": "written",
}
PAGES = {  # and what has to be there before the first line
    "README.md": (),
    "docs/getting-started.md": (),
    "docs/benchmarks.md": (),
    "docs/guides/train-your-data.md": ("train --data my-data --out runs/first-seed2 --seed 2",),
    "docs/guides/compare-losses.md": (
        "train --data my-data --out runs/rce",
        "predict runs/rce --data my-data --subset all",
    ),
    "docs/guides/choose-a-loss.md": (),
    "docs/guides/set-lambda.md": (),
    "docs/guides/advise.md": ("compare --data my-data --losses CE,DiceCE --out study",),
    "docs/guides/small-structures.md": (
        "train --data my-data --out runs/rce",
        "predict runs/rce --data my-data --subset all",
    ),
}


def lines_of(page):
    """The sizewise lines of its shell blocks."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in re.findall(r"^```bash\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            if line.strip().startswith("sizewise ") and not any(word in line for word in ELSEWHERE):
                yield line.strip()


@pytest.fixture
def reader(capsys, monkeypatch, tmp_path):
    """Somebody who types a line in a folder with data, and gets what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)
    monkeypatch.setattr("sizewise.study.outlook.time_steps", lambda run, runtime: None)  # of the pages' own sizes
    write_image_folder(tmp_path / "my-data", cases=14)
    for path in [*(tmp_path / "my-data").rglob("case *")]:
        path.rename(path.with_name(path.name.replace("case ", "patient")))
    for name, source in (("other-data", "my-data"), ("new-images", "my-data/images"), ("masks", "my-data/masks")):
        shutil.copytree(tmp_path / source, tmp_path / name)
    shutil.copytree(tmp_path / "masks", tmp_path / "other-predictions")
    seen = set()

    def type_in(line):
        words = [_meant(word) for word in shlex.split(line, comments=True)]
        words = words[1:] if words[0] == "sizewise" else words
        less = LESS.get(words[0], "").split()
        less = less[: less.index("--jobs")] if "--engine" in words else less  # that is of local's alone
        if words[0] == "compare" and (words[-1] != "study" or (tmp_path / "study").exists()):  # one study is trained
            less = [*less, "--dry-run"] if "--study" not in words else ["--dry-run", "--out", "of-the-file"]
        if tuple(words) in seen:
            return ""
        seen.add(tuple(words))
        monkeypatch.setattr(sys, "argv", ["sizewise", *words, *less])
        with pytest.raises(SystemExit) as left:
            main()
        printed = capsys.readouterr()
        assert left.value.code == 0, f"{line}\n{printed.out}\n{printed.err}"
        return printed.out

    return type_in


def _meant(word):
    name, equals, value = word.rpartition("=")
    return f"{name}{equals}{PLACEHOLDERS.get(value, value)}"


def next_lines(printed):
    """The commands after `Next:`."""
    lines = printed.splitlines()
    for at, line in enumerate(lines):
        if line.startswith("Next: "):
            yield line.removeprefix("Next: ")
            for more in lines[at + 1 :]:
                if not more.startswith("      "):
                    break
                yield more.strip()


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_and_what_they_say_is_next(page, reader, tmp_path):
    yaml = re.search(r"^```yaml\n(.*?)^```", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "study.yaml").write_text(yaml[1] if yaml else "")
    for line in PAGES[page]:
        reader(line)
    lines = list(lines_of(page))
    assert lines
    for line in lines:
        for after in next_lines(reader(line)):
            if after.startswith("open "):
                assert Path(after.split()[1]).is_file()
            elif not after.startswith("sizewise train"):  # it trains, as the page's own line does
                reader(after)


def test_the_next_step_of_a_score_has_its_options(reader, tmp_path):
    """Two models that lack a case: what was scored with an option is compared with it."""
    for name in ("predictions", "other-predictions"):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        shutil.copytree(tmp_path / "masks", tmp_path / name)
        (tmp_path / name / "patient3_mask.png").unlink()
    (line,) = next_lines(
        reader("evaluate --pred predictions --target masks --cases predicted --classes 1 --out scores")
    )
    assert "--cases predicted --classes 1" in line
    reader(line)
