"""The first Tab in a kernel without a `connect` line, on a running sandbox."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import offered, opened

from labext import config
from labext.jobs import JobsClient
from labext.sandbox import Sandbox
from labext_magics.core import candidates, session
from labext_magics.core import session as core_session

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def client(box: Sandbox) -> Iterator[JobsClient]:
    """The sandbox's job service with one complete job."""
    service = box.connection()["jobs"]
    with JobsClient(service["base_url"], service["api_key"]) as result:
        result.submit("first-tab", "digest", {"sequence": "GAATTC", "enzymes": "EcoRI"})
        result.wait("first-tab")
        yield result


@pytest.fixture(params=["environment", "sandbox"])
def configured(
    request: pytest.FixtureRequest, box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """The job service as the environment names it, or as the running sandbox."""
    if request.param == "environment":
        service = box.connection()["jobs"]
        monkeypatch.setenv("LABEXT_JOBS_BASE_URL", service["base_url"])
        monkeypatch.setenv("LABEXT_JOBS_API_KEY", service["api_key"])
        yield
    else:
        monkeypatch.setenv("LABEXT_SANDBOX_DIR", str(box.data_dir))
        config.choose_profile("jobs", "sandbox")
        yield
        config.choose_profile("jobs", None)


@pytest.fixture
def shell(
    client: JobsClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InteractiveShell]:
    """A fresh shell that has only loaded the extension, in an empty folder."""
    assert client
    monkeypatch.setattr(
        core_session, "LOOKUP_TIMEOUT", 60.0
    )  # a busy machine; the figure has its own test
    monkeypatch.chdir(tmp_path)
    with opened() as ip:
        ip.run_line_magic("load_ext", "labext")
        yield ip


@pytest.mark.usefixtures("configured")
def test_first_tab_offers_names_without_connecting(shell: InteractiveShell) -> None:
    assert "%jobs show first-tab" in offered(shell, "%jobs show first")


@pytest.mark.usefixtures("configured")
def test_first_tab_of_any_kind_looks_up_names(shell: InteractiveShell) -> None:
    assert offered(shell, "%jobs sho") == ["%jobs show"]
    names = session.session_of(shell).names
    for thread in threading.enumerate():
        if thread.name.startswith("labext-names"):
            thread.join()
    assert "first-tab" in names.get("jobs/jobs", list)
    assert "digest" in [field["name"] for field in names.get("jobs/tools", list)]


def test_no_completions_without_a_configured_service(shell: InteractiveShell) -> None:
    assert offered(shell, "%jobs show first") == ["%jobs show first"]


@pytest.mark.usefixtures("configured")
def test_result_files_are_offered_before_the_download(
    shell: InteractiveShell, client: JobsClient
) -> None:
    files = client.result_files("first-tab")
    assert "fragments.csv" in files
    line = "%jobs results first-tab --file "
    assert f"{line}fragments.csv" in offered(shell, f"{line}frag")
    fetched = client.download("first-tab", "whole").files["file"]
    assert set(files) == set(fetched)
    client.download("first-tab", "one", file="fragments.csv")


def test_truncated_archive_listing_gives_names_or_none(
    client: JobsClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = client.result_files("first-tab")
    monkeypatch.setattr("labext.jobs.client.list._CENTRAL_DIRECTORY_SIZE", 1500)
    assert client.result_files("first-tab") in (whole, [])
    monkeypatch.setattr("labext.jobs.client.list._CENTRAL_DIRECTORY_SIZE", 60)
    assert client.result_files("first-tab") == []


def test_completion_waits_at_most_300_ms() -> None:
    assert core_session.LOOKUP_TIMEOUT < 0.3
    assert candidates.PREFETCHED_KINDS.keys() == {"lab", "jobs", "nb"}
