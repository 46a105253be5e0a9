"""The program itself: help at once, exit codes, tables in a pipe."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from sizewise import __version__
from sizewise.cli import main as program
from sizewise.cli.lost_interrupts import lost_interrupts_come_again
from sizewise.cli.show import show_next, show_table
from sizewise.errors import BadInput, RunFailed


def test_help_lists_every_command_without_anything_heavy():
    code = "import sys; sys.argv = ['sizewise', '--help']\nfrom sizewise.cli.main import main\ntry: main()\nfinally: print({'torch', 'scipy', 'numpy'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0
    for word in ("data", "train", "predict", "evaluate", "losses"):
        assert f"\n  {word} " in done.stdout
    assert done.stdout.rstrip().endswith("set()")


@pytest.mark.parametrize("command", ["train", "predict", "losses"])
def test_every_command_has_help(command, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["sizewise", command, "--help"])
    with pytest.raises(SystemExit) as left:
        program.main()
    assert left.value.code == 0
    assert f"sizewise {command} [OPTIONS]" in capsys.readouterr().out


def test_losses_prints_its_table_as_a_subprocess():
    done = subprocess.run([sys.executable, "-m", "sizewise.cli.main", "losses"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "RCE" in done.stdout
    for words in ("log(P + T + ε) − log(2I + ε)", "gamma=2.0", "smooth=1.0", "temperature=10.0", "alpha=0.5, beta=0.5"):
        assert words in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (BadInput("this file is odd."), 2, "sizewise: this file is odd.\n"),
        (RunFailed("the disk is full."), 1, "sizewise: the disk is full.\n"),
        (KeyboardInterrupt(), 130, "sizewise: interrupted.\n"),
    ],
)
def test_exit_codes(error, code, said, monkeypatch, capsys):
    def fails():
        raise error

    monkeypatch.setattr("sizewise.cli.losses.command", fails)
    monkeypatch.setattr(sys, "argv", ["sizewise", "losses"])
    with pytest.raises(SystemExit) as left:
        program.main()
    assert left.value.code == code
    assert capsys.readouterr().err == said


PRESSED = """
import os, signal, sys
class Finder:
    def find_spec(name, *rest):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may have ignored it
sys.meta_path.insert(0, Finder)
sys.argv = ["sizewise", "losses"]
from sizewise.cli.main import main
main()
"""


@pytest.mark.parametrize("module", ["sizewise.errors", "typer", "sizewise.cli.advise", "torch"])
def test_ctrl_c_while_modules_are_imported_is_no_traceback(module):
    done = subprocess.run([sys.executable, "-c", PRESSED.format(module=module)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "sizewise: interrupted.\n")


LOST = """
import os, signal, sys, time
from sizewise.cli import losses
class Dropped:
    def __del__(self):
        raise KeyboardInterrupt
def command():
    Dropped()
    print("goes on", flush=True)
    time.sleep(3600)
    print("to the end")
signal.signal(signal.SIGINT, signal.default_int_handler)
losses.command = command
sys.argv = ["sizewise", "losses"]
from sizewise.cli.main import main
main()
"""


def test_ctrl_c_that_python_drops_comes_again():
    """Also where the command sleeps: it would do so for an hour."""
    done = subprocess.run([sys.executable, "-c", LOST], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (130, "goes on\n", "sizewise: interrupted.\n")


def test_other_dropped_errors_are_shown_as_ever(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    with lost_interrupts_come_again():
        assert sys.unraisablehook != seen.append
        sys.unraisablehook(SimpleNamespace(exc_type=ValueError))
    assert [one.exc_type for one in seen] == [ValueError]
    assert sys.unraisablehook == seen.append


def test_memory_that_torch_does_not_get_is_a_sentence(monkeypatch, capsys):
    """As where ``diagnose`` enlarges the scores of a volume."""
    said = (
        "[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."
    )

    def fails():
        raise RuntimeError(said)

    monkeypatch.setattr("sizewise.cli.commands.make_app", lambda: fails)
    with pytest.raises(SystemExit) as left:
        program.main()
    assert left.value.code == 1
    assert capsys.readouterr().err.startswith("sizewise: out of memory. Ask for less")


def test_what_a_command_says_of_memory_is_kept():
    said = "out of memory with batches of 8. Use a smaller `batch_size`. (DefaultCPUAllocator: can't allocate memory)"
    assert program.sentence(RunFailed(said)) == said


def test_a_bug_keeps_its_traceback(monkeypatch):
    def fails():
        raise KeyError("a bug")

    monkeypatch.setattr("sizewise.cli.losses.command", fails)
    monkeypatch.setattr(sys, "argv", ["sizewise", "losses"])
    with pytest.raises(KeyError):
        program.main()


def test_wrong_words(monkeypatch, capsys):
    for arguments, message in ((["trian"], "No such command 'trian'"), (["train"], "--data is missing")):
        monkeypatch.setattr(sys, "argv", ["sizewise", *arguments])
        with pytest.raises(SystemExit) as left:
            program.main()
        assert left.value.code == 2
        assert message in capsys.readouterr().err


def test_tables_are_not_cut_in_a_pipe(capsys):
    cell = "a long cell with [brackets] " * 5
    show_table("Title", ["one", "two"], [[cell, 3]])
    show_next("first", "second")
    said = capsys.readouterr().out
    assert cell.strip() in said
    assert said.endswith("Next: first\n      second\n")


def test_the_screen_shows_the_verdict_and_the_scores_of_the_page(capsys, tmp_path):
    """From the page itself: a report.md that somebody changed, or that is not there, makes no difference."""
    from report.synthetic_study import make_study

    from sizewise.cli.show import show_page
    from sizewise.report.build import assemble

    page = assemble(make_study(tmp_path, data=("one",), cases=12, seeds=2, runs=False, losses=("CE", "Dice"))).page
    assert not (tmp_path / "report.md").exists()
    show_page(page)
    said = " ".join(capsys.readouterr().out.split())
    group = page.verdict[0]
    assert all(sentence in said for sentence in (group.lead, *group.claims, *group.sentences))
    (table,) = page.score_tables
    assert all(cell.text in said for row in table.rows for cell in row)
    assert page.comparison_tables[0].title not in said  # the page has it, the screen is for what matters most


def test_the_version(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["sizewise", "--version"])
    with pytest.raises(SystemExit) as left:
        program.main()
    assert (left.value.code, capsys.readouterr().out) == (0, f"sizewise {__version__}\n")


def test_the_package_is_a_program_too():
    done = subprocess.run([sys.executable, "-m", "sizewise", "--version"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0
    assert done.stdout.startswith("sizewise ")


@pytest.mark.parametrize(
    ("shell", "code", "said"),
    [
        ("{program} losses >&-", 0, ""),
        ("{program} losses 2>&-", 0, "RCE"),
        ("{program} losses <&-", 0, "RCE"),
        ("PYTHONOPTIMIZE=2 {program} losses", 2, "sizewise: without docstrings there are no options"),
        ("mkdir gone; cd gone; rmdir ../gone; {program} losses", 2, "sizewise: the folder that this was started in"),
        ("MPLBACKEND=nonsense {program} data synthetic --out new", 0, "Next: "),
    ],
)
def test_odd_surroundings(shell, code, said, tmp_path):
    words = shell.format(program=f"{sys.executable} -m sizewise")
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, cwd=tmp_path, timeout=600)
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
