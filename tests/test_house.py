"""The house: arrows go as CONTRIBUTING draws them, stems name one thing, and the library does not speak in flags."""

import ast
import re
import sys
from collections import Counter
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "sizewise"
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LIBRARY = {
    "checks",
    "module",
    "private_apis",
    "stats",
    "criterion",
    "terms",
    "user_code",
    "loss_formula",
    "losses",
    "theory",
    "decisions",
    "deep_supervision",
    "tiles",
}
FLAGLESS = (
    "data",
    "metrics",
    "evaluate",
    "probability_maps",
    "models",
    "train",
    "study",
    "report",
    "diagnosis",
    "advice",
)


def load_hook(name):
    spec = spec_from_file_location(name, ROOT / "docs" / "hooks" / f"{name}.py")
    hook = module_from_spec(spec)
    spec.loader.exec_module(hook)
    return hook


house = load_hook("house")


def diagram():
    """From each room, the rooms that CONTRIBUTING lets it import directly."""
    (block,) = re.findall(r"^```rooms\n(.*?)^```", CONTRIBUTING, flags=re.MULTILINE | re.DOTALL)
    allowed = {}
    for line in block.splitlines():
        steps = [[room.strip() for room in step.split(",")] for step in line.split("←")]
        for lower, upper in pairwise(steps):
            for room in upper:
                allowed.setdefault(room, set()).update(lower)
            for room in lower:
                allowed.setdefault(room, set())
    return allowed


def against(arrows, allowed):
    """The arrows that the diagram does not allow, however far around."""
    reached = house.reach(allowed)
    return [f"{room} imports {one}" for room in arrows for one in arrows[room] if one not in reached.get(room, ())]


def test_every_arrow_is_in_the_diagram_and_every_room_too():
    arrows = house.read_arrows()
    assert not against(arrows, diagram())
    assert set(arrows) - set(diagram()) == set()
    assert set(diagram()) - set(arrows) == set()


def test_the_table_says_what_every_room_is():
    named = re.findall(r"`(\w+)(?:/|\.py)`", "".join(re.findall(r"^\| (`.+?) \|", CONTRIBUTING, flags=re.MULTILINE)))
    assert sorted(set(named) - {"tests"}) == sorted(house.read_arrows())


@pytest.mark.parametrize(
    ("room", "line", "said"),
    [
        ("metrics", "from sizewise.data.pictures import read_picture", "metrics imports data"),
        ("train", "def f():\n    from sizewise.cli import show", "train imports cli"),
        ("stats", "import sizewise.criterion", "stats imports criterion"),
        ("losses", "from sizewise import errors", "losses imports errors"),
    ],
)
def test_an_arrow_against_the_diagram_is_found(tmp_path, room, line, said):
    """The check itself, on a house with one wrong import, inside a function too."""
    for path in PACKAGE.rglob("*.py"):
        copy = tmp_path / path.relative_to(PACKAGE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    target = tmp_path / f"{room}.py" if (tmp_path / f"{room}.py").exists() else tmp_path / room / "__init__.py"
    target.write_text(f"{target.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    assert said in against(house.read_arrows(tmp_path), diagram())


def test_a_circle_is_an_error():
    with pytest.raises(ValueError, match="a circle of imports: a → b → a"):
        house.reach({"a": {"b"}, "b": {"a"}})


def test_the_picture_shows_every_room_and_each_arrow_that_does_not_follow_from_others():
    picture = ElementTree.fromstring(house.draw(house.read_arrows(), house.read_words()))
    texts = {node.text for node in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert set(house.read_arrows()) - set(house.GROUND) | {"ground"} <= texts
    arrows = {"a": {"b", "c"}, "b": {"c"}, "c": set()}  # a → c follows from a → b → c
    small = ElementTree.fromstring(house.draw(arrows, dict.fromkeys(arrows, "a room")))
    assert sum(1 for node in small.iter("{http://www.w3.org/2000/svg}path") if node.get("marker-end")) == 2


def test_the_library_half_imports_torch_alone():
    foreign = set()
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0].removesuffix(".py") in LIBRARY:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
                names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
                foreign |= {name.split(".")[0] for name in names} - set(sys.stdlib_module_names)
    assert foreign <= {"sizewise", "torch", "triton"}


def test_a_stem_names_one_thing():
    """At most two files share one, as a command and what it does; each room of the lower half has its own."""
    stems = Counter(path.stem for path in PACKAGE.rglob("*.py") if path.stem != "__init__")
    assert {stem: count for stem, count in stems.items() if count > 2} == {}
    rooms = ("metrics", "data", "evaluate", "train", "study", "report")
    ours = Counter(path.stem for room in rooms for path in (PACKAGE / room).rglob("*.py") if path.stem != "__init__")
    assert {stem: count for stem, count in ours.items() if count > 1} == {}


def test_the_library_does_not_speak_in_flags():
    """Sentences call an argument by its name between backticks; the command line translates."""
    spoken = []
    for room in FLAGLESS:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"--[a-z]", node.value):
                    spoken.append(f"{path.relative_to(PACKAGE)}:{node.lineno}: {node.value[:60]!r}")
    assert spoken == []


def sections():
    """The files that each kind of addition touches, by the number that the heading promises."""
    parts = re.findall(r"^### Add an? (.+?) \((\d) files\)\n(.*?)(?=^##)", CONTRIBUTING, flags=re.MULTILINE | re.DOTALL)
    return {
        kind: (int(count), re.findall(r"^\d\. `([\w/.]+)`", text, flags=re.MULTILINE)) for kind, count, text in parts
    }


@pytest.mark.parametrize(
    ("kind", "most"), [("term", 5), ("metric", 3), ("data layout", 5), ("figure", 3), ("engine", 2), ("tracker", 2)]
)
def test_an_addition_touches_few_files_and_they_are_where_contributing_says(kind, most):
    promised, files = sections()[kind]
    assert len(files) == promised <= most
    for file in files:
        path = ROOT / file
        assert path.exists() or (path.parent.is_dir() and "my_" in path.name), file
