"""JupyterLab and Notebook 7 in a real Chromium, with no network but loopback.

Only files whose names end in `_in_browser.py` can use these fixtures: the server and the browser
are closed after the last test of such files.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from notebook_page import SIZE, Lab, NotebookPage
from own_server import Server, jupyter_server, warm_kernels
from script import WATCH, Script

from labext.sandbox import Sandbox

if TYPE_CHECKING:
    from labext_test_gate import Gate

PARTS = Path(__file__).parents[1] / "support"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-gpu-watchdog",  # it ends the process of WebGL, which is slow on a busy machine
    "--disable-quic",
    # Only loopback resolves. A route would do the same, but disables the page's cache.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
INNER = ("data", "blob", "about")
NO_SCHEMA = "Cannot read properties of undefined (reading 'schema')"
"""An error of Notebook 7, not of labext, while a page with it opens."""
_OPEN = pytest.StashKey[ExitStack]()


def pytest_configure(config: pytest.Config) -> None:
    """Close what is still open if the tests are interrupted."""
    config.stash[_OPEN] = ExitStack()
    config.add_cleanup(config.stash[_OPEN].close)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Close the server and the browser after the last browser test, which other tests follow."""
    if nextitem is None or not nextitem.path.name.endswith("_in_browser.py"):
        item.config.stash[_OPEN].close()


@pytest.fixture(scope="session")
def chromium() -> str:
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        pytest.skip("Chromium is not on the PATH: apt-get install chromium")
    return executable


@pytest.fixture(scope="session")
def until_last_browser_test(pytestconfig: pytest.Config) -> ExitStack:
    """The context managers that end after the last browser test."""
    return pytestconfig.stash[_OPEN]


@pytest.fixture(scope="session")
def server(
    chromium: str, until_last_browser_test: ExitStack, tmp_path_factory: pytest.TempPathFactory
) -> Server:
    home = tmp_path_factory.mktemp("jupyter")
    until_last_browser_test.enter_context(warm_kernels(home))
    return until_last_browser_test.enter_context(jupyter_server(home))


@pytest.fixture(scope="session")
def refused() -> list[str]:
    """The requested addresses outside loopback."""
    return []


@pytest.fixture(scope="session")
def browser(
    chromium: str,
    refused: list[str],
    until_last_browser_test: ExitStack,
    tmp_path_factory: pytest.TempPathFactory,
) -> Any:
    """A Chromium with a fresh profile that reaches loopback alone."""
    from playwright.sync_api import sync_playwright

    def note(request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in INNER and parts.hostname not in ("127.0.0.1", "localhost"):
            refused.append(request.url)

    playwright = until_last_browser_test.enter_context(sync_playwright())
    context = playwright.chromium.launch_persistent_context(
        tmp_path_factory.mktemp("chromium"),
        executable_path=chromium,
        args=FLAGS,
        viewport=SIZE,
        reduced_motion="reduce",
    )
    until_last_browser_test.enter_context(context)
    context.on("request", note)
    return context


@pytest.fixture
def sandbox_of_notebooks(server: Server) -> Iterator[None]:
    """A running sandbox, which `%lab sandbox start` finds: forked, it starts faster."""
    box = Sandbox(server.home / "labext-sandbox", rate="off", workers=2)
    box.start()
    yield
    box.reset()


@pytest.fixture
def gate(server: Server) -> Iterator[Gate]:
    """A job service that `%lab sandbox start` finds running, and the gate before its tools."""
    box = Sandbox(
        server.home / "labext-sandbox", rate="off", workers=2, services=["labext_test_gate:service"]
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(PARTS), prepend=os.pathsep)
        box.start()
    from labext_test_gate import Gate

    yield Gate(box)
    box.reset()


@pytest.fixture(scope="session")
def labs(server: Server, browser: Any) -> Callable[[str], Lab]:
    """The shared pages with JupyterLab, each loaded on first use."""
    return cache(lambda name: Lab(server, browser, name))


@pytest.fixture
def page_of(
    server: Server,
    browser: Any,
    labs: Callable[[str], Lab],
    refused: list[str],
    request: pytest.FixtureRequest,
) -> Iterator[Any]:
    """Create notebooks, from a file or new: `page_of().write("code", …).open()`.

    At the end, no page may have had an error or requested an address outside loopback.
    """
    pages: list[NotebookPage] = []

    def make(path: Path | None = None) -> NotebookPage:
        name = f"{request.node.name.removeprefix('test_')}-{len(pages)}"
        path = path or server.folder / f"{name}.ipynb"
        pages.append(NotebookPage(server, browser, labs, path))
        return pages[-1]

    yield make
    errors = [error for page in pages for error in page.errors if error != NO_SCHEMA]
    for page in pages:
        page.close()
    server.stop_kernels()
    assert errors == refused == []


@pytest.fixture
def script(tmp_path: Path) -> Script:
    return Script(tmp_path / "script.json")


@pytest.fixture
def watched(page_of: Callable[..., NotebookPage], script: Script) -> Callable[..., NotebookPage]:
    """Open a notebook and run its first cell, which watches the script."""

    def start(code: str = WATCH, *more: str, app: str = "shared") -> NotebookPage:
        nb = page_of().write(code.format(path=str(script.path)), *more).open(app)
        nb.run(0)
        nb.page.wait_for_selector(".labext-live .labext-bar")
        return nb

    return start
