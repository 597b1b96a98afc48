"""A running notebook service, and plain requests to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import openai_server
import pytest
from nb_service import PASSWORD, SERVICE, Api, Back, make_site, running

from labext.sandbox import Sandbox
from labext.sandbox.core.data_folder import write_secret
from labext.sandbox.core.database import CoreBase, Database
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.app import service
from labext.sandbox.nb.seed import password_file


@pytest.fixture(scope="module")
def in_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Site]]:
    """Create a site with the password `PASSWORD` and without workers."""
    created: list[Site] = []

    def make(rate: Literal["named", "off"] = "off") -> Site:
        folder = tmp_path_factory.mktemp("site")
        site = make_site(folder, Database.at(folder / "sandbox.sqlite"), rate=rate)
        created.append(site)
        write_secret(password_file(site), PASSWORD)
        site.database.create(CoreBase.metadata, service.metadata)
        for kind in service.kinds(site):
            site.queue.add(kind)
        service.seed(site)
        return site

    yield make
    for site in created:
        site.database.close()


@pytest.fixture(scope="session")
def services() -> list[str]:
    return [SERVICE]


@pytest.fixture(scope="session")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A running sandbox with only the notebook service."""
    with running(tmp_path_factory) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def api(box: Sandbox) -> Api:
    return Api.of(box)


@pytest.fixture(scope="session")
def back(box: Sandbox) -> Back:
    return Back(box.data_dir)


@pytest.fixture
def provider() -> Iterator[openai_server.OpenAI]:
    with openai_server.serving() as server:
        yield server
