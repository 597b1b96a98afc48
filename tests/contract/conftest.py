"""A real sandbox for the tests: a detached process with a folder of its own, stopped at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from labext.sandbox import Sandbox

NewBox = Callable[..., Sandbox]
PARTS = Path(__file__).parents[1] / "sandbox_parts"


@pytest.fixture(scope="session")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A running sandbox without rate limits, shared by all tests of this process.

    Use names of your own; whoever stops or resets a sandbox takes `new_box`.
    """
    sandbox = Sandbox(tmp_path_factory.mktemp("box") / "data", rate="off", workers=2)
    sandbox.start()
    yield sandbox
    sandbox.stop()


@pytest.fixture
def new_box(tmp_path: Path) -> Iterator[NewBox]:
    """Make a running sandbox of this test's own: `new_box(rate="named", workers=1)`.

    `data_dir` names its folder; by default each call takes a new one.
    """
    made: list[Sandbox] = []

    def make(**options: Any) -> Sandbox:
        options.setdefault("data_dir", tmp_path / f"box{len(made)}")
        sandbox = Sandbox(**({"rate": "off"} | options))
        made.append(sandbox)
        sandbox.start()
        return sandbox

    yield make
    for sandbox in made:
        sandbox.stop()


@pytest.fixture(scope="session")
def shared_small_box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A running sandbox with the small service, for tests that only ask."""
    sandbox = Sandbox(
        tmp_path_factory.mktemp("small") / "data", services=["labext_test_service:service"]
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(PARTS), prepend=":")
        sandbox.start()
    yield sandbox
    sandbox.stop()


@pytest.fixture
def small_box(new_box: NewBox, monkeypatch: pytest.MonkeyPatch) -> NewBox:
    """As `new_box`, with the small service of tests/sandbox_parts in place of the real ones."""
    monkeypatch.setenv("PYTHONPATH", str(PARTS), prepend=":")

    def make(**options: Any) -> Sandbox:
        return new_box(**({"services": ["labext_test_service:service"]} | options))

    return make
