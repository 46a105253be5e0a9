"""The documentation builds, loads nothing from elsewhere, leaves no public name out, and shows what works."""

import ast
import importlib
import inspect
import os
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import typer
from report.chromium import BINARY, browser

import sizewise as sw
from sizewise.cli.commands import make_app
from sizewise.data.recognise import LAYOUTS
from sizewise.losses import NAMED_LOSSES
from sizewise.study.study_words import COMMAS
from sizewise.train.recipes import RECIPES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
WITH_CODE = [DOCS / "index.md", DOCS / "getting-started.md", *sorted((DOCS / "guides").glob("*.md"))]
WITH_ALL = ("sizewise", "sizewise.theory", "sizewise.terms", "sizewise.stats", "sizewise.bench")
PRIVATE_INTEGRATIONS = {"component_metrics", "__init__", "reading"}
COMMANDS = typer.main.get_command(make_app()).commands
NEEDED = ("mkdocs", "material", "mkdocstrings", "mkdocstrings_handlers", "latex2mathml")


class Page(HTMLParser):
    """The ids of a page, what it links to, and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids.add(attrs.get("id"))
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        elif tag == "link" and attrs.get("href"):
            self.loads.append(attrs["href"])
        self.loads += [attrs[name] for name in ("src", "srcset", "poster") if attrs.get(name)]


def name(path):
    return str(path.relative_to(ROOT))


def blocks(path, language):
    text = path.read_text(encoding="utf-8")
    found = re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return [block for block in found if "--8<--" not in block]


# The site


def test_the_site_is_whole(tmp_path):
    """Built once for all of it, as that takes longest."""
    missing = [module for module in NEEDED if find_spec(module) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: pip install '.[docs]'")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    pages = {path: Page(path) for path in tmp_path.rglob("*.html") if path.name != "404.html"}
    assert len(pages) == len(PAGES)
    problems = [*loaded_from_elsewhere(tmp_path, pages), *broken_links(pages), *undocumented(tmp_path)]
    assert not problems, "\n".join(problems)
    assert "<math" in (tmp_path / "theory.html").read_text(encoding="utf-8")
    assert "$$" not in (tmp_path / "theory.html").read_text(encoding="utf-8")
    for path in tmp_path.rglob("*.html"):
        assert "<!-- the commands" not in path.read_text(encoding="utf-8")
        assert ":class:`" not in path.read_text(encoding="utf-8"), f"{path.name} shows a role of another markup"
    if BINARY is not None:
        assert "guides/decide.html" in found_from_the_disk(tmp_path / "getting-started.html", "temperature")


def found_from_the_disk(path, word):
    """What the search lists for a word on a page that was opened as a file."""
    query, links = "document.querySelector('[data-md-component=search-query]')", ".md-search-result__link"
    with browser() as page:
        page.open(path)
        page.run(f"{query}.focus()")
        page.run(f"{query}.value = '{word}'")
        wait = f"new Promise(done => setTimeout(() => done(document.querySelectorAll('{links}').length), 200))"
        for _ in range(50):
            page.run(f"{query}.dispatchEvent(new KeyboardEvent('keyup', {{bubbles: true}}))")
            if page.run(wait):
                break
        assert [url for url in page.requests if not url.startswith(("file:", "about:"))] == []
        return page.run(f"[...document.querySelectorAll('{links}')].map(a => a.href).join(' ')")


def loaded_from_elsewhere(site, pages):
    for path, page in pages.items():
        for address in page.loads:
            if urlsplit(address).netloc:
                yield f"{path.name} loads {address}"
    for path in site.rglob("*.css"):
        for address in re.findall(r"(?:url\(|@import\s*)['\"]?(https?:)?//[^)'\"]*", path.read_text(encoding="utf-8")):
            yield f"{path.name} loads {address}"


def broken_links(pages):
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{path.name} links to {link}, which is not there"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                yield f"{path.name} links to {link}, and there is no such heading"


def undocumented(site):
    """Names are in the reference only if they have a docstring: the build leaves others out."""
    ids = {one for path in (site / "reference").glob("*.html") for one in Page(path).ids}
    for expected in sorted(public_names()):
        if expected not in ids:
            yield f"{expected} is not in the reference: list it in docs/reference, and give it a docstring"


def public_names():
    """The names in each __all__, and all that modules define whose names the reference lists."""
    found = {f"{module}.{one}" for module in WITH_ALL for one in importlib.import_module(module).__all__}
    found.discard("sizewise.theory")  # a module; its names are here one by one
    terms, stats = (
        {one for one in found if one.startswith(opening)} for opening in ("sizewise.terms.", "sizewise.stats.")
    )
    found = (found - terms - stats) | {f"sizewise.{one.rpartition('.')[2]}" for one in terms | stats}
    nnunet = ("Settings", "make_trainer", "trainer_folder", "trainer_names")
    found |= {f"sizewise.integrations.nnunet.{one}" for one in nnunet}
    for module in listed_modules():
        found |= {f"{module}.{one}" for one in defined(source(module))}
    return found


def listed():
    """Everything that the reference lists, with its options."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.md"))
    return dict(re.findall(r"^::: (\S+)\n((?:    .*\n|\n(?=    ))*)", text + "\n", flags=re.MULTILINE))


