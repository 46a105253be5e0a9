"""Ready to publish: workflows run targets that exist, pages say how to install from where sizewise is."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
JOBS = {"lint", "tests", "oldest-torch", "docs", "wheel", "gpu"}


def github():
    return yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())


def gitlab():
    return yaml.safe_load((ROOT / ".gitlab-ci.yml").read_text())


def commands():
    for job in github()["jobs"].values():
        yield from (step["run"] for step in job["steps"] if "run" in step)
    for job in gitlab().values():
        if isinstance(job, dict):
            yield from job.get("script", ())


def test_both_hosts_have_the_same_jobs_and_run_targets_of_the_makefile():
    assert set(github()["jobs"]) == JOBS
    assert set(gitlab()) >= JOBS
    named = [re.fullmatch(r"make ([\w-]+)", command) for command in commands()]
    assert all(named)
    assert {one[1] for one in named} <= TARGETS


def test_the_oldest_and_the_newest_python_are_those_of_the_package():
    declared = [one.rsplit(" ", 1)[1] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)]
    tried = github()["jobs"]["tests"]["strategy"]["matrix"]["python"]
    assert tried == [declared[0], declared[-1]] == gitlab()["tests"]["parallel"]["matrix"][0]["PYTHON_VERSION"]
    assert PROJECT["requires-python"] == f">={declared[0]}"


def test_hooks_use_the_tools_of_the_environment():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert {hook["id"] for hook in hooks} == {"ruff-check", "ruff-format", "mypy", "house"}
    assert all(hook["entry"].startswith(".venv/bin/") for hook in hooks)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_installs_a_name_that_no_index_has(page):
    """In blocks of commands sizewise is installed from the checkout; what else an index has may be installed."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```(?:bash)?\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        assert not re.search(r"pip install.*\bsizewise\b", block), block


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda example: example.name)
def test_no_example_installs_a_name_that_no_index_has(example):
    assert not re.search(r"pip install.*\bsizewise\b", example.read_text(encoding="utf-8"))


def test_where_to_install_from_is_said_first():
    for page in (ROOT / "README.md", ROOT / "docs" / "getting-started.md"):
        text = page.read_text(encoding="utf-8")
        assert "not on a package index yet" in text.partition("pip install")[0]


def test_every_extra_that_a_page_names_exists():
    text = (ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8")
    extras = set(PROJECT["optional-dependencies"]) - {"dev", "peers", "docs", "release", "train"}
    assert {name for name in extras if f"`{name}`" not in text} == set()
