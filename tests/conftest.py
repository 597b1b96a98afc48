"""Fixtures of all tests: isolated folders and keyring, sandboxes; and the kinds of tests.

A test file is of one kind: `pytestmark = pytest.mark.contract` (or faults, browser, notebooks,
benchmark); a file without such a mark holds unit tests. `pytest -m unit` does not even import the
files of other kinds.
"""

from __future__ import annotations

import functools
import gc
import itertools
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import host_log
import labext_test_warm
import pytest
from hypothesis import settings

from labext.sandbox import Sandbox, host_process

# No deadline, since the time of an example depends on the load of the machine. CI runs the same
# examples every time; elsewhere they are random.
BUILDS = not {"CI", "LABEXT_BUILD"}.isdisjoint(os.environ)
settings.register_profile("labext", deadline=None, derandomize=BUILDS, max_examples=25)
settings.load_profile("labext")

# Before anything imports keyring, and for every process that a test starts.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"

# Some tests send interrupts, which a command in the background of a script ignores.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


NewBox = Callable[..., Sandbox]
SUPPORT = Path(__file__).parent / "support"
pytest_plugins = (
    "notebook_plugin",  # first: it prevents a slow import
    "browser_fixtures",
    "cli_fixtures",
    "databases",
    "fake_clock",
    "faulty_server",
    "s3_server",
)

KINDS = ("unit", "contract", "faults", "browser", "notebooks", "benchmark")
_DECLARED_KIND = re.compile(rf"^pytestmark = .*?\bpytest\.mark\.({'|'.join(KINDS)})\b", re.M | re.S)
_BROWSER_FILE = "_in_browser.py"
_FOLDERS_WITH_A_SANDBOX = tuple(
    f"tests/labext/sandbox/nb/{name}" for name in ("ask", "models", "podcasts")
)
_spawn = host_process.spawn_host


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Assign whole files to workers, as `--dist=loadfile` does, and all browser tests to one
    worker.

    Browser tests share a Jupyter server, a Chromium and pages that take longer to load than most
    tests. Files of a folder with its own sandbox are assigned to one worker, which starts it once.
    """
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            scope = str(super()._split_scope(nodeid))
            folder = scope.rpartition("/")[0]
            if folder in _FOLDERS_WITH_A_SANDBOX:
                return folder
            return "browser" if scope.endswith(_BROWSER_FILE) else scope

    return ByFile(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Import schemathesis, which takes seconds, where tests of other kinds than `unit` are run.

    A process that leaves all tests to xdist's workers runs none.
    """
    runs_tests = hasattr(config, "workerinput") or not config.getoption("numprocesses")
    if runs_tests and config.getoption("markexpr") != "unit":
        config.pluginmanager.import_plugin("schemathesis.pytest.plugin")


@functools.cache
def declared_kind(path: Path) -> str:
    """Return the kind of the tests in a file."""
    if path.suffix == ".ipynb":
        return "notebooks"
    declaration = _DECLARED_KIND.search(path.read_text(encoding="utf-8"))
    return declaration[1] if declaration else "unit"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the files of other kinds if `-m` names a single kind.

    Files of unit tests may have contract tests, see `pytest_collection_modifyitems`.
    """
    kind = config.getoption("markexpr")
    is_test_file = collection_path.match("test_*.py") or collection_path.suffix == ".ipynb"
    if kind not in KINDS or not is_test_file:
        return None
    kinds = (kind, "unit") if kind == "contract" else (kind,)
    return declared_kind(collection_path) not in kinds or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of files that declare no kind: unit tests and example notebooks.

    Those on a PostgreSQL or S3 server are contract tests. Browser tests are first: they all run in
    one worker, which would otherwise finish last.
    """
    import databases  # a plugin, which pytest imports after this file

    for item in items:
        if not {mark.name for mark in item.iter_markers()}.intersection(KINDS):
            on_server = databases.uses(item, "postgresql", "s3")
            item.add_marker("contract" if on_server else declared_kind(item.path))
    items.sort(key=lambda item: not item.path.name.endswith(_BROWSER_FILE))


