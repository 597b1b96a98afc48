"""`%lab` sequences, show, export and status on a real platform, and their completion."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import Run, assert_completions, complete

from labext.errors import ConflictError, NotFoundError
from labext.lab import files
from labext.lab.sequences import listing
from labext.sandbox import Sandbox
from labext_widgets import ListProgress

pytestmark = pytest.mark.contract


@pytest.fixture
def shell(loaded_shell: InteractiveShell) -> InteractiveShell:
    loaded_shell.run_cell("%lab sandbox start").raise_error()
    return loaded_shell


def names(run: Run, options: str) -> set[str]:
    return set(run(f"%lab sequences {options}")["name"])


def test_list_is_a_frame_with_the_requested_columns(run: Run, shell: InteractiveShell) -> None:
    run("seqs = %lab sequences")
    seqs = shell.user_ns["seqs"]
    assert {"pBAD30", "kin1"} <= set(seqs["name"])
    assert {"id", "name", "bases", "annotations", "modifiedAt"} <= set(seqs.columns)
    assert run("%lab sequences --out kept") is None
    assert shell.user_ns["kept"].equals(seqs)
    few = run("%lab sequences --limit 2 --columns name,length")
    assert list(few.columns) == ["name", "length"]
    assert len(few) == 2
    spread = run("%lab sequences --name pBAD30 --spread")
    assert {"fields.Origin", "creator.name"} <= set(spread.columns)


def test_archived_sequence_is_found_by_its_id_and_its_name(run: Run, tmp_path: Path) -> None:
    archived = run("%lab sequences --archive-reason ANY_ARCHIVED").iloc[0]
    for name in (archived["id"], archived["name"]):
        run(f"%lab export '{name}' --to {tmp_path / 'archived.gb'}")
        (record,) = files.read(tmp_path / "archived.gb")
        assert (record["id"], record["archiveRecord"]) == (archived["id"], archived.archiveRecord)


def test_list_of_several_pages_shows_its_progress(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[tuple[int, int | None]] = []
    count = len(run("%lab sequences"))
    monkeypatch.setattr(ListProgress, "items", lambda _, *numbers: reports.append(numbers))
    run("%lab sequences")
    assert reports == []
    monkeypatch.setattr(listing, "PAGE_SIZE", 20)
    run("%lab sequences")
    assert reports == [(20 * page, count) for page in range(1, -(-count // 20))]


def test_every_filter_is_passed_to_the_client(run: Run) -> None:
    every = run("%lab sequences").set_index("name")
    plasmid = every.loc["pBAD30"]
    genes = {"cor6.6", "kin2", "kin1", "csp14", "kin", "BN28a"}
    genes &= set(every.index)
    assert names(run, "--name pBAD30") == {"pBAD30"}
    assert names(run, "--name-includes kan") == set(every.index[every.index.str.contains("kan")])
    assert names(run, "--names kin1,kin2") == {"kin1", "kin2"}
    assert names(run, f"--ids {plasmid['id']}") == {"pBAD30"}
    assert names(run, f"--bases {every.loc['kin1', 'bases']}") == {"kin1"}
    assert names(run, f"--folder {plasmid['folderId']} --circular yes") == set(
        every.index[every["isCircular"]]
    )
    assert names(run, "--folder Vectors") == names(run, f"--folder {plasmid['folderId']}")
    assert names(run, "--folder 'cold-regulated GENES'") == genes
    assert names(run, "--circular no --max-length 1000 --min-length 500") == set(
        every.index[~every["isCircular"] & every["length"].between(500, 1000)]
    )
    schema = every.loc["kin1", "schema.id"]
    assert genes <= names(run, f"--schema {schema}") < set(every.index)
    assert names(run, f"--creator {plasmid['creator.id']}") >= {"pBAD30"}
    assert names(run, "--created-at '< 2000-01-01'") == set()
    assert names(run, "--modified-at '> 2000-01-01'") == set(every.index)
    assert names(run, "--modified-at {__import__('datetime').date(2000, 1, 1)}") == set(every.index)
    assert names(run, "--created-at {__import__('pandas').Timestamp(2100, 1, 1)}") == set()
    assert names(run, "--archive-reason 'Made in error'").isdisjoint(every.index)
    ordered = list(run("%lab sequences --sort name:desc --limit 5")["name"])
    assert ordered == sorted(every.index, key=str.casefold, reverse=True)[:5]


def test_ambiguous_folder_lists_the_candidates(run: Run, command: Callable[[str], Any]) -> None:
    lab = command("lab")
    assert len(run("%lab sequences --folder Vectors")) == 3
    lab.output("folders", "add", "Vectors", "--project", "Cold response")
    try:
        with pytest.raises(ConflictError) as caught:
            run("%lab sequences --folder Vectors")
        ids = [row["id"] for row in lab.json("folders", "list") if row["name"] == "Vectors"]
        assert len(ids) == 2
        assert all(f"{record_id} (project src_" in caught.value.message for record_id in ids)
        (counts,) = {len(run(f"%lab sequences --folder {record_id}")) for record_id in ids} - {3}
        assert counts == 0
    finally:
        second = next(
            row["id"]
            for row in lab.json("folders", "list")
            if (row["name"], row["project"]) == ("Vectors", "Cold response")
        )
        lab.output("folders", "remove", second)
    with pytest.raises(NotFoundError, match='did you mean "Vectors"'):
        run("%lab sequences --folder Vektors")


def test_viewer_selection_reaches_python(run: Run, shell: InteractiveShell) -> None:
    run("viewer = %lab show pBAD30 --enzymes EcoRI")
    viewer = shell.user_ns["viewer"]
    assert viewer.record["name"] == "pBAD30"
    assert viewer.selection is None
    by_id = run(f"%lab show {viewer.record['id']}")
    assert by_id.record == viewer.record


def test_export_can_be_repeated(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "%lab export pBAD30 kin1 --format genbank --to out/two.gb"
    capsys.readouterr()
    run(line)
    assert capsys.readouterr().out == "Wrote 2 sequences to out/two.gb.\n"
    run(line)
    assert capsys.readouterr().out == "out/two.gb already contains the same 2 sequences.\n"
    written = files.read(tmp_path / "out" / "two.gb")
    assert [record["name"] for record in written] == ["pBAD30", "kin1"]
    assert len(written[0]["annotations"]) == 13
    run("%lab export kin1 --to out/two.gb --overwrite")
    assert capsys.readouterr().out == "Wrote 1 sequence to out/two.gb.\n"


def test_sequence_named_twice_is_exported_once(
    run: Run, box: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    identifier = run("%lab sequences --name kin1 --columns id")["id"].iloc[0]
    capsys.readouterr()
    run(f"%lab export kin1 {identifier} KIN1 --to one.gb")
    assert capsys.readouterr().out == "Wrote 1 sequence to one.gb.\n"


def test_frame_is_exported(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("seqs = %lab sequences --names pBAD30,kin1,kin2")
    run("%lab export --from seqs --to all.fasta")
    text = (tmp_path / "all.fasta").read_text()
    assert text.count(">") == 3
    assert "labext" not in text
    capsys.readouterr()
    run("%lab export --from {seqs[['name', 'bases']]} --to all.gb")
    assert "annotations, isCircular" in capsys.readouterr().out


def test_status_shows_profile_address_and_user(run: Run, box: Sandbox) -> None:
    status = dict(run("%lab status")["value"])
    assert status["profile"] == "sandbox"
    assert status["address"] == box.lab.base_url
    assert status["sequences"] == f"{len(run('%lab sequences')):,}"
    assert "by API key" in status["signed in as"]


def test_tab_offers_names_columns_and_words(run: Run, shell: InteractiveShell) -> None:
    run("seqs = %lab sequences --limit 3")

    assert_completions(shell, "%lab show pB", "%lab show pBAD30")
    assert_completions(shell, "%lab sequences --folder V", "%lab sequences --folder Vectors")
    assert '%lab show "plasmid pFA6a-kanMX6, cut with EcoRI"' in complete(
        shell, "%lab show plasmid"
    )
    assert complete(shell, "%lab sequences --columns id,na") == ["%lab sequences --columns id,name"]
    assert "%lab sequences --columns id,id" not in complete(shell, "%lab sequences --columns id,i")
    assert complete(shell, "%lab login --method o") == [
        "%lab login --method oauth",
        "%lab login --method oidc",
    ]
    assert complete(shell, "%lab export --from se") == ["%lab export --from seqs"]
    assert complete(shell, "%lab export --format g") == ["%lab export --format genbank"]
    assert complete(shell, "%lab connect san") == ["%lab connect sandbox"]
