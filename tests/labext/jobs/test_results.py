"""Results: fetched whole or not at all, never over what is not theirs, never outside the folder."""

from __future__ import annotations

import csv
import io
import shutil
import stat
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from labext.errors import (
    ArchiveError,
    ConflictError,
    InputError,
    JobFailedError,
    LabextError,
    NotFoundError,
    NotReadyError,
    ServiceError,
    StorageError,
)
from labext.jobs import JobsClient

pytestmark = pytest.mark.faults


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def done(ledger: Any) -> Any:
    """The service with one complete job, f1."""
    ledger.add("f1", settings={"sequence": "A"})
    ledger.complete("f1")
    return ledger


@pytest.fixture
def split(ledger: Any) -> Any:
    """The service with one complete batch in two parts, b."""
    for number, jobs in ((1, {"x": {}, "yy": {}}), (2, {"zzz": {}})):
        ledger.add_batch(f"b-part{number}of2", jobs)
        ledger.complete(f"b-part{number}of2")
    return ledger


def test_results_are_kept_and_not_fetched_again(
    client: JobsClient, done: Any, tmp_path: Path
) -> None:
    first = client.download("f1", tmp_path / "out")
    assert first.fetched
    assert everything(tmp_path / "out") == [
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


def test_a_damaged_file_is_mended_from_the_archive(
    client: JobsClient, done: Any, tmp_path: Path
) -> None:
    client.download("f1", tmp_path)
    (tmp_path / "rank_1.pdb").write_text("cut")
    (tmp_path / "log.txt").unlink()
    assert "mended" in client.download("f1", tmp_path).message
    assert (tmp_path / "rank_1.pdb").read_text() == "ATOM f1\n"
    assert done.count("download") == 1
    (tmp_path / "f1.zip").write_bytes(b"PK")
    assert client.download("f1", tmp_path).fetched
    assert done.count("download") == 2


def test_another_run_of_the_job_replaces_the_results(
    client: JobsClient, done: Any, tmp_path: Path
) -> None:
    client.download("f1", tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    done.rows["f1"]["Completed"] = "2026-02-02T02:00:00Z"
    done.archives["f1"] = done.zipped({"log.txt": "second\n"})
    assert client.download("f1", tmp_path).fetched
    assert everything(tmp_path) == [
        "f1.manifest.json",
        "f1.zip",
        "log.txt",
        "notes.txt",
        "ro-crate-metadata.json",
    ]
    assert (tmp_path / "log.txt").read_text() == "second\n"


def test_nothing_that_is_not_theirs_is_overwritten(
    client: JobsClient, done: Any, tmp_path: Path
) -> None:
    (tmp_path / "log.txt").write_text("mine")
    with pytest.raises(ConflictError, match=r"log\.txt is there already"):
        client.download("f1", tmp_path)
    assert everything(tmp_path) == ["log.txt"]
    assert not list(tmp_path.glob(".labext*"))
    (tmp_path / "log.txt").write_text("done\n")
    assert client.download("f1", tmp_path).fetched


def test_a_link_in_the_folder_is_not_followed(
    client: JobsClient, split: Any, tmp_path: Path
) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "out"
    outside.mkdir()
    folder.mkdir()
    (folder / "x").symlink_to(outside)
    with pytest.raises(ConflictError):
        client.download("b", folder)
    assert not everything(outside)


def test_the_archive_alone(client: JobsClient, done: Any, tmp_path: Path) -> None:
    target = tmp_path / "new" / "f.zip"
    assert client.download("f1", target).path == target
    assert everything(tmp_path) == ["new/f.zip"]
    assert target.read_bytes() == done.archives["f1"]
    assert not client.download("f1", target).fetched
    target.write_bytes(b"damaged")
    assert client.download("f1", target).fetched
    (tmp_path / "thesis.zip").write_bytes(b"PK my thesis")
    with pytest.raises(ConflictError):
        client.download("f1", tmp_path / "thesis.zip")


def test_one_file_and_structures_only(client: JobsClient, done: Any, tmp_path: Path) -> None:
    one = client.download("f1", tmp_path, file="rank_1.pdb")
    assert one.path == tmp_path / "rank_1.pdb"
    assert one.path.read_text() == "ATOM f1\n"
    assert done.bodies("result")[-1] == {"jobName": "f1", "fileName": "rank_1.pdb"}
    named = client.download("f1", tmp_path / "mine.pdb", file="rank_1.pdb", email="a@b.org")
    assert named.path == tmp_path / "mine.pdb"
    assert done.bodies("result")[-1]["jobEmail"] == "a@b.org"
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
def test_the_address_in_every_form(
    client: JobsClient, done: Any, tmp_path: Path, form: Any
) -> None:
    done.as_url = form
    assert client.download("f1", tmp_path).fetched


@pytest.mark.parametrize("answer", ["", "soon", '{"half"', "file:///etc/passwd", '{"url": 5}'])
def test_an_address_that_is_none(
    client: JobsClient, done: Any, tmp_path: Path, answer: str
) -> None:
    done.as_url = lambda url: answer
    with pytest.raises(ServiceError, match="no address for the results of f1"):
        client.download("f1", tmp_path / "out")


def test_too_early_and_unknown(client: JobsClient, ledger: Any, tmp_path: Path) -> None:
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
    assert not everything(tmp_path)


def test_no_empty_folder_is_left_where_nothing_came(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    ledger.add("fold1")
    (tmp_path / "mine").mkdir()
    for folder in ("out/of/many", "mine", "mine/new"):
        with pytest.raises(NotReadyError):
            client.download("fold1", tmp_path / folder)
    assert [path.name for path in tmp_path.rglob("*")] == ["mine"]


def test_what_was_stopped_is_not_waited_for(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    ledger.add("f1", Reason="Stopped by hand.")
    ledger.rows["f1"]["JobStatus"] = "Stopped"
    ledger.add_batch("b", {"x": {}})
    ledger.rows["b"]["batchStatus"] = "Stopped"
    for name, said in (
        ("f1", r"f1 has no results: it ended as Stopped \(Stopped by hand\)\. .*jobs\.show"),
        ("b", r"b has no results: it ended as Stopped, and none of its jobs .*batch=\"b\""),
    ):
        words = f"Job {name} is not complete. Status: Stopped"
        ledger.fail("result", ledger.answer(400, {"error": words}))
        with pytest.raises(JobFailedError, match=said):
            client.download(name, tmp_path / "out")


def test_an_expired_address_is_asked_for_anew(
    client: JobsClient, done: Any, tmp_path: Path
) -> None:
    done.fail("download", done.answer(403, "<Error>Request has expired</Error>"))
    assert client.download("f1", tmp_path).fetched
    assert done.count("result") == 2
    done.rows["f1"]["Completed"] = "later"
    done.fail("download", *[done.answer(403, "Request has expired")] * 9)
    with pytest.raises(LabextError) as raised:
        client.download("f1", tmp_path)
    assert "abcdef0123456789" not in str(raised.value)


def test_a_download_that_is_cut_is_taken_up(client: JobsClient, done: Any, tmp_path: Path) -> None:
    whole = done.archives["f1"]
    half = len(whole) // 2
    tag = {"ETag": '"one"', "Accept-Ranges": "bytes"}
    done.fail(
        "download",
        done.answer(body=whole[:half], headers={"Content-Length": str(len(whole)), **tag}),
        done.answer(
            206,
            whole[half:],
            headers={"Content-Range": f"bytes {half}-{len(whole) - 1}/{len(whole)}", **tag},
        ),
    )
    assert client.download("f1", tmp_path).fetched
    assert (tmp_path / "f1.zip").read_bytes() == whole


def test_a_web_page_in_place_of_the_archive(client: JobsClient, done: Any, tmp_path: Path) -> None:
    done.fail("download", *[done.html()] * 9)
    with pytest.raises(ServiceError, match="Welcome to the hotel"):
        client.download("f1", tmp_path)
    assert not everything(tmp_path)


def link(archive: zipfile.ZipFile, name: str, target: str) -> None:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive.writestr(info, target)


EVIL = {
    "parent": lambda a: a.writestr("../evil.txt", "x"),
    "deep parent": lambda a: a.writestr("a/b/../../../evil.txt", "x"),
    "absolute": lambda a: a.writestr("/tmp/evil.txt", "x"),
    "drive": lambda a: a.writestr("C:evil.txt", "x"),
    "windows": lambda a: a.writestr("..\\evil.txt", "x"),
    "link": lambda a: link(a, "x", "/etc"),
    "case": lambda a: [a.writestr("log.txt", "1"), a.writestr("LOG.txt", "2")],
    "file and folder": lambda a: [a.writestr("x", "1"), a.writestr("x/y", "2")],
    "control": lambda a: a.writestr("a\nb.txt", "1"),
    "bomb": lambda a: a.writestr("zeros", bytes(300 * 1024 * 1024)),
    "own name": lambda a: a.writestr("f1.manifest.json", "{}"),
}


@pytest.mark.parametrize("how", EVIL)
def test_an_archive_that_is_not_safe(
    client: JobsClient, done: Any, tmp_path: Path, how: str
) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("good.txt", "good")
        EVIL[how](archive)
    done.archives["f1"] = out.getvalue()
    with pytest.raises(ArchiveError) as raised:
        client.download("f1", tmp_path / "in" / "out")
    assert "\n" not in str(raised.value)
    assert not everything(tmp_path)


@pytest.mark.parametrize("damage", ["cut", "flipped", "no zip", "empty"])
def test_a_damaged_archive(client: JobsClient, done: Any, tmp_path: Path, damage: str) -> None:
    whole = bytearray(done.archives["f1"])
    if damage == "flipped":
        whole[40] ^= 0xFF
    done.archives["f1"] = {
        "cut": bytes(whole[:-30]),
        "flipped": bytes(whole),
        "no zip": b"hello",
        "empty": b"",
    }[damage]
    with pytest.raises(ArchiveError, match="damaged"):
        client.download("f1", tmp_path)
    assert not everything(tmp_path)


def test_folders_that_cannot_be_written(
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
    assert everything(tmp_path) == ["file"]


def test_a_split_batch_is_one_archive(client: JobsClient, split: Any, tmp_path: Path) -> None:
    split.archives["b-part2of2"] = split.zipped(
        {
            "b-part2of2-zzz/log.txt": "zzz\n",
            "metrics.csv": "job,energy\nb-part2of2-zzz,-1.5\n",
            "notes.txt": "part two\n",
        }
    )
    got = client.download("b", tmp_path / "b")
    assert everything(tmp_path / "b") == [
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
    with zipfile.ZipFile(got.archive or "") as archive:
        assert sorted(archive.namelist()) == [
            name for name in everything(tmp_path / "b") if not name.startswith(("b.", "ro-crate"))
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
        client.download("b", tmp_path / "one", file="nobody/log.txt")


def test_metrics_come_in_the_inputs_order(client: JobsClient, ledger: Any, tmp_path: Path) -> None:
    client.submit_batch("b", "fold", {f"j{n}": {"sequence": "A"} for n in range(120)})
    for part in ("b-part1of2", "b-part2of2"):
        ledger.members[part].reverse()  # as an archive that was written in another order
        ledger.complete(part)
        ledger.members[part].reverse()
    client.download("b", tmp_path)
    with (tmp_path / "metrics.csv").open() as lines:
        assert [row["job"] for row in csv.DictReader(lines)] == [f"j{n}" for n in range(120)]


def test_what_was_whole_before_a_break_is_not_fetched_again(
    client: JobsClient, split: Any, tmp_path: Path
) -> None:
    split.fail("download", None, *[split.answer(500, "disk on fire")] * 5)
    with pytest.raises(ServiceError, match="disk on fire"):
        client.download("b", tmp_path)
    assert [name for name in everything(tmp_path) if not name.startswith(".labext-b.")] == []
    split.received.clear()
    assert client.download("b", tmp_path).fetched
    assert split.count("download") == 1
    assert not list(tmp_path.glob(".labext*"))


def test_an_interrupt_while_unpacking_leaves_nothing_to_fetch_again(
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


def test_bytes_and_phases_are_told(client: JobsClient, done: Any, tmp_path: Path) -> None:
    told: list[Any] = []
    client.download("f1", tmp_path, on_bytes=lambda *now: told.append(now), on_phase=told.append)
    size = len(done.archives["f1"])
    first, second = len("ATOM f1\n"), len("done\n")
    whole = first + second
    assert told == ["Fetching", (size, size), "Unpacking", (first, whole), (whole, whole)]
    told.clear()
    client.download("f1", tmp_path, on_bytes=lambda *now: told.append(now), on_phase=told.append)
    assert told == ["Fetching"]


def test_the_bytes_of_a_split_batch_are_told_as_one(
    client: JobsClient, split: Any, tmp_path: Path
) -> None:
    told: list[Any] = []
    client.download("b", tmp_path, on_bytes=lambda *now: told.append(now), on_phase=told.append)
    one, two = (len(split.archives[f"b-part{n}of2"]) for n in (1, 2))
    until = told.index("Merging")
    assert told[:until] == [
        "Fetching",
        "Fetching part 1 of 2",
        (one, None),
        "Fetching part 2 of 2",
        (one + two, one + two),
    ]
    assert told[-1] == (told[-1][1], told[-1][1]), "all is unpacked"
    assert told.index("Unpacking") > until


def test_a_part_without_results_is_left_out_and_named(
    client: JobsClient, split: Any, tmp_path: Path
) -> None:
    split.rows["b-part1of2"]["batchStatus"] = "Stopped"
    del split.archives["b-part1of2"]
    for job in ("x", "yy"):
        split.rows[f"b-part1of2-{job}"].update(JobStatus="Stopped", Reason="Out of time.")
    got = client.download("b", tmp_path)
    assert got.message.endswith("2 of 3 jobs did not complete: x, yy (Out of time).")
    assert (tmp_path / "zzz" / "log.txt").exists()
    assert not (tmp_path / "x").exists()
    again = client.download("b", tmp_path)
    assert not again.fetched
    assert again.message.endswith("2 of 3 jobs did not complete: x, yy (Out of time).")


@pytest.fixture(params=["batch", "pipeline"])
def partial(request: pytest.FixtureRequest, ledger: Any) -> Any:
    """A batch or a pipeline, p, that ended without an archive: two jobs of four are complete."""
    jobs = ["a", "b", "c", "d"]
    if request.param == "batch":
        ledger.add_batch("p", {job: {} for job in jobs})
        ledger.rows["p"]["batchStatus"] = "Stopped"
    else:
        ledger.add("p", "pipeline", {"initialInputs": ["ACG"], "stages": []})
        ledger.members["p"] = [f"p-{job}" for job in jobs]
        for job in jobs:
            ledger.add(f"p-{job}", "fold")
    ledger.rows["p"].update(JobStatus="Stopped", Reason="The budget is used up.")
    for number, job in enumerate(("a", "c"), 1):
        ledger.complete(f"p-{job}", results={"log.txt": f"{job}\n", "rank_1.pdb": f"{job}"})
        ledger.rows[f"p-{job}"]["Score"] = f'{{"energy": -{number}.5}}'
    for job, reason in (("b", "Out of budget."), ("d", "It broke.")):
        ledger.rows[f"p-{job}"].update(JobStatus="Stopped", Reason=reason)
    return ledger


LEFT_OUT = "2 of 4 jobs did not complete: b (Out of budget); d (It broke)."


def test_results_of_what_completed_come_out_with_the_failures_named(
    client: JobsClient, partial: Any, tmp_path: Path
) -> None:
    got = client.download("p", tmp_path)
    assert got.message.endswith(LEFT_OUT)
    assert sorted(got.files["file"]) == [
        "a/log.txt",
        "a/rank_1.pdb",
        "c/log.txt",
        "c/rank_1.pdb",
        "metrics.csv",
    ]
    assert (tmp_path / "c" / "log.txt").read_text() == "c\n"
    assert (tmp_path / "metrics.csv").read_text() == (
        "job,status,energy\na,Complete,-1.5\nb,Stopped,\nc,Complete,-2.5\nd,Stopped,\n"
    )
    frame = got.frame()
    assert frame["Name"].tolist() == ["a", "b", "c", "d"]
    assert frame["Reason"].tolist()[1] == "Out of budget."
    asked = [body["jobName"] for body in partial.bodies("result")]
    assert asked == ["p", "p-a", "p-c"], "of the complete jobs alone"
    again = client.download("p", tmp_path)
    assert not again.fetched
    assert again.message.endswith(LEFT_OUT)
    assert partial.count("download") == 2


def test_results_are_fetched_again_when_another_job_has_completed(
    client: JobsClient, partial: Any, tmp_path: Path
) -> None:
    client.download("p", tmp_path)
    partial.complete("p-b", results={"log.txt": "b\n"})
    again = client.download("p", tmp_path)
    assert again.fetched
    assert (tmp_path / "b" / "log.txt").read_text() == "b\n"
    assert again.message.endswith("1 of 4 jobs did not complete: d (It broke).")


def test_one_file_or_the_structures_of_what_completed(
    client: JobsClient, partial: Any, tmp_path: Path
) -> None:
    got = client.download("p", tmp_path / "all.zip")
    assert got.message.endswith(LEFT_OUT)
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        assert "metrics.csv" in archive.namelist()
        assert archive.read("a/log.txt") == b"a\n"
    client.download("p", tmp_path / "one.txt", file="c/log.txt")
    assert (tmp_path / "one.txt").read_text() == "c\n"
    client.download("p", tmp_path / "m.csv", file="metrics.csv")
    assert (tmp_path / "m.csv").read_text().startswith("job,status,energy\na,Complete,-1.5\n")
    structures = client.download("p", tmp_path / "pdbs", pdbs_only=True)
    assert "metrics.csv" not in structures.files["file"].tolist()
    with pytest.raises(InputError, match="has no file"):
        client.download("p", tmp_path / "no.txt", file="nobody/log.txt")


def test_a_batch_that_could_not_be_aggregated_gives_its_jobs_results(
    client: JobsClient, ledger: Any, tmp_path: Path
) -> None:
    ledger.add_batch("p", {"a": {}, "b": {}})
    for job in ("a", "b"):
        ledger.complete(f"p-{job}")
    ledger.rows["p"].update(batchStatus="AggregationFailed", AggregationError="over quota")
    got = client.download("p", tmp_path)
    assert {"a/log.txt", "b/log.txt", "metrics.csv"} <= set(got.files["file"])
    assert got.message.endswith(f"were fetched to {tmp_path}.")
    assert ledger.bodies("result")[0] == {"jobName": "p-a"}, "it has no archive to ask for"


def test_a_stopped_batch_with_an_archive_gives_that(
    client: JobsClient, partial: Any, tmp_path: Path
) -> None:
    partial.archives["p"] = partial.zipped({"a/log.txt": "from the archive", "metrics.csv": "job"})
    got = client.download("p", tmp_path)
    assert (tmp_path / "a" / "log.txt").read_text() == "from the archive"
    assert got.message.endswith(LEFT_OUT)
    assert partial.count("download") == 1


def test_a_part_that_was_stopped_gives_its_complete_jobs(
    client: JobsClient, split: Any, tmp_path: Path
) -> None:
    split.rows["b-part1of2"]["batchStatus"] = "Stopped"
    del split.archives["b-part1of2"]
    split.complete("b-part1of2-x", results={"log.txt": "x alone\n"})
    split.rows["b-part1of2-yy"].update(JobStatus="Stopped", Reason="Out of time.")
    got = client.download("b", tmp_path)
    assert got.message.endswith("1 of 3 jobs did not complete: yy (Out of time).")
    assert (tmp_path / "x" / "log.txt").read_text() == "x alone\n"
    assert (tmp_path / "zzz" / "log.txt").exists()
    with (tmp_path / "metrics.csv").open() as file:
        assert [row["job"] for row in csv.DictReader(file)] == ["x", "yy", "zzz"]


def test_what_was_fetched_of_a_partial_result_is_not_fetched_again_after_an_interrupt(
    client: JobsClient, partial: Any, tmp_path: Path
) -> None:
    partial.fail("result", None, None, partial.answer(403, "too many requests"))
    with pytest.raises(LabextError, match="too many"):
        client.download("p", tmp_path)
    assert partial.count("download") == 1
    client.download("p", tmp_path)
    assert partial.count("download") == 2


def test_stopping_and_deleting_a_split_batch(client: JobsClient, split: Any) -> None:
    assert client.stop("b") == "b: b-part1of2 stopped, 1 more part likewise."
    assert [body["jobName"] for body in split.bodies("stop-job")] == ["b-part1of2", "b-part2of2"]
    assert "deleted" in client.delete("b")
    assert not split.rows
    with pytest.raises(NotFoundError):
        client.delete("b")
    split.add("single")
    split.fail("delete-job", split.lost_after())
    client.delete("single")
    assert split.count("delete-job") == 4


def test_uploads(client: JobsClient, ledger: Any, tmp_path: Path) -> None:
    path = tmp_path / "my file é.pdb"
    path.write_bytes(b"ATOM" * 1000)
    ledger.fail("upload", ledger.lost_before())
    assert client.upload(path, folder="set").name == "my file é.pdb"
    assert ledger.bodies("upload") == [path.read_bytes()] * 2
    assert ledger.received[-1][1] == {"folder": "set", "name": "my file é.pdb"}
    with pytest.raises(InputError, match="did you mean"):
        client.upload(tmp_path / "my file e.pdb")
    with pytest.raises(InputError, match="is a folder"):
        client.upload(tmp_path)
    with pytest.raises(InputError):
        client.delete_file()
    with pytest.raises(InputError):
        client.delete_file("a", "b")
