"""A shell on a sandbox with only the notebook service, shared by this folder's files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import labext_test_shell
import open_notebook
import pytest
from IPython.core.interactiveshell import InteractiveShell
from open_notebook import Replay
from openai_server import OpenAI, serving

from labext.cli import examples
from labext.nb import polling
from labext.sandbox import Sandbox
from labext_magics.core import grammar
from labext_magics.core.line import tokenize
from labext_magics.core.namespace import Namespace
from labext_magics.nb import magic


@pytest.fixture(scope="session")
def nb_box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A running notebook service, shared: use new notebooks."""
    folder = tmp_path_factory.mktemp("nb_magics") / "data"
    sandbox = Sandbox(folder, rate="off", services=["labext.sandbox.nb.app:service"])
    sandbox.start()
    yield sandbox
    sandbox.stop()


@pytest.fixture(scope="session")
def opened() -> Iterator[InteractiveShell]:
    """A shell shared by all files of this folder."""
    with labext_test_shell.opened() as ip:
        yield ip


@pytest.fixture
def unconnected_shell(
    opened: InteractiveShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InteractiveShell]:
    """The shell with the magics, in a folder with the example data.

    Files that need no sandbox use it as their `shell`.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for name in ("paper.pdf", "protocol.docx", "page.html"):
        shutil.copy(examples.examples_folder() / "data" / name, tmp_path / "data")
    with labext_test_shell.loaded(opened):
        yield opened


@pytest.fixture
def shell(
    unconnected_shell: InteractiveShell, nb_box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> InteractiveShell:
    """The shell, connected to the sandbox."""
    monkeypatch.setenv("LABEXT_SANDBOX_DIR", str(nb_box.data_dir))
    unconnected_shell.run_cell("%nb connect sandbox").raise_error()
    return unconnected_shell


@pytest.fixture
def provider() -> Iterator[OpenAI]:
    """An OpenAI-compatible server on loopback, which accepts one key."""
    with serving() as server:
        server.key = "sk-test-4f9b2c7d8e1a6035"
        yield server


@pytest.fixture
def open_notebook_server(shell: InteractiveShell) -> Iterator[Replay]:
    """A simulated Open Notebook with a notebook in use; fails if it ignores a sent field."""
    with open_notebook.serving() as replay:
        shell.run_cell(f"%nb connect {replay.base_url}\n%nb use Here --create").raise_error()
        yield replay
        assert not replay.faults


@pytest.fixture(scope="session")
def parse() -> Callable[..., grammar.ParsedLine]:
    """Read a line as the magic does: `parse("sources", has_body=False)`."""

    def parse_line(line: str, *, has_body: bool = False) -> grammar.ParsedLine:
        return grammar.parse(magic.MAGIC, tokenize(line), Namespace({}), has_body=has_body)

    return parse_line


@pytest.fixture
def sleep_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[float], None]], None]:
    """Replace the pauses of a watch of sources."""

    def replace(sleep: Callable[[float], None]) -> None:
        defaults = {**(polling.watch_sources.__kwdefaults__ or {}), "sleep": sleep}
        monkeypatch.setattr(polling.watch_sources, "__kwdefaults__", defaults)

    return replace


@pytest.fixture
def interrupted(sleep_by: Callable[[Callable[[float], None]], None]) -> None:
    """Interrupt a watch of sources at its first pause."""

    def sleep(_: float) -> None:
        raise KeyboardInterrupt

    sleep_by(sleep)
