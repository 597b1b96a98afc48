"""What is killed: a notebook service that makes an episode, or the process that makes it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from labext.sandbox import Sandbox

_spec = importlib.util.spec_from_file_location(
    "nb_podcasts_kit", Path(__file__).parents[2] / "contract" / "nb_podcasts" / "conftest.py"
)
assert _spec is not None
assert _spec.loader is not None
podcasts_kit = importlib.util.module_from_spec(_spec)
sys.modules["nb_podcasts_kit"] = podcasts_kit
_spec.loader.exec_module(podcasts_kit)

provider = podcasts_kit.provider


@pytest.fixture
def key() -> str:
    """The provider's."""
    return podcasts_kit.KEY  # type: ignore[no-any-return]


@pytest.fixture(scope="session")
def services() -> list[str]:
    return ["labext.sandbox.nb.app:service"]


@pytest.fixture
def podcasts_of() -> Callable[[Sandbox], Any]:
    """The podcasts of a sandbox; that answers are as described is tested elsewhere."""

    def podcasts(box: Sandbox) -> Any:
        anything = SimpleNamespace(hold=lambda _response, **_options: None)
        api = podcasts_kit.service_kit.Api(box.nb.base_url, box.nb.password, anything)
        return podcasts_kit.Podcasts(box, api)

    return podcasts
