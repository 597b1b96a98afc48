"""`%nb transform`, `%nb transformations` and `%nb view` on a real service."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pptx
import pytest
from labext_test_documents import partly_scanned_pdf
from labext_test_shell import RefusedLines, Run, check_refused

from labext.cli import examples
from labext.errors import (
    ConflictError,
    InputError,
    LabextError,
    NotFoundError,
    ServiceError,
    SetupError,
)
from labext.nb.sources import Sources
from labext.nb.transformations import Transformations
from labext_magics.nb.view import _pdf_pages

pytestmark = pytest.mark.contract


NEW = (
    '%nb transformations new "Methods" --prompt "List every reagent with its concentration." '
    "--apply-default"
)


@pytest.fixture
def bench(run: Run) -> Iterator[None]:
    """A notebook with two sources and a note, in use; the sources are kept for the next test."""
    run('%nb use "Bench" --create')
    run(
        '%%nb source --title "Bench notes"\n'
        "Cells were induced with 0.2 % arabinose. Glucose represses the promoter, because cyclic "
        "AMP falls. We sampled every 30 minutes."
    )
    run(
        '%%nb source --title "Cold room"\n'
        "Plates are kept at 4 degrees. Ampicillin decays within three weeks on a plate."
    )
    run("%nb note 'The promoter leaks without glucose.' --title Leak")
    yield
    run("from labext import connect\nnb = connect('nb')")
    run("for each in list(nb.notes.iter('Bench')): nb.notes.delete(each['id'])")


def test_transformed_text_is_shown_and_returned(bench, run, printed, shell):
    result = run('%nb transform "Key findings" --source "Bench notes"')
    assert "promoter" in result.text
    output = printed('%nb transform "Key findings" --source "Bench notes"')
    assert "Key findings: Bench notes" in output
    assert result.text.splitlines()[0] in output
    assert printed('%nb transform "Key findings" --source "Bench notes";').strip() == ""
    run('%nb transform "Key findings" --note Leak --out kept')
    assert "leaks" in shell.user_ns["kept"].text
    of_line = run('%nb transform Summary "Glucose represses the promoter of the plasmid."')
    of_body = run("%%nb transform Summary\nGlucose represses the promoter of the plasmid.")
    assert of_line.text == of_body.text
    assert "Glucose" in of_body.text


def test_transform_gives_one_text_per_source(bench, run, printed):
    line = '%nb transform "Key findings" --source "Bench notes" --source "Cold room" --note Leak'
    result = run(line)
    assert [item.title for item in result] == [
        "Key findings: Bench notes",
        "Key findings: Cold room",
        "Key findings: Leak",
    ]
    assert "Ampicillin" in result[1].text
    assert "Ampicillin" not in result[0].text
    output = printed(line + " --save Found")
    assert 'Added the note "Found: Cold room" to Bench.' in output
    notes = run("%nb notes").set_index("title")
    assert notes.loc["Found: Cold room", "note_type"] == "ai"
    assert notes.loc["Found: Cold room", "content"].strip() == result[1].text.strip()


def test_text_that_fails_is_named_and_those_before_it_are_shown(
    bench, run, refused, capsys, monkeypatch
):
    execute = Transformations.execute

    def fail(transformations: Transformations, name: str, text: str, *rest: Any) -> Any:
        if "Ampicillin" in text:
            raise ServiceError("The text is too long.", "Choose another model.")
        return execute(transformations, name, text, *rest)

    monkeypatch.setattr(Transformations, "execute", fail)
    line = '%nb transform "Key findings" --source "Bench notes" --source "Cold room" --note Leak'
    assert refused(line).message == "Cold room: The text is too long."
    assert "Key findings: Bench notes" in capsys.readouterr().out
    assert "--source" in refused(line.replace("--note", "")).next_step


def test_saved_text_is_written_once_and_never_overwrites_a_note(bench, run, printed, refused):
    line = '%nb transform "Key findings" --source "{}" --save Findings'
    assert 'Added the note "Findings" to Bench.' in printed(line.format("Bench notes"))
    assert "it was kept" in printed(line.format("Bench notes"))
    assert "Replaced the text" in printed(line.format("Cold room"))
    note = run("%nb notes show Findings").iloc[0]
    assert "Ampicillin" in note["content"]
    assert len(run("%nb notes")) == 2
    error = refused('%nb transform "Key findings" --source "Cold room" --save Leak', ConflictError)
    assert "a note written by a human with the title" in error.message
    assert run("%nb notes show Leak").iloc[0]["content"] == "The promoter leaks without glucose."


def test_transformation_life_cycle(bench, run, printed, refused):
    assert "it is applied to every new source" in printed(NEW)
    assert "was kept" in printed(NEW)
    assert "was kept" in printed(
        '%%nb transformations new "Methods" --apply-default\n'
        "List every reagent with its concentration."
    )
    transformations = run("%nb transformations")
    assert list(transformations["name"]).count("Methods") == 1
    assert "Key findings" in set(transformations["name"])
    for other in ('--prompt "Another one."', NEW.partition('"Methods" ')[2] + " --title T"):
        error = refused(f'%nb transformations new "Methods" {other}', ConflictError)
        assert "`%nb transformations edit Methods …`" in error.next_step

    run("%%nb source --title Medium\nAmpicillin is added to 100 µg/mL. LB holds 10 g/L NaCl.")
    assert "Methods" in set(run("%nb sources insights Medium")["insight_type"])
    run("%nb transformations edit Methods --apply-default no --title Reagents --description all")
    run("%%nb transformations edit Methods --name Materials\nList every buffer.")
    transformation = run("%nb transformations show Materials").iloc[0]
    assert transformation["prompt"] == "List every buffer."
    assert (transformation["title"], transformation["description"]) == ("Reagents", "all")
    assert not transformation["apply_default"]
    run("%nb transformations edit Materials --model extractive")
    assert run("%nb transformations show Materials").iloc[0]["model"] == "extractive"
    run("%nb transformations edit Materials --no-model")
    assert run("%nb transformations show Materials")["model"].isna().all()
    assert "Nothing was changed" in printed("%nb transformations delete Materials --preview")
    refused("%nb transformations delete Materials", InputError)
    assert "Deleted " in printed("%nb transformations delete Materials --yes")
    refused("%nb transformations show Materials", NotFoundError)
    run("%nb sources delete Medium --yes")


def test_default_prompt_is_shown_and_set(run, printed):
    before = run("%nb transformations prompt").text
    assert before
    try:
        assert "Changed " in printed("%%nb transformations prompt\nAnswer in one sentence.")
        assert "Changed" not in printed(
            "%nb transformations prompt --set 'Answer in one sentence.'"
        )
        assert run("%nb transformations prompt").text == "Answer in one sentence."
        assert "Cleared" in printed("%nb transformations prompt --clear")
        assert run("%nb transformations prompt") is None
    finally:
        run(f"%%nb transformations prompt\n{before}")


LINES: RefusedLines = [
    ('%nb transform "Key findings"', InputError, "There is nothing to transform"),
    ('%nb transform "Key findngs" x', NotFoundError, 'did you mean "Key findings"'),
    ("%nb transform Key findings --note Leak", InputError, "that contains spaces"),
    ('%nb transform Summary --source "Bench nots"', NotFoundError, 'did you mean "Bench notes"'),
    (
        "%%nb transform Summary one\ntwo",
        InputError,
        "is given both on the line and in the cell body",
    ),
    ("%%nb transform Summary --note Leak\ntwo", InputError, "Keep one of them"),
    ("%nb transform Summary x --model extractve", NotFoundError, 'did you mean "extractive"'),
    ("%nb transform Summary x --model all-MiniLM-L6-v2", LabextError, "llm"),
    ("%nb transformations new X", InputError, 'NAME --prompt "…"`, or below'),
    ("%nb transformations edit Summary", InputError, "`--name`, `--prompt`"),
    ("%nb transformations prompt --set x --clear", InputError, "Keep one of them"),
]


def test_wrong_lines_do_nothing(bench, run, refused):
    before = list(run("%nb transformations")["id"])
    check_refused(refused, LINES)
    assert list(run("%nb transformations")["id"]) == before
    assert len(run("%nb notes")) == 1


def test_transformation_without_model_hints_at_one(bench, run, refused):
    run("%nb models defaults --clear transformation")
    try:
        error = refused('%nb transform "Key findings" --source "Bench notes" --save Lost')
    finally:
        run("%nb models defaults --set transformation=extractive")
    assert isinstance(error, SetupError)
    assert error.status == 422
    assert "%nb models defaults --set transformation=" in error.next_step
    assert list(run("%nb notes")["title"]) == ["Leak"]


NO_FILE = "The service does not provide the PDF, so its text is shown, without pages."


@pytest.fixture
def added(run: Run) -> None:
    run('%nb use "Views" --create')
    run("%nb add data/paper.pdf data/protocol.docx --wait")


def test_pages_and_passages_of_sources(run, refused, added):
    view = run("%nb view paper.pdf --page 2")
    assert (view.page, view.pages) == (2, 2)
    assert view.picture().startswith(b"\x89PNG")
    assert run('%nb view paper.pdf --passage "Vary the concentration"').page == 2
    assert "arabinose" in run("%nb view protocol.docx").text
    assert "its pages are 1 to 2" in str(refused("%nb view paper.pdf --page 3"))


def test_downloaded_pdf_is_deleted_with_its_pages(tmp_path, monkeypatch):
    paper = examples.examples_folder() / "data" / "paper.pdf"
    sources = SimpleNamespace(download=lambda _source, file: shutil.copy(paper, file))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pages = _pdf_pages(SimpleNamespace(sources=sources), {"id": "source:1"}, "paper.pdf")
    assert len([*tmp_path.glob("*/source.pdf")]) == 1
    del pages
    gc.collect()
    assert not [*tmp_path.iterdir()]


def test_folders_of_killed_kernels_are_removed(tmp_path, monkeypatch):
    paper = examples.examples_folder() / "data" / "paper.pdf"
    sources = SimpleNamespace(download=lambda _source, file: shutil.copy(paper, file))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    kept = [tmp_path / f"labext-view-{name}" for name in (f"{os.getpid()}-a", "other")]
    for folder in (*kept, tmp_path / "elsewhere"):
        folder.mkdir()
    (tmp_path / f"labext-view-{ended.pid}-a").mkdir()
    kept.append(tmp_path / f"labext-view-{ended.pid}-b")
    kept[-1].symlink_to(tmp_path / "elsewhere")
    kept.append(tmp_path / f"labext-view-{ended.pid}-c")
    kept[-1].mkdir()
    if os.getuid() == 0:
        os.chown(kept[-1], 4711, 4711)
    else:
        kept.pop().rmdir()
    pages = _pdf_pages(SimpleNamespace(sources=sources), {"id": "source:1"}, "paper.pdf")
    new = next(tmp_path.glob("*/source.pdf")).parent
    assert {*tmp_path.iterdir()} == {*kept, new, tmp_path / "elsewhere"}
    del pages


def test_pages_of_a_pdf_are_read_without_psutil(tmp_path, monkeypatch):
    paper = examples.examples_folder() / "data" / "paper.pdf"
    sources = SimpleNamespace(download=lambda _source, file: shutil.copy(paper, file))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert _pdf_pages(SimpleNamespace(sources=sources), {"id": "source:1"}, "paper.pdf")


def test_passage_on_a_slide_is_marked_in_the_text_of_all_slides(run, tmp_path):
    presentation = pptx.Presentation()
    for text in ("Arabinose induces pBAD.", "Strain KL9 was lysed by phage."):
        slide = presentation.slides.add_slide(presentation.slide_layouts[6])
        slide.shapes.add_textbox(0, 0, 9, 9).text_frame.text = text
    presentation.save(tmp_path / "talk.pptx")
    run('%nb use "Slides" --create\n%nb add talk.pptx --wait')
    hits = run('%nb search "phage KL9" --type text')
    line = f"%nb view talk.pptx --page {hits['page'][0]}"
    assert line.endswith("--page 2")
    shown = str(run(line))
    assert "*Strain KL9 was lysed by phage.*" in shown
    assert "Only a PDF is shown by page; this is the whole text." in shown


def test_view_marks_the_passage_that_was_last_found_or_cited(run, added):
    assert run("%nb view paper.pdf --page 1").passage == ""
    run('%nb search "catabolite repression"')
    found = run("%nb view paper.pdf --page 1")
    assert "This is catabolite repression" in " ".join(found.passage.split())
    assert found.picture() != found.at(1).picture(), "the passage is highlighted"
    assert run("%nb view paper.pdf").page == 1
    assert run("%nb view paper.pdf --page 2").passage not in found.passage
    assert run('%nb view paper.pdf --page 1 --passage "The switch"').passage == "The switch"
    answer = run('%nb ask "Why is glucose added to the uninduced culture?"').answer
    cited = run("%nb view paper.pdf --page 1").passage
    assert cited == (answer.citations[0].quote or answer.citations[0].passage)


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
def test_view_opens_the_scanned_page_that_was_last_found(run, tmp_path):
    (tmp_path / "scan.pdf").write_bytes(partly_scanned_pdf())
    run('%nb use "Scans" --create\n%nb add scan.pdf --wait')
    run("%nb search glucose --type text")
    view = run("%nb view scan.pdf")
    assert view.page == 2
    assert "The page is a picture without text, in which no passage can be marked." in str(view)


@pytest.mark.parametrize("error", [NotFoundError("No file"), ServiceError("No", status=405)])
def test_text_is_shown_without_the_file(run, added, monkeypatch, error):
    def refuse(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(Sources, "download", refuse)
    view = run('%nb view paper.pdf --page 2 --passage "Vary the concentration"')
    assert NO_FILE in str(view)
    assert "*Vary the concentration" in str(view)
    with pytest.raises(InputError, match="displayed as text"):
        view.picture()
