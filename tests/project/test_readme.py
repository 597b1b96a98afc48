"""Commands, magic lines and code in the README and the guides are valid."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import click
import pytest

from labext import cli
from labext_magics.jobs import magic
from labext_magics.lab import magic as lab
from labext_magics.nb import magic as nb

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDES = {path.name: path.read_text(encoding="utf-8") for path in ROOT.glob(".docs/text/*.md")}
TEXTS = "\n".join([README, *GUIDES.values()])
ENVIRONMENT = "python3 -m venv --upgrade-deps .venv"
SETUP = f'{ENVIRONMENT} && .venv/bin/pip install ".[demo]" && .venv/bin/labext demo'
TESTS = f'{ENVIRONMENT} && .venv/bin/pip install -e ".[dev]" && .venv/bin/pytest'
MAGICS = {"jobs": magic.MAGIC, "lab": lab.MAGIC, "nb": nb.MAGIC}


def test_readme_has_exactly_the_setup_and_the_test_command() -> None:
    assert [line.strip() for line in README.splitlines() if "python3 -m venv" in line] == [
        *(SETUP, TESTS)
    ]


def test_ci_runs_the_documented_test_command() -> None:
    assert TESTS in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert TESTS in (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")


def test_every_magic_line_is_known() -> None:
    lines = re.findall(r"%%?(jobs|lab|nb) ([a-z][^`\n]*)", TEXTS)
    assert len(lines) > 100
    for name, words in lines:
        command = MAGICS[name].find(words.split())
        assert command is not None, f"%{name} {words}"
        for option in re.findall(r"--[a-z-]+", words):
            assert option == "--help" or command.option(option), f"%{name} {words}: {option}"


def test_every_command_line_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click.Command, "invoke", lambda self, ctx: None)  # parse, run nothing
    lines = re.findall(r"`labext ([^`]+)`", TEXTS)
    assert lines
    for line in lines:
        assert cli.main(line.split()) == 0


def test_plasmids_in_examples_are_digested_as_circles() -> None:
    notebooks = (ROOT / "example_notebooks").glob("*.ipynb")
    texts = [TEXTS, *(path.read_text(encoding="utf-8") for path in notebooks)]
    lines = re.findall(r"%jobs batch .* --type digest .*", "\n".join(texts))
    assert lines
    for line in lines:
        assert "circular=" in line


def test_python_blocks_are_python() -> None:
    blocks = re.findall(r"```python\n(.*?)```", TEXTS, flags=re.DOTALL)
    assert blocks
    for block in blocks:
        ast.parse(block)


def test_every_extra_is_in_the_table() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra in project["optional-dependencies"]:
        assert f"| `{extra}` |" in README


def test_documented_container_has_the_voices_of_podcasts() -> None:
    (installed,) = re.findall(r"'labext-jupyter\[(.*)\]'\nUSER", GUIDES["server.md"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    packages = [
        package
        for extra in installed.split(",")
        for package in project["optional-dependencies"][extra]
    ]
    assert any(package.startswith("espeakng-loader") for package in packages)


def test_the_changelog_has_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "(.github/CHANGELOG.md)" in README
    changelog = (ROOT / ".github" / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## [{project['version']}]\n" in changelog


def test_linked_files_and_pictures_exist_and_are_small() -> None:
    linked = re.findall(r"\]\((\.[^)#]+)", README)
    assert len(linked) > 10
    for name in linked:
        path = ROOT / name
        assert path.is_file(), name
        assert path.suffix != ".png" or path.stat().st_size < 80_000, name


def test_guides_begin_with_their_title() -> None:
    """The reference leaves out the first line, since its pages have titles of their own."""
    assert [name for name, text in GUIDES.items() if not text.startswith("# ")] == []


def test_guides_link_to_each_other() -> None:
    for name, text in GUIDES.items():
        for target in re.findall(r"\]\(([^)#]+)", text):
            assert target in GUIDES, f"{name}: {target}"
