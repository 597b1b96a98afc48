"""The RO-Crate of downloaded results."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from labext.jobs import JobsClient
from labext.jobs.results import provenance

pytestmark = pytest.mark.faults

CRATE = "ro-crate-metadata.json"


@pytest.fixture
def split(split: Any) -> Any:
    """The service with one complete batch in two parts, b, of which one job failed."""
    split.tools[0] |= {"paper": "https://doi.org/10.1/fold", "github": "https://example.org/fold"}
    split.rows["b-part2of2-zzz"].update(JobStatus="Stopped", Reason="Out of time.")
    run = {"Started": "2026-01-01T00:30:00Z", "Completed": "2026-01-01T00:31:00Z"}
    split.rows["b-part1of2-x"].update(run, Settings='{"sequence": "A"}')
    return split


def crate_in(folder: Path, name: str = CRATE) -> dict[str, dict[str, Any]]:
    """The record's entities by their id, checked by the rules of RO-Crate 1.1."""
    record = json.loads((folder / name).read_text())
    assert record["@context"][0] == "https://w3id.org/ro/crate/1.1/context"
    graph = record["@graph"]
    entities: dict[str, dict[str, Any]] = {entity["@id"]: entity for entity in graph}
    assert len(entities) == len(graph)
    head, root = entities[name], entities["./"]
    assert head["about"] == {"@id": "./"}
    assert head["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    assert root["@type"] == "Dataset"
    assert all(root[key] for key in ("name", "description", "datePublished", "license"))
    outside = {"https://w3id.org/ro/crate/1.1"}
    for entity in graph:
        assert entity["@type"]
        for value in entity.values():
            for entry in value if isinstance(value, list) else [value]:
                if isinstance(entry, dict):
                    assert set(entry) == {"@id"}, "a flat graph"
                    assert entry["@id"] in entities or entry["@id"] in outside
    part_ids = {part["@id"] for part in several(root["hasPart"])}
    assert part_ids == {item["@id"] for item in graph if item["@type"] == "File"}
    for part_id in part_ids:
        content = (folder / unquote(part_id)).read_bytes()
        assert entities[part_id]["contentSize"] == str(len(content))
        assert entities[part_id]["sha256"] == hashlib.sha256(content).hexdigest()
    return entities


def files_in(entities: dict[str, Any]) -> set[str]:
    return {unquote(key) for key, item in entities.items() if item["@type"] == "File"}


def results_of(entity: dict[str, Any]) -> list[str]:
    return [unquote(item["@id"]) for item in several(entity.get("result", []))]


def several(value: Any) -> list[Any]:
    """A property's values: JSON-LD writes one without a list."""
    return value if isinstance(value, list) else [value]


def test_split_batch_has_one_crate(client: JobsClient, split: Any, tmp_path: Path) -> None:
    fetched = client.download("b", tmp_path / "out")
    crate = crate_in(tmp_path / "out")
    assert files_in(crate) == {*fetched.files["file"], "b.zip"}
    runs = [mention["@id"] for mention in crate["./"]["mentions"]]
    assert runs == [
        "#job-b-part1of2-x",
        "#job-b-part1of2-yy",
        "#job-b-part2of2-zzz",
        "#job-b",
        "#fetch-b-results",
    ]
    first, failed = crate["#job-b-part1of2-x"], crate["#job-b-part2of2-zzz"]
    assert results_of(first) == ["x/log.txt"]
    assert (first["startTime"], first["endTime"]) == (
        "2026-01-01T00:30:00Z",
        "2026-01-01T00:31:00Z",
    )
    assert first["actionStatus"].endswith("CompletedActionStatus")
    assert crate[first["object"]["@id"]] | {"@id": ""} == {
        "@id": "",
        "@type": "PropertyValue",
        "name": "sequence",
        "value": "A",
    }
    assert failed["actionStatus"].endswith("FailedActionStatus")
    assert failed["error"] == "Out of time."
    assert results_of(crate["#job-b"]) == ["metrics.csv"]
    tool = crate[first["instrument"]["@id"]]
    assert tool["@type"] == "SoftwareApplication"
    assert tool["citation"] == "https://doi.org/10.1/fold"
    assert tool["url"] == "https://example.org/fold"
    assert crate[first["provider"]["@id"]]["url"] == client.base_url.rstrip("/")
    with_client = crate[crate["#fetch-b-results"]["instrument"]["@id"]]
    assert with_client["name"] == "labext"
    assert with_client["runtimePlatform"].startswith("Python 3.")
    assert "ledger-key" not in (tmp_path / "out" / CRATE).read_text()


def test_output_of_a_stage_is_an_input_of_the_next(
    client: JobsClient, pipeline: Any, tmp_path: Path
) -> None:
    client.download("p1", tmp_path)
    run = crate_in(tmp_path)["#job-p1-stage2-score-1"]
    assert {"@id": "stage1-build/out.pdb"} in several(run["object"])


def test_repeated_download_leaves_the_crate_unchanged(
    client: JobsClient, split: Any, tmp_path: Path
) -> None:
    client.download("b", tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    requests = len(split.received)
    assert not client.download("b", tmp_path).fetched
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert len(split.received) == requests + 2, "each part is looked up once"
    (tmp_path / CRATE).unlink()
    assert not client.download("b", tmp_path).fetched
    assert (tmp_path / CRATE).read_bytes() == before[tmp_path / CRATE]
    (tmp_path / "x" / "log.txt").write_text("damaged")
    assert "repaired" in client.download("b", tmp_path).message
    assert (tmp_path / CRATE).read_bytes() == before[tmp_path / CRATE]


def test_jobs_in_one_folder_share_a_crate(client: JobsClient, ledger: Any, tmp_path: Path) -> None:
    for number in (1, 2):
        ledger.add(f"f{number}", settings={"sequence": "ACG" * number, "deep": {"a": [1]}})
        ledger.complete(f"f{number}", results={f"rank {number}:é#.pdb": f"ATOM {number}\n"})
        client.download(f"f{number}", tmp_path)
    client.download("f2", tmp_path, pdbs_only=True)
    crate = crate_in(tmp_path)
    assert files_in(crate) == {"rank 1:é#.pdb", "rank 2:é#.pdb", "f1.zip", "f2.zip", "f2-pdbs.zip"}
    assert results_of(crate["#job-f2"]) == ["rank 2:é#.pdb"]
    assert crate["#job-f2/deep"]["value"] == '{"a":[1]}'
    assert [key for key in crate if key.startswith("#fetch")] == [
        "#fetch-f1-results",
        "#fetch-f2-structures",
        "#fetch-f2-results",
    ]


def test_crate_edited_by_the_user_is_kept(client: JobsClient, ledger: Any, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        ledger.add(f"f{number}")
        ledger.complete(f"f{number}", results={f"{number}.txt": "x"})
    client.download("f1", tmp_path)
    mine = json.loads((tmp_path / CRATE).read_text())
    mine["@graph"][1]["license"] = "https://creativecommons.org/licenses/by/4.0/"
    (tmp_path / CRATE).write_text(json.dumps(mine))
    client.download("f2", tmp_path)
    assert json.loads((tmp_path / CRATE).read_text()) == mine
    second = provenance.CRATE_FILE_NAMES[1]
    assert files_in(crate_in(tmp_path, second)) == {"1.txt", "2.txt", "f1.zip", "f2.zip"}
    (tmp_path / second).write_text("mine too")
    client.download("f3", tmp_path)
    assert (tmp_path / second).read_text() == "mine too"


def test_crate_from_the_archive_is_kept(client: JobsClient, ledger: Any, tmp_path: Path) -> None:
    ledger.add("f1")
    ledger.complete("f1", results={CRATE: "the tool's own", "log.txt": "x"})
    client.download("f1", tmp_path)
    assert (tmp_path / CRATE).read_text() == "the tool's own"
    assert files_in(crate_in(tmp_path, provenance.CRATE_FILE_NAMES[1])) == {
        CRATE,
        "log.txt",
        "f1.zip",
    }


def test_hostile_values_are_escaped_or_dropped(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    ledger.tools[0] |= {"github": "javascript:alert(1)", "paper": 5, "description": ["no text"]}
    ledger.add("f1", settings={"../#x": "ACG", "n": None, "api": True})
    ledger.complete("f1")
    ledger.rows["f1"].update(Started=5, Completed=None, Settings=ledger.rows["f1"]["Settings"])
    client.download("f1", tmp_path)
    assert "javascript" not in (tmp_path / CRATE).read_text()
    assert crate_in(tmp_path)["#job-f1/..%2F%23x"]["value"] == "ACG"


def test_uploaded_input_has_its_checksum(client: JobsClient, ledger: Any, tmp_path: Path) -> None:
    source = tmp_path / "in" / "1abc.pdb"
    source.parent.mkdir()
    for number, year in enumerate((2020, 2100, 2100)):
        source.write_bytes(b"ATOM" * (number + 1))
        client.upload(source)
        settings = {"pdbFile": "1abc.pdb" if number else "other.pdb"}
        ledger.add(f"f{number}", settings=settings)
        ledger.rows[f"f{number}"]["Created"] = f"{year}-01-01T00:00:00Z"
        ledger.complete(f"f{number}", results={f"{number}.txt": ""})
    ledger.add("old", settings={"pdbFile": "1abc.pdb"})
    ledger.rows["old"]["Created"] = "2020-01-01T00:00:00Z"
    ledger.complete("old", results={"old.txt": ""})
    for name in ("f0", "f2", "old"):
        client.download(name, tmp_path / "out")
    crate = crate_in(tmp_path / "out")
    last = hashlib.sha256(source.read_bytes()).hexdigest()
    (upload,) = [item for key, item in crate.items() if key.startswith("#upload-")]
    assert (upload["name"], upload["sha256"]) == ("1abc.pdb", last)
    assert upload["contentSize"] == "12"
    assert {"@id": upload["@id"]} in crate["#job-f2"]["object"]
    assert crate["#job-old"]["object"] == {"@id": "#job-old/pdbFile"}, "it existed before"


def test_upload_of_another_account_is_not_listed(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    source = tmp_path / "1abc.pdb"
    source.write_text("ATOM")
    client.upload(source)
    ledger.add("f1", settings={"pdbFile": "1abc.pdb"})
    ledger.rows["f1"]["Created"] = "2100-01-01T00:00:00Z"
    ledger.complete("f1")
    with JobsClient(ledger.url, "another-key-0123456789", rate=None) as other:
        other.download("f1", tmp_path / "other")
    client.download("f1", tmp_path / "teammate", email="mate@example.org")
    client.download("f1", tmp_path / "own")
    for folder, known in (("other", 0), ("teammate", 0), ("own", 1)):
        uploads = [key for key in crate_in(tmp_path / folder) if key.startswith("#upload-")]
        assert len(uploads) == known, folder


@pytest.mark.parametrize("key", ["Reason", "Error"])
def test_failure_reason_is_recorded_without_secrets(
    client: JobsClient, split: Any, tmp_path: Path, key: str
) -> None:
    row = split.rows["b-part2of2-zzz"]
    del row["Reason"]
    row[key] = "No input at https://store.example/in?X-Amz-Signature=0123abcd"
    client.download("b", tmp_path)
    for file in (CRATE, "b.manifest.json"):
        text = (tmp_path / file).read_text()
        assert "No input at https://store.example/in" in text
        assert "0123abcd" not in text


def test_crate_without_job_list_has_the_batch_only(
    client: JobsClient, split: Any, tmp_path: Path
) -> None:
    client.download("b-part1of2", tmp_path / "warm")
    split.fail("jobs", None, split.answer(403, "Forbidden"))
    client.download("b-part2of2", tmp_path / "out")
    crate = crate_in(tmp_path / "out")
    assert results_of(crate["#job-b-part2of2"]) == ["zzz/log.txt", "metrics.csv"]


def test_manifest_paths_outside_the_folder_are_ignored(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    ledger.add("f1")
    ledger.complete("f1")
    folder = tmp_path / "out"
    client.download("f1", folder)
    outside = tmp_path / "thesis.txt"
    outside.write_text("done\n")
    path = folder / "f1.manifest.json"
    for name in ("../thesis.txt", str(outside), "C:thesis.txt"):
        record = json.loads(path.read_text())
        record["files"][1]["path"] = name
        record["identity"]["completed"] = "another run"
        path.write_text(json.dumps(record))
        client.download("f1", folder)
        assert outside.read_text() == "done\n"
