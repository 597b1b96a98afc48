"""`labext docs`: a complete reference, without warnings and without requests to a network."""

from __future__ import annotations

import inspect
import re
import subprocess
import webbrowser
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from labext import cli, config, errors
from labext.jobs import JobsClient
from labext.lab import LabClient
from labext.nb import NotebookClient
from labext.nb.resource import Resource
from labext_magics.core.dispatch import magic_named
from labext_magics.core.grammar import parse
from labext_magics.core.help import example
from labext_magics.core.line import tokenize
from labext_magics.core.namespace import Namespace

pytestmark = pytest.mark.contract

ROOT = Path(cli.__file__).parents[2]
MAGICS = [magic_named(name) for name in ("lab", "jobs", "nb")]
MODULES = (
    *("labext", "labext.lab", "labext.lab.files", "labext.jobs", "labext.nb", "labext.progress"),
    *("labext.sandbox", "labext_widgets"),
)
LOADED = {"script": "src", "img": "src", "iframe": "src", "audio": "src", "link": "href"}


class Links(HTMLParser):
    """The addresses and identifiers of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids.add(values.get("id", ""))
        if address := values.get(LOADED.get(tag, "")):
            self.loaded.append(address)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the reference, built with warnings as errors."""
    output = tmp_path_factory.mktemp("reference")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONWARNINGS", "error")
        assert cli.main(["docs", "--no-browser", "--output", str(output)]) == 0
    return output


@pytest.fixture(scope="module")
def pages(folder: Path) -> dict[str, Links]:
    return {path.relative_to(folder).as_posix(): Links(path) for path in folder.rglob("*.html")}


@pytest.mark.parametrize("magic", MAGICS, ids=lambda magic: magic.name)
def test_page_of_a_magic_has_every_command_with_its_options(folder, magic):
    page = (folder / f"magic_{magic.name}.html").read_text(encoding="utf-8")
    for command in magic.commands:
        heading = f">%{magic.name} {command.name}</h3>"
        assert heading in page
        section = page.partition(heading)[2].partition("<h3")[0]
        for argument in command.arguments:
            assert argument.name in section
        for option in command.options:
            assert f"<code>--{option.name}" in section
        assert "Example:" in section


@pytest.mark.parametrize(
    ("magic", "command"),
    [(magic, command) for magic in MAGICS for command in magic.commands if not command.examples],
    ids=lambda value: value.name,
)
def test_generated_example_is_a_valid_line(magic, command):
    line = example(magic, command).removeprefix(f"%{magic.name} ")
    parsed = parse(magic, tokenize(line), Namespace({}))
    assert parsed.command == command


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_documented(pages, name):
    documented = set().union(*(page.ids for page in pages.values()))
    assert set(import_module(name).__all__) <= documented


def test_every_public_method_of_the_clients_is_documented(pages):
    documented = set().union(*(page.ids for page in pages.values()))
    for cls in (LabClient, JobsClient, NotebookClient):
        methods = {f"{cls.__name__}.{name}" for name in dir(cls) if not name.startswith("_")}
        assert methods <= documented


def test_every_method_of_the_notebook_resources_is_documented(pages):
    resources = [
        type(value)
        for value in vars(NotebookClient("http://127.0.0.1/api")).values()
        if isinstance(value, Resource)
    ]
    assert len(resources) >= 15
    for cls in resources:
        own = {name for name, _ in inspect.getmembers(cls, callable) if not name.startswith("_")}
        assert {f"{cls.__name__}.{name}" for name in own} <= pages["labext/nb.html"].ids


def test_types_and_records_that_the_clients_name_are_documented(folder):
    for name in ("lab", "jobs", "nb"):
        page = re.sub(r"<a .*?</a>", "", (folder / "labext" / f"{name}.html").read_text("utf-8"))
        signatures = re.findall(r'<span class="signature.*?</div>', page, re.DOTALL)
        text = re.sub(r"<[^>]+>", "", "\n".join(signatures))
        missing = set(re.findall(r"\blabext\.[\w.]+", text))
        assert missing <= {"labext.config.connections.Connection"}
        assert not re.search(r"<code>(?:labext\.nb\.)?records\.", page)


def test_every_error_is_documented(pages):
    public = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and value.__module__ == errors.__name__ and name[0] != "_"
    }
    assert public <= pages["labext/errors.html"].ids


def test_every_environment_variable_and_profile_option_is_documented():
    text = (ROOT / ".docs" / "text" / "configuration.md").read_text(encoding="utf-8")
    sources = [*(ROOT / "labext").rglob("*.py"), *(ROOT / "magics").rglob("*.py")]
    used = {
        name
        for path in sources
        for name in re.findall(r"LABEXT_[A-Z_]*[A-Z]\b", path.read_text(encoding="utf-8"))
    }
    # Set by the sandbox for its own processes.
    internal = {
        "LABEXT_DATABASE_URL",
        "LABEXT_SERVICES",
        "LABEXT_SERVICES_DIR",
        "LABEXT_TASK",
        "LABEXT_TASKS",
    }
    assert used - internal <= set(re.findall(r"LABEXT_[A-Z_]+", text))
    assert all(f"`{option}`" in text for option in config.OPTIONS)


def test_every_example_notebook_is_a_tutorial(folder):
    notebooks = (ROOT / "example_notebooks").glob("*.ipynb")
    for notebook in notebooks:
        page = (folder / f"tutorial_{notebook.stem}.html").read_text(encoding="utf-8")
        assert "output_subarea" in page


def test_pages_load_nothing_from_a_network(folder, pages):
    assert len(pages) > 15
    for name, page in pages.items():
        assert all(address.startswith("data:") for address in page.loaded), name
        text = (folder / name).read_text(encoding="utf-8")
        assert not re.search(r"""@import|url\(["']?(?:https?:)?//""", text), name


def test_links_lead_to_existing_pages_and_sections(folder, pages):
    for name, page in pages.items():
        for link in page.links:
            if link.startswith(("http", "data:", "mailto:")):
                continue
            path, _, anchor = link.partition("#")
            target = ((folder / name).parent / path).resolve() if path else folder / name
            assert target.is_file(), f"{name}: {link}"
            other = target.relative_to(folder).as_posix()
            assert not anchor or anchor in pages[other].ids, f"{name}: {link}"


def test_missing_generator_is_one_line_with_the_install_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cli, "find_spec", lambda name: None)
    assert cli.main(["docs", "--no-browser"]) == 1
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert 'pip install "labext-jupyter[docs]"' in printed.err


def test_reference_of_an_installation_is_built_once_and_opened(tmp_path, monkeypatch, capsys):
    built: list[list[str]] = []
    opened: list[str] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        built.append(command)
        (Path(command[-1]) / "index.html").write_text("page")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(cli, "_sources_folder", lambda: (tmp_path, False))
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert cli.main(["docs"]) == 0
    assert cli.main(["docs"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
    assert Path(first).read_text() == "page"
    assert opened == [Path(first).as_uri()] * 2
    assert len(built) == 1


def test_failed_build_reports_the_last_line(monkeypatch, capsys):
    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", "Traceback\nValueError: no page")

    monkeypatch.setattr(subprocess, "run", run)
    assert cli.main(["docs", "--no-browser"]) == 1
    assert "The reference was not built: ValueError: no page." in capsys.readouterr().err
