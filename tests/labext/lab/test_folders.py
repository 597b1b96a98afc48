"""Folders given by name: found, ambiguous, missing, or not listed by the platform."""

from __future__ import annotations

from typing import Any

import pytest

from labext.errors import (
    AccessError,
    ConflictError,
    InputError,
    NotFoundError,
    ResponseLimitError,
    ServiceError,
)
from labext.lab import LabClient

pytestmark = pytest.mark.faults


def folder(identifier: str, name: str, project: str | None = "src_1") -> dict[str, Any]:
    return {"id": identifier, "name": name, "projectId": project, "parentFolderId": None}


def listing(tenant: Any, *folders: dict[str, Any], token: str = "") -> Any:
    return tenant.reply(body={"folders": list(folders), "nextToken": token})


def queries(tenant: Any, resource: str) -> list[dict[str, str]]:
    return [request.query for request in tenant.received if request.path == resource]


def test_folder_name_resolves_to_its_id(lab: LabClient, tenant: Any) -> None:
    tenant.add(7)
    tenant.fail("folders", listing(tenant, folder("lib_2", "Vectors")))
    table = lab.sequences(folder="Vectors", min_length=4)
    assert set(table["folderId"]) == {"lib_2"}
    assert queries(tenant, "folders")[0]["name"] == "Vectors"
    assert queries(tenant, "dna-sequences")[0]["folderId"] == "lib_2"
    tenant.fail("folders", listing(tenant, folder("lib_2", "Vectors")))
    assert {record["folderId"] for record in lab.iter_sequences(folder="vectors")} == {"lib_2"}


def test_folder_id_is_not_looked_up(lab: LabClient, tenant: Any) -> None:
    tenant.add(6)
    assert len(lab.sequences(folder="lib_1")) == 2
    assert tenant.count("folders") == 0


def test_folder_is_found_if_the_platform_ignores_the_name_filter(
    lab: LabClient, tenant: Any
) -> None:
    tenant.add(6)
    tenant.fail(
        "folders",
        listing(tenant, folder("lib_0", "Digests"), folder("lib_9", "vectors"), token="2"),
        listing(tenant, folder("lib_1", "Vectors")),
    )
    assert set(lab.sequences(folder="Vectors")["folderId"]) == {"lib_1"}


def test_folder_name_is_matched_case_insensitively(lab: LabClient, tenant: Any) -> None:
    tenant.add(6)
    listed_folders = listing(tenant, folder("lib_0", "Digests"), folder("lib_1", "Vectors"))
    tenant.fail("folders", listing(tenant), listed_folders)
    assert set(lab.sequences(folder="VECTORS")["folderId"]) == {"lib_1"}


@pytest.mark.parametrize("name", ["Vectors", "VECTORS"])
def test_ambiguous_folder_name_lists_the_folders(lab: LabClient, tenant: Any, name: str) -> None:
    pair = folder("lib_1", "Vectors"), folder("lib_2", "Vectors", "src_2")
    tenant.fail("folders", listing(tenant, *pair, folder("lib_3", "vectors", None)))
    with pytest.raises(ConflictError) as caught:
        lab.sequences(folder=name)
    matches = "lib_1 (project src_1), lib_2 (project src_2)"
    assert matches in caught.value.message
    assert ("lib_3" in caught.value.message) is (name == "VECTORS")
    assert "`lib_1`" in caught.value.next_step
    assert tenant.count("dna-sequences") == 0


def test_missing_folder_suggests_names(lab: LabClient, tenant: Any) -> None:
    listed_folders = listing(tenant, folder("lib_1", "Vectors"), folder("lib_2", "Digests\x1b[2J"))
    tenant.fail("folders", listing(tenant), listed_folders)
    with pytest.raises(NotFoundError) as caught:
        lab.sequences(folder="Vectrs")
    assert '"Vectrs" (did you mean "Vectors"?)' in caught.value.message
    assert "Digests" in caught.value.next_step
    assert "\x1b" not in str(caught.value)
    tenant.fail("folders", listing(tenant), listing(tenant))
    with pytest.raises(NotFoundError, match='named "x"'):
        lab.sequences(folder="x")


def test_platform_without_folder_list_requires_the_id(lab: LabClient, tenant: Any) -> None:
    with pytest.raises(NotFoundError) as caught:
        lab.sequences(folder="Vectors")
    assert "cannot list its folders" in caught.value.message
    assert "ID" in caught.value.next_step
    tenant.fail("folders", tenant.reply(403, {"error": {"message": "No."}}))
    with pytest.raises(AccessError, match="list folders"):
        lab.sequences(folder="Vectors")


def test_endless_or_invalid_folder_list_is_an_error(lab: LabClient, tenant: Any) -> None:
    page = listing(tenant, folder("lib_1", "Digests"), token="2")
    tenant.fail("folders", *[page] * 3)
    with pytest.raises(ResponseLimitError, match="list of folders does not end: it repeats a page"):
        lab.sequences(folder="Vectors")
    tenant.fail("folders", tenant.reply(body={"folders": "none"}))
    with pytest.raises(ServiceError, match="invalid list of folders"):
        lab.sequences(folder="Vectors")


@pytest.mark.parametrize("value", ["", " ", 3, ["Vectors"]])
def test_invalid_folder_is_refused_before_a_request(
    lab: LabClient, tenant: Any, value: Any
) -> None:
    with pytest.raises(InputError, match="not a folder name"):
        lab.sequences(folder=value)
    with pytest.raises(InputError, match="both given"):
        lab.sequences(folder="Vectors", folder_id="lib_1")
    with pytest.raises(InputError, match="length"):
        lab.sequences(folder="Vectors", min_length="a")
    assert not tenant.received
    lab.sequences(folder=None, folder_id="lib_1")


def test_folder_names_are_unique_and_sanitized(lab: LabClient, tenant: Any) -> None:
    tenant.fail(
        "folders",
        listing(tenant, folder("lib_1", "Vectors"), folder("lib_2", "Vectors"), token="x"),
        listing(tenant, folder("lib_3", "Digests\x1b[2J")),
    )
    assert lab.folders() == ["Vectors", "Digests\N{REPLACEMENT CHARACTER}[2J"]