def listed_modules():
    return [one for one, options in listed().items() if source(one).exists() and "members: false" not in options]


def source(module):
    return ROOT / "src" / (module.replace(".", "/") + ".py")


def defined(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    return [node.name for node in tree.body if isinstance(node, kinds) and not node.name.startswith("_")]


def test_an_undocumented_name_would_be_found(tmp_path):
    """The check itself: a reference that lacks one name."""
    (tmp_path / "reference").mkdir()
    ids = public_names() - {"sizewise.Dice"}
    (tmp_path / "reference" / "all.html").write_text("".join(f'<h2 id="{one}"></h2>' for one in ids))
    assert list(undocumented(tmp_path)) == [
        "sizewise.Dice is not in the reference: list it in docs/reference, and give it a docstring"
    ]


def test_a_broken_link_and_a_foreign_script_would_be_found(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        '<a href="gone.html"></a><a href="#lost"></a><a href="#here" id="here"></a><script src="//x.org/a">'
    )
    pages = {page: Page(page)}
    assert len(list(broken_links(pages))) == 2
    assert len(list(loaded_from_elsewhere(tmp_path, pages))) == 1


def test_the_reference_lists_every_integration_and_layout():
    integrations = {path.stem for path in (ROOT / "src/sizewise/integrations").glob("*.py")} - PRIVATE_INTEGRATIONS
    wanted = {f"sizewise.integrations.{one}" for one in integrations} | set(LAYOUTS)
    assert wanted <= set(listed())


@pytest.mark.parametrize("owner", [one for one in sw.__all__ if inspect.isclass(getattr(sw, one))])
def test_public_methods_say_what_they_do(owner):
    kind = getattr(sw, owner)
    ours = [base for base in kind.__mro__ if base.__module__.startswith("sizewise")]
    names = {one for base in ours for one in vars(base) if not one.startswith("_")}
    silent = [one for one in names if callable(getattr(kind, one)) and not inspect.getdoc(getattr(kind, one))]
    assert not silent, f"{owner}: {', '.join(silent)} have no docstring"


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("Adds.\n>>> 1 + 1\n2", "Adds.\n\n```pycon\n>>> 1 + 1\n2\n```"),
        ("See :class:`~a.b.Dice` of (N, *S) and ``(N, *S)``.", "See `Dice` of (N, \\*S) and ``(N, *S)``."),
        ("Files::\n\n    a/b\n      c\n\nand more", "Files:\n\n```text\na/b\n  c\n```\n\nand more"),
        ("== ===\na  b|c\n== ===\n1  2\n== ===", "| a | b\\|c |\n|---|---|\n| 1 | 2 |"),
    ],
)
def test_docstrings_become_markdown(written, wanted):
    pytest.importorskip("griffe", reason="griffe is not installed: pip install '.[docs]'")
    spec = spec_from_file_location("docstrings_hook", DOCS / "hooks" / "docstrings.py")
    hook = module_from_spec(spec)
    spec.loader.exec_module(hook)
    assert hook.to_markdown(written) == wanted