def pytest_collection_finish() -> None:
    """Exclude existing objects from garbage collections, which the end of a shell runs."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Paths of new folders; `mktemp` would list all existing ones for each."""
    return map(tmp_path_factory.mktemp("labext").joinpath, map(str, itertools.count()))


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder shared by all tests of this process, also by session fixtures."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LABEXT_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def isolated(homes: Iterator[Path], cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Isolate a test from the user's configuration, data and secrets."""
    from labext import config, redaction

    for variable in [name for name in os.environ if name.startswith("LABEXT_")]:
        monkeypatch.delenv(variable)
    home = next(homes)
    home.mkdir()
    monkeypatch.setenv("LABEXT_CACHE_DIR", str(cache))
    for variable, folder in {
        "LABEXT_CONFIG_DIR": "config",
        "LABEXT_SANDBOX_DIR": "sandbox",
        "LABEXT_STATE_DIR": "state",
    }.items():
        monkeypatch.setenv(variable, str(home / folder))
    known = set(redaction._known)
    yield home
    redaction._known.clear()
    redaction._known.update(known)
    config.forget_session()


@pytest.fixture(scope="session", autouse=True)
def warm(
    database_of_hosts: Callable[..., Any], storage_of_hosts: Callable[..., Any], cache: Path
) -> Iterator[None]:
    """Fork the hosts of sandboxes from a process that has imported their modules."""
    process = labext_test_warm.shared
    with pytest.MonkeyPatch.context() as patch:
        spawn = storage_of_hosts(database_of_hosts(process.spawn))
        patch.setattr(host_process, "spawn_host", spawn)
        yield
    process.close()


@pytest.fixture
def cold(
    monkeypatch: pytest.MonkeyPatch,
    database_of_hosts: Callable[..., Any],
    storage_of_hosts: Callable[..., Any],
) -> None:
    """Start the hosts of this test in the usual way."""
    spawn = storage_of_hosts(database_of_hosts(_spawn))
    monkeypatch.setattr(host_process, "spawn_host", spawn)


@pytest.fixture
def fast_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry failed requests with almost no wait."""
    monkeypatch.setattr("labext.http.rate_limiter.FIRST_WAIT", 0.001)


@pytest.fixture
def is_synced(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], bool]:
    """Return whether this test has synced the whole content of a file to the disk."""
    synced: set[tuple[int, int]] = set()

    def inode_and_size(file: int | Path) -> tuple[int, int]:
        status = os.stat(file)
        return status.st_ino, status.st_size

    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.add(inode_and_size(descriptor)))
    return lambda path: inode_and_size(path) in synced


@pytest.fixture(scope="session")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A running sandbox without rate limits, shared by all tests of this process.

    Use unique names. Tests that stop or reset a sandbox use `new_box`.
    """
    sandbox = Sandbox(tmp_path_factory.mktemp("box") / "data", rate="off", workers=2)
    sandbox.start()
    yield sandbox
    sandbox.stop()


@pytest.fixture(scope="session")
def services() -> list[str] | None:
    """The services of `new_box`; None for all. A test that needs only one service starts faster
    with it.
    """
    return None


@pytest.fixture
def new_box(tmp_path: Path, services: list[str] | None) -> Iterator[NewBox]:
    """Start a sandbox for this test: `new_box(rate="named", workers=1)`.

    `data_dir` names its folder; by default each call takes a new one.
    """
    sandboxes: list[Sandbox] = []

    def make(**options: Any) -> Sandbox:
        options.setdefault("data_dir", tmp_path / f"box{len(sandboxes)}")
        sandbox = Sandbox(**({"rate": "off", "services": services} | options))
        sandboxes.append(sandbox)
        sandbox.start()
        return sandbox

    yield make
    for sandbox in sandboxes:
        sandbox.stop()
        host_log.print_end(sandbox.data_dir)


@pytest.fixture(scope="session")
def shared_small_box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A running sandbox with the small service, for tests that only send requests."""
    sandbox = Sandbox(
        tmp_path_factory.mktemp("small") / "data", services=["labext_test_service:service"]
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(SUPPORT), prepend=":")
        sandbox.start()
    yield sandbox
    sandbox.stop()


@pytest.fixture
def small_box(new_box: NewBox, monkeypatch: pytest.MonkeyPatch) -> NewBox:
    """As `new_box`, with the small service of tests/support instead of the real ones."""
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT), prepend=":")

    def make(**options: Any) -> Sandbox:
        return new_box(**({"services": ["labext_test_service:service"]} | options))

    return make
