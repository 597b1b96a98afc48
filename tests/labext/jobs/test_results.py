"""Results are downloaded completely or not at all, also those of partial batches."""

from __future__ import annotations

import copy
import csv
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from labext.errors import (
    ArchiveError,
    ConflictError,
    InputError,
    JobFailedError,
    NotFoundError,
    NotReadyError,
    ServiceError,
    StorageError,
)
from labext.jobs import JobsClient
from labext.jobs.results import archives
from labext.jobs.results.results import Results

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("small_parts")]


def all_files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("path", ["a\0b", "~nobody-has-this-name/out", None])
def test_path_that_cannot_exist_is_refused(
    client: JobsClient, done: Any, tmp_path: Path, path: Any
) -> None:
    for act in (lambda: client.download("f1", path), lambda: client.upload(path)):
        with pytest.raises(InputError, match="is not a path"):
            act()
    with pytest.raises(StorageError, match="File name too long"):
        client.download("f1", tmp_path / ("n" * 300))


def test_current_folder_is_named_in_the_message(
    client: JobsClient, done: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, again = client.download("f1", "."), client.download("f1", "")
    assert first.message.endswith(f"were downloaded to {tmp_path}.")
    assert again.message.endswith(f"are already complete in {tmp_path}.")


def test_complete_results_are_not_downloaded_again(
    client: JobsClient, done: Any, tmp_path: Path
) -> None:
    first = client.download("f1", tmp_path / "out")
    assert first.fetched
    assert all_files(tmp_path / "out") == [
        "f1.manifest.json",
        "f1.zip",
        "log.txt",
        "rank_1.pdb",
        "ro-crate-metadata.json",
    ]
    assert first.files["file"].tolist() == ["rank_1.pdb", "log.txt"]
    assert first.archive == tmp_path / "out" / "f1.zip"
    again = client.download("f1", tmp_path / "out")
    assert not again.fetched
    assert again.files.equals(first.files)
    assert done.count("download") == 1
    assert ("download", None) in done.keys, "the key does not go to a presigned address"


def test_results_can_be_pickled_without_their_connection(
    client: JobsClient, done: Any, tmp_path: Path
) -> None:
    downloaded = client.download("f1", tmp_path)
    restored = pickle.loads(pickle.dumps(downloaded))
    assert restored == downloaded
    assert restored.files.equals(downloaded.files)
    with pytest.raises(InputError, match="no connection"):
        restored.frame()
    assert downloaded.frame()["Name"].tolist() == ["f1"]


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copied_results_keep_their_connection(
    client: JobsClient, done: Any, tmp_path: Path, duplicate: Callable[[Results], Results]
) -> None:
    downloaded = client.download("f1", tmp_path)
    copied = duplicate(downloaded)
    assert copied == downloaded
    assert copied.frame()["Name"].tolist() == ["f1"]
    assert (copied.files is downloaded.files) == (duplicate is copy.copy)


def test_second_download_to_the_same_folder_is_refused(
    client: JobsClient, done: Any, tmp_path: Path
) -> None:
    refused = []

    def download_again(phase: str) -> None:
        if phase == "Unpacking":
            with pytest.raises(StorageError, match=f"Another download is writing to {tmp_path}\\."):
                client.download("f1", tmp_path)
            refused.append(phase)

    client.download("f1", tmp_path, on_phase=download_again)
    assert refused
    assert not client.download("f1", tmp_path).fetched
    assert not list(tmp_path.glob(".labext*"))


def test_damaged_file_is_restored_from_the_archive(
    client: JobsClient, done: Any, tmp_path: Path
) -> None:
    client.download("f1", tmp_path)
    (tmp_path / "rank_1.pdb").write_text("cut")
    (tmp_path / "log.txt").unlink()
    message = client.download("f1", tmp_path).message
    assert message.endswith("were repaired; 1 changed file kept as NAME.changed.")
    assert (tmp_path / "rank_1.pdb").read_text() == "ATOM f1\n"
    assert (tmp_path / "rank_1.pdb.changed").read_text() == "cut"
    (tmp_path / "rank_1.pdb").write_text("ATOM f2\n")  # of the same size
    client.download("f1", tmp_path)
    assert (tmp_path / "rank_1.pdb.changed2").read_text() == "ATOM f2\n"
    assert done.count("download") == 1
    (tmp_path / "f1.zip").write_bytes(b"PK")
    assert client.download("f1", tmp_path).fetched
    assert done.count("download") == 2


def test_results_of_another_run_replace_the_old_ones(
    client: JobsClient, done: Any, tmp_path: Path
) -> None:
    done.archives["f1"] = done.zipped({"log.txt": "first\n", "old.txt": "first\n"})
    client.download("f1", tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "log.txt").write_text("annotated")
    done.rows["f1"]["Completed"] = "2026-02-02T02:00:00Z"
    done.archives["f1"] = done.zipped({"log.txt": "second\n"})
    again = client.download("f1", tmp_path)
    assert "NAME.changed; 1 file of an earlier download removed." in again.message
    assert again.fetched
    assert (tmp_path / "log.txt.changed").read_text() == "annotated"
    assert all_files(tmp_path) == [
        "f1.manifest.json",
        "f1.zip",
        "log.txt",
        "log.txt.changed",
        "notes.txt",
        "ro-crate-metadata.json",
    ]
    assert (tmp_path / "log.txt").read_text() == "second\n"
    done.rows["f1"] |= {"Created": "2026-02-03T01:00:00Z", "Completed": "2026-02-03T02:00:00Z"}
    assert client.download("f1", tmp_path).message == (
        f"The results (1 file) were downloaded to {tmp_path}; they replace those of an earlier f1."
    )


def test_files_of_jobs_that_were_deleted_on_the_service_are_kept(
    client: JobsClient, pipeline: Any, tmp_path: Path
) -> None:
    def run(number: int, *files: str) -> Results:
        pipeline.rows["p1"]["Completed"] = f"2026-02-0{number}T02:00:00Z"
        pipeline.archives["p1"] = pipeline.zipped(dict.fromkeys(files, str(number)))
        return client.download("p1", tmp_path)

    run(1, "a/new.txt", "a/old.txt", "b/log.txt")
    again = run(2, "a/new.txt")
    assert "; 1 file of an earlier download removed; 1 file of jobs without" in again.message
    assert all_files(tmp_path)[:2] == ["a/new.txt", "b/log.txt"]
    assert not client.download("p1", tmp_path).fetched
    with pytest.raises(ConflictError, match=r"b/log\.txt already exists"):
        run(3, "a/new.txt", "b/log.txt")


def test_files_of_the_user_are_not_overwritten(
    client: JobsClient, done: Any, tmp_path: Path
) -> None:
    (tmp_path / "log.txt").write_text("mine")
    with pytest.raises(ConflictError, match=r"log\.txt already exists"):
        client.download("f1", tmp_path)
    assert all_files(tmp_path) == ["log.txt"]
    assert not list(tmp_path.glob(".labext*"))
    (tmp_path / "log.txt").write_text("done\n")
    assert client.download("f1", tmp_path).fetched


def test_symbolic_link_in_the_folder_is_not_followed(
    client: JobsClient, split: Any, tmp_path: Path
) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "out"
    outside.mkdir()
    folder.mkdir()
    (folder / "x").symlink_to(outside)
    with pytest.raises(ConflictError):
        client.download("b", folder)
    assert not all_files(outside)


def test_symbolic_link_in_place_of_the_staging_folder_is_not_followed(
    client: JobsClient, done: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labext.jobs.results.results._stage_key", lambda _: "key")
    home, folder = tmp_path / "home", tmp_path / "shared"
    (home / "files").mkdir(parents=True)
    (home / "files" / "thesis.txt").write_text("mine")
    folder.mkdir()
    (folder / "log.txt").write_text("an earlier file")
    (folder / ".labext-f1.key").symlink_to(home)
    with pytest.raises(ConflictError, match=r"labext-f1\.key already exists"):
        client.download("f1", folder)
    assert all_files(home) == ["files/thesis.txt"]


def test_download_as_archive(client: JobsClient, done: Any, tmp_path: Path) -> None:
    target = tmp_path / "new" / "f.zip"
    assert client.download("f1", target).path == target
    assert all_files(tmp_path) == ["new/f.zip"]
    assert target.read_bytes() == done.archives["f1"]
    assert not client.download("f1", target).fetched
    target.write_bytes(b"damaged")
    assert "1 changed file kept as NAME.changed" in client.download("f1", target).message
    assert target.with_name(f"{target.name}.changed").read_bytes() == b"damaged"
    (tmp_path / "thesis.zip").write_bytes(b"PK my thesis")
    with pytest.raises(ConflictError):
        client.download("f1", tmp_path / "thesis.zip")


def test_download_of_one_file_or_structures(client: JobsClient, done: Any, tmp_path: Path) -> None:
    downloaded = client.download("f1", tmp_path, file="rank_1.pdb")
    assert downloaded.path == tmp_path / "rank_1.pdb"
    assert downloaded.path.read_text() == "ATOM f1\n"
    assert done.bodies("result")[-1] == {"jobName": "f1", "fileName": "rank_1.pdb"}
    named = client.download("f1", tmp_path / "mine.pdb", file="rank_1.pdb", email="a@b.org")
    assert named.path == tmp_path / "mine.pdb"
    assert done.bodies("result")[-1]["jobEmail"] == "a@b.org"
    assert (
        client.download("f1", tmp_path / "T_37.5", file="rank_1.pdb").path.parent.name == "T_37.5"
    )
    structures = client.download("f1", tmp_path / "s", pdbs_only=True)
    assert done.bodies("result")[-1] == {"jobName": "f1", "pdbsOnly": True}
    assert structures.archive == tmp_path / "s" / "f1-pdbs.zip"
    with pytest.raises(InputError):
        client.download("f1", tmp_path, file="x", pdbs_only=True)


@pytest.mark.parametrize(
    "form",
    [
        lambda url: url,
        lambda url: f'"{url}"',
        lambda url: f" '{url}'\n",
        lambda url: f'{{"url": "{url}"}}',
    ],
)
def test_result_url_formats(client: JobsClient, done: Any, tmp_path: Path, form: Any) -> None:
    done.as_url = form
    assert client.download("f1", tmp_path).fetched


@pytest.mark.parametrize("answer", ["", "soon", '{"half"', "file:///etc/passwd", '{"url": 5}'])
def test_invalid_result_url_is_a_service_error(
    client: JobsClient, done: Any, tmp_path: Path, answer: str
) -> None:
    done.as_url = lambda url: answer
    with pytest.raises(ServiceError, match="no download address for the results of f1"):
        client.download("f1", tmp_path / "out")


def test_results_of_unfinished_unknown_and_failed_jobs(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    ledger.add("fold1")
    with pytest.raises(NotReadyError, match="Status: In Queue"):
        client.download("fold1", tmp_path / "out")
    with pytest.raises(NotFoundError, match='did you mean "fold1"'):
        client.download("fold2", tmp_path / "out")
    ledger.add_batch("b", {"x": {}})
    with pytest.raises(NotReadyError, match=r"b is not complete\. Status: Running"):
        client.download("b", tmp_path / "out")
    ledger.rows["b"].update(batchStatus="AggregationFailed", AggregationError="over quota")
    with pytest.raises(JobFailedError, match="over quota"):
        client.download("b", tmp_path / "out")
    assert not all_files(tmp_path)


def test_failed_download_leaves_no_empty_folder(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    ledger.add("fold1")
    (tmp_path / "mine").mkdir()
    for folder in ("out/of/many", "mine", "mine/new"):
        with pytest.raises(NotReadyError):
            client.download("fold1", tmp_path / folder)
    assert [path.name for path in tmp_path.rglob("*")] == ["mine"]


def test_stopped_job_without_results_is_an_error(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    ledger.add("f1", Reason="Stopped by hand.")
    ledger.rows["f1"]["JobStatus"] = "Stopped"
    ledger.add_batch("b", {"x": {}})
    ledger.rows["b"]["batchStatus"] = "Stopped"
    for name, message in (
        ("f1", r"f1 has no results: its status is Stopped \(Stopped by hand\)\. .*jobs\.show"),
        ("b", r"b has no results: its status is Stopped, and none of its jobs .*batch=\"b\""),
    ):
        words = f"Job {name} is not complete. Status: Stopped"
        for act in (
            lambda name=name: client.download(name, tmp_path / "out"),
            lambda name=name: client.result_files(name),
            lambda name=name: client.read_result(name, "log.txt"),
        ):
            ledger.fail("result", ledger.answer(400, {"error": words}))
            with pytest.raises(JobFailedError, match=message):
                act()


def test_expired_result_url_is_requested_again(
    client: JobsClient, done: Any, tmp_path: Path
) -> None:
    done.fail("download", done.answer(403, "<Error>Request has expired</Error>"))
    assert client.download("f1", tmp_path).fetched
    assert done.count("result") == 2


@pytest.mark.parametrize("name", ["../evil.txt", "f1.manifest.json"])
def test_unsafe_archive_is_not_unpacked(
    client: JobsClient, done: Any, tmp_path: Path, name: str
) -> None:
    done.archives["f1"] = done.zipped({"good.txt": "good", name: "{}"})
    with pytest.raises(ArchiveError) as raised:
        client.download("f1", tmp_path / "in" / "out")
    assert "\n" not in str(raised.value)
    assert not all_files(tmp_path)


def test_unwritable_folder_is_a_storage_error(
    client: JobsClient, done: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError):
        client.download("f1", tmp_path / "file")
    with pytest.raises(StorageError):
        client.download("f1", tmp_path / "file" / "out")
    full = SimpleNamespace(total=1000, used=1000, free=5)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    with pytest.raises(StorageError, match=r"disk is full|are free"):
        client.download("f1", tmp_path / "out")
    assert all_files(tmp_path) == ["file"]


def test_results_of_a_split_batch_are_one_archive(
    client: JobsClient, split: Any, tmp_path: Path
) -> None:
    split.archives["b-part2of2"] = split.zipped(
        {
            "b-part2of2-zzz/log.txt": "zzz\n",
            "metrics.csv": "job,energy\nb-part2of2-zzz,-1.5\n",
            "notes.txt": "part two\n",
        }
    )
    downloaded = client.download("b", tmp_path / "b")
    assert all_files(tmp_path / "b") == [
        "b.manifest.json",
        "b.zip",
        "metrics.csv",
        "part2of2/notes.txt",
        "ro-crate-metadata.json",
        "x/log.txt",
        "yy/log.txt",
        "zzz/log.txt",
    ]
    assert (tmp_path / "b" / "metrics.csv").read_text() == (
        "job,score,energy\nx,1,\nyy,2,\nzzz,,-1.5\n"
    )
    with zipfile.ZipFile(downloaded.archive or "") as archive:
        assert sorted(archive.namelist()) == [
            name for name in all_files(tmp_path / "b") if not name.startswith(("b.", "ro-crate"))
        ]
    assert not client.download("b", tmp_path / "b").fetched
    assert split.count("download") == 2
    assert client.download("b", tmp_path / "b.zip").fetched
    (tmp_path / "one").mkdir()
    client.download("b", tmp_path / "one", file="metrics.csv")
    assert split.bodies("result")[-1] == {"jobName": "b-part2of2", "fileName": "metrics.csv"}
    client.download("b", tmp_path / "one", file="zzz/log.txt")
    assert split.bodies("result")[-2]["fileName"] == "zzz/log.txt"
    assert (tmp_path / "one" / "log.txt").read_text() == "zzz\n"
    with pytest.raises(InputError, match=r"b has no file .nobody/log\.txt"):
        client.download("b", tmp_path / "two", file="nobody/log.txt")


def test_metrics_are_in_input_order(client: JobsClient, ledger: Any, tmp_path: Path) -> None:
    client.submit_batch("b", "fold", {f"j{n}": {"sequence": "A"} for n in range(12)})
    for part in ("b-part1of2", "b-part2of2"):
        ledger.members[part].reverse()  # as if the archive were written in another order
        ledger.complete(part)
        ledger.members[part].reverse()
    client.download("b", tmp_path)
    with (tmp_path / "metrics.csv").open() as lines:
        assert [row["job"] for row in csv.DictReader(lines)] == [f"j{n}" for n in range(12)]


def test_downloaded_parts_are_kept_after_an_error(
    client: JobsClient, split: Any, tmp_path: Path
) -> None:
    split.fail("download", None, *[split.answer(500, "disk on fire")] * 5)
    with pytest.raises(ServiceError, match="disk on fire"):
        client.download("b", tmp_path)
    assert [name for name in all_files(tmp_path) if not name.startswith(".labext-b.")] == []
    split.received.clear()
    assert client.download("b", tmp_path).fetched
    assert split.count("download") == 1
    assert not list(tmp_path.glob(".labext*"))


def test_interrupt_while_unpacking_keeps_the_archive(
    client: JobsClient, done: Any, tmp_path: Path
) -> None:
    def interrupt(phase: str) -> None:
        if phase == "Unpacking":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        client.download("f1", tmp_path, on_phase=interrupt)
    assert client.download("f1", tmp_path).fetched
    assert done.count("download") == 1
    assert not list(tmp_path.glob(".labext*"))


def test_download_reports_bytes_and_phases(client: JobsClient, done: Any, tmp_path: Path) -> None:
    events: list[Any] = []
    client.download(
        "f1", tmp_path, on_bytes=lambda *now: events.append(now), on_phase=events.append
    )
    size = len(done.archives["f1"])
    first, second = len("ATOM f1\n"), len("done\n")
    whole = first + second
    assert events == ["Fetching", (size, size), "Unpacking", (first, whole), (whole, whole)]
    events.clear()
    client.download(
        "f1", tmp_path, on_bytes=lambda *now: events.append(now), on_phase=events.append
    )
    assert events == ["Fetching"]


def test_progress_of_a_split_batch_is_cumulative(
    client: JobsClient, split: Any, tmp_path: Path
) -> None:
    events: list[Any] = []
    client.download("b", tmp_path, on_bytes=lambda *now: events.append(now), on_phase=events.append)
    first, two = (len(split.archives[f"b-part{n}of2"]) for n in (1, 2))
    until = events.index("Merging")
    assert events[:until] == [
        "Fetching",
        "Fetching part 1 of 2",
        (first, None),
        "Fetching part 2 of 2",
        (first + two, first + two),
    ]
    assert events[-1] == (events[-1][1], events[-1][1]), "all files are unpacked"
    assert events.index("Unpacking") > until


def test_result_file_is_read_without_being_saved(
    client: JobsClient, done: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert client.read_result("f1", "rank_1.pdb") == b"ATOM f1\n"
    assert all_files(tmp_path) == []
    with pytest.raises(NotFoundError):
        client.read_result("f1", "absent.pdb")
    with pytest.raises(NotFoundError):
        client.read_result("unknown", "rank_1.pdb")


def test_result_files_of_a_split_batch_are_listed_and_read_like_those_of_its_archive(
    client: JobsClient, split: Any, tmp_path: Path
) -> None:
    files = client.result_files("b")
    assert set(files) == set(client.download("b", tmp_path / "r").files["file"])
    for file in ("metrics.csv", next(name for name in files if "/" in name)):
        assert client.read_result("b", file) == (tmp_path / "r" / file).read_bytes()
    split.not_served["job-outputs"] = split.answer(404, "")
    assert set(client.outputs("b")["file"]) == set(files)
    assert archives.merge_sizes({"b-part1of2": {}, "b-part2of2": {"rank_1.pdb": 9}}) == {}


def test_name_of_a_split_batch_is_taken_for_jobs_and_pipelines(
    client: JobsClient, ledger: Any
) -> None:
    client.submit_batch("b", "fold", {f"j{number}": {"sequence": "A"} for number in range(11)})
    stages = [{"task": "fold", "toolSettings": {"fold": {"sequence": "pipe"}}}]
    for submit in (
        lambda: client.submit("b", "fold", {"sequence": "A"}),
        lambda: client.validate("fold", {"sequence": "A"}, "b"),
        lambda: client.submit_pipeline("b", stages, ["A"]),
        lambda: client.check_pipeline("b", stages, ["A"]),
    ):
        with pytest.raises(ConflictError, match=r"b already exists .* it is a batch of \d+ jobs"):
            submit()
    assert "b" not in ledger.rows
    client.delete("b")
    assert client.submit("b", "fold", {"sequence": "A"}).created