# What the pages show


@pytest.mark.parametrize("page", [path for path in WITH_CODE if blocks(path, "python")], ids=name)
def test_the_code_runs(page):
    """The blocks of a page run one after another, as a reader would."""
    if page.stem == "torchmetrics" and find_spec("torchmetrics") is None:
        pytest.skip("torchmetrics is not installed: pip install '.[torchmetrics]'")
    names = {}
    for number, block in enumerate(blocks(page, "python"), start=1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), names)


def shown_commands():
    """Each sizewise command of a shell block, with its page."""
    files = [(path, block) for path in PAGES for language in ("bash", "") for block in blocks(path, language)]
    files.append((ROOT / "examples/nnunet.sh", (ROOT / "examples/nnunet.sh").read_text(encoding="utf-8")))
    for path, block in files:
        for line in block.replace("\\\n", " ").splitlines():
            line = line.partition(" #")[0]
            for found in [*re.findall(r"^\s*(sizewise .*)", line), *re.findall(r"\$\((sizewise [^)]*)", line)]:
                yield name(path), found.strip()


@pytest.mark.parametrize(("page", "line"), sorted(set(shown_commands())))
def test_the_command_exists_with_its_options(page, line):
    words = shlex.split(line, comments=True)[1:]
    assert words[0] in COMMANDS, f"{page}: there is no command {words[0]}"
    context = COMMANDS[words[0]].make_context(words[0], words[1:])  # parses and checks, runs nothing
    for loss in filter(None, [context.params.get("loss"), *COMMAS.split(context.params.get("losses") or "")]):
        assert loss == "all" or sw.loss(loss.strip())
    assert context.params.get("recipe") in (None, *RECIPES)


def test_commands_in_sentences_exist():
    """Inline code: `sizewise evaluate --pred …`, and options by themselves."""
    every = {
        flag for command in COMMANDS.values() for one in command.params for flag in [*one.opts, *one.secondary_opts]
    }
    every |= {"--help"}
    for path in PAGES:
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for code in re.findall(r"`([^`\n]+)`", text):
            words = code.split()
            if len(words) > 1 and words[0] == "sizewise" and words[1].islower():
                assert words[1] in COMMANDS, f"{name(path)}: {code}"
                own = {flag for one in COMMANDS[words[1]].params for flag in [*one.opts, *one.secondary_opts]}
                assert {word for word in words if word.startswith("--")} <= own, f"{name(path)}: {code}"
            elif code.startswith("--") and path.stem not in ("nnunet", "coming-from"):
                assert words[0] in every, f"{name(path)}: there is no option {code}"


def test_every_example_is_included_and_none_is_copied():
    text = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
    wanted = {path.name for path in (ROOT / "examples").iterdir() if path.is_file()} - {"two_losses.py"}
    assert set(re.findall(r'--8<-- "examples/([\w.]+)"', text)) == wanted


def test_the_table_of_lambdas_is_that_of_the_losses():
    text = (DOCS / "guides/set-lambda.md").read_text(encoding="utf-8")
    shown = {}
    for names, weight in re.findall(r"^\| (`[^|]+`) \| ([\d.]+) \|", text, flags=re.MULTILINE):
        shown |= {one: float(weight) for one in re.findall(r"`([\w-]+)`", names)}
    shown |= {f"{one}-L1": shown.pop(one) for one in ("RCE", "RFL")}
    assert shown == {one: named.weight for one, named in NAMED_LOSSES.items() if named.weight is not None}


def test_the_guide_names_every_recipe():
    text = (DOCS / "guides/train-your-data.md").read_text(encoding="utf-8")
    table = text.partition("| recipe | for |")[2].partition("\n\n")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`([\w-]+)`", " ".join(first_cells))) == sorted(RECIPES)
