"""Nouns, verbs and options of `%nb` on a real service, and their completion."""

from __future__ import annotations

from typing import Any

import pytest
from labext_test_shell import assert_completions, complete

from labext import NotebookClient
from labext.errors import ConflictError, NotFoundError
from labext.frames.views import frame_html, frame_text

pytestmark = pytest.mark.contract


def names(frame: Any, column: str = "title") -> list[str]:
    return [str(cell) for cell in frame[column]]


def test_notebook_life_cycle(run, printed):
    assert "Created " in printed('%nb new Alpha --description "first"')
    assert "kept" in printed("%nb notebooks new Alpha")
    assert "another description" not in printed("%nb use Alpha --create --description first")
    assert "another description, which was kept" in printed(
        "%nb use Alpha --create --description x"
    )
    run("%nb notebooks new Beta")
    assert "Using Beta" in printed("%nb use")
    run("%nb notebooks edit Alpha --name Gamma --description other --archived yes")
    notebook = run("%nb notebooks show Gamma").iloc[0]
    assert (notebook["description"], notebook["archived"]) == ("other", True)
    assert "Gamma" in names(run("%nb notebooks --archived yes"), "name")
    assert "Gamma" not in names(run("%nb notebooks --archived no"), "name")
    run("%nb notebooks unarchive Gamma")
    assert "Gamma" in names(run("%nb notebooks --archived no"), "name")
    run("%nb notebooks archive Gamma")
    assert "Gamma" in names(run("%nb notebooks --archived yes"), "name")
    ordered = names(run("%nb notebooks --order-by name:desc"), "name")
    assert ordered.index("Gamma") < ordered.index("Beta")
    oldest_first = names(run("%nb notebooks --order-by created_at:asc"), "name")
    assert oldest_first.index("Gamma") < oldest_first.index("Beta")
    run("%nb notebooks delete Gamma --yes")
    run("%nb delete Beta --yes")
    assert {"Gamma", "Beta"}.isdisjoint(names(run("%nb notebooks"), "name"))


def test_notebook_name_may_contain_a_colon(run, printed):
    assert "Created " in printed('%nb use "Plan: part 2" --create')
    assert "Using Plan: part 2" in printed("%nb use")
    run('%nb delete "Plan: part 2" --yes')


@pytest.mark.parametrize(
    ("new", "noun"),
    [
        ("profiles new twice --speakers host", "profiles"),
        ("credentials new ollama --name twice --base-url http://127.0.0.1:9", "credentials"),
        ("transformations new twice --prompt x", "transformations"),
    ],
)
def test_object_given_by_name_and_by_id_is_deleted_once(run, printed, new, noun):
    identifier = run(f"%nb {new}")["id"].item()
    assert printed(f"%nb {noun} delete twice {identifier} twice --yes").count("Deleted ") == 1
    assert "twice" not in names(run(f"%nb {noun}"), "name")


def test_notes(run, printed):
    run("%nb use Notes --create")
    run("%nb note 'Without a title.'")
    assert "was kept" in printed("%nb note 'Without a title.'")
    run("%%nb note --title One\nThe lac operator is bound by LacI.")
    run('%nb notes new "Induce at noon." --title Two --type ai')
    assert "Added the note " in printed(
        "%%nb note --type ai\nGlucose lowers cyclic AMP. It does so fast."
    )
    notes = run("%nb notes").set_index("title")
    assert notes.loc["Two", "note_type"] == "ai"
    assert notes.loc[notes["note_type"] == "ai"].index.notna().all()  # the server generates a title
    run("%nb use Others --create")
    run("%nb note elsewhere --title One --notebook Others")
    assert run("%nb notes show One").iloc[0]["content"] == "elsewhere"
    assert len(run("%nb notes --notebook Notes")) == 4
    assert len(run("%nb notes --all")) >= 5
    run("%nb use Notes")
    run("%nb notes edit Two --title Second --type human")
    run("%%nb notes edit Second\nInduce at one.")
    second = run("%nb notes show Second").iloc[0]
    assert (second["content"], second["note_type"]) == ("Induce at one.", "human")
    assert "the note" in printed("%nb notes delete One Second --preview").lower()
    run("%nb notes delete One Second --yes")
    assert len(run("%nb notes")) == 2
    assert names(run("%nb notes --notebook Others")) == ["One"]
    run("%nb delete Notes --yes\n%nb delete Others --yes")


def test_source_life_cycle(run, printed, refused, tmp_path, shell):
    run("%nb use Sources --create")
    (tmp_path / "a.txt").write_text("Ampicillin selects for the plasmid in every culture.")
    (tmp_path / "b.md").write_text("# Medium\n\nLB without sugar is used for the induction.")
    both = run("%nb add *.txt b.md --topic media --wait")
    assert list(both["status"]) == ["completed", "completed"]
    assert set(both["topic"]) == {"media"}
    run("%nb sources edit a.txt --title Selection --topic drugs")
    source = run("%nb sources show Selection").iloc[0]
    assert (source["topic"], source["file_name"]) == ("drugs", "a.txt")
    assert "Ampicillin selects" in printed("%nb sources show Selection --text")
    assert run("%nb sources status Selection").iloc[0]["status"] == "completed"
    assert "insight_type" in run("%nb sources insights Selection").columns
    assert "can be downloaded" in printed("%nb sources download Selection --check")
    run("%nb sources download Selection --to copy.txt")
    run("%nb sources download Selection --to new.d/")
    for copy in ("copy.txt", "new.d/a.txt"):
        assert (tmp_path / copy).read_bytes() == (tmp_path / "a.txt").read_bytes()
    (tmp_path / "copy.txt").write_text("edited")
    refused("%nb sources download Selection --to copy.txt", ConflictError)
    assert (tmp_path / "copy.txt").read_text() == "edited"
    run("%nb sources download Selection --to copy.txt --overwrite")
    assert (tmp_path / "copy.txt").read_bytes() == (tmp_path / "a.txt").read_bytes()
    assert "No source of Sources is being processed" in printed("%nb sources wait")
    ordered = names(run("%nb sources --order-by title:asc"))
    assert ordered == sorted(ordered)
    assert names(run("%nb sources --order-by title:asc --limit 1 --offset 1")) == ordered[1:]

    run("%nb notebooks new Shared\n%nb use Sources")
    run("%nb notebooks link Shared Selection b.md\n%nb sources link Selection --notebook Shared")
    assert len(run("%nb sources --notebook Shared")) == 2
    run("%nb notebooks unlink Shared b.md")
    assert names(run("%nb sources --notebook Shared")) == ["Selection"]
    assert "but not 1 source also in other notebooks" in printed(
        "%nb notebooks delete Sources --delete-sources --preview"
    )
    kept = printed("%nb notebooks delete Sources --preview")
    assert "but not 1 source, which needs --delete-sources, but not 1 source also in" in kept
    deleted = printed("%nb notebooks delete Sources --delete-sources --yes")
    assert "with 1 source" in deleted
    assert names(run("%nb sources --notebook Shared")) == ["Selection"]
    run("%nb use Shared\n%nb sources unlink Selection")
    assert run("%nb sources").empty
    assert "Selection" in names(run("%nb sources --all"))
    error = refused("%nb sources delete Selection --yes")
    identifier = str(both["id"][0])
    assert f"it is in no notebook ({identifier})" in error.message
    run(f"%nb sources delete {identifier} --yes\n%nb delete Shared --yes")


def test_search_options(run):
    run("%nb use Found --create")
    for title, text in {
        "Sugar": "Glucose represses the promoter of the plasmid.",
        "Drug": "Ampicillin keeps the plasmid in the culture.",
        "Heat": "The plasmid is lost at high temperature.",
    }.items():
        run(f"%%nb note --title {title}\n{text}")
    every = run("%nb search plasmid")
    assert set(every["title"]) == {"Sugar", "Drug", "Heat"}
    assert len(run("%nb search plasmid --limit 2")) == 2
    assert set(run("%nb search plasmid --note Drug --note Heat")["title"]) == {"Drug", "Heat"}
    assert run("%nb search plasmid --no-notes").empty
    assert len(run("%nb search plasmid --no-sources")) == 3
    assert run("%nb search nowhere --type text").empty
    alike = run("%nb search 'antibiotic resistance' --type vector --min-similarity -1")
    few = run("%nb search 'antibiotic resistance' --type vector --min-similarity 0.99")
    assert len(alike) == 3
    assert len(few) < len(alike)
    run("%nb use Elsewhere --create\n%nb note 'A plasmid of another notebook.' --title Far")
    assert names(run("%nb search plasmid")) == ["Far"]
    assert {"Far", "Drug"} <= set(run("%nb search plasmid --all")["title"])
    assert "Far" not in names(run("%nb search plasmid --notebook Found"))

    answer = run("%nb ask 'What keeps the plasmid in the culture?' --notebook Found")
    assert {citation.title for citation in answer.citations} >= {"Drug"}
    narrowed = run(
        "%%nb ask --notebook Found --note Sugar --limit 2 --min-similarity -1 --simple\n"
        "What represses the promoter?"
    )
    assert {citation.title for citation in narrowed.citations} == {"Sugar"}
    run("%nb delete Found --yes\n%nb delete Elsewhere --yes")


def test_new_chat_is_created_once_by_its_title(run, printed, refused):
    run("%nb use Course --create")
    line = "%nb sessions new --title Quiz --model model:extractive"
    created = run(line)["id"][0]
    run("%nb chat Hello --new")
    assert 'The chat "Quiz" already exists and was kept' in printed(line)
    run("%nb chat 'What opens the loop?'")
    assert list(run("%nb sessions").set_index("title").loc["Quiz", ["id", "message_count"]]) == [
        created,
        2,
    ]
    run("%nb sessions edit Quiz --title Test")
    run("%nb sessions new --title Quiz")
    error = refused(line, ConflictError)
    assert "`%nb sessions edit Quiz --model …`" in error.next_step
    run("%nb sessions new\n%nb sessions new")
    assert len(run("%nb sessions")) == 5
    run("%nb delete Course --yes")


def test_chat_with_a_title_is_started_once(run, printed):
    run("%nb use Talk --create\n%nb note 'Arabinose opens the loop of AraC.' --title Loop")
    line = "%nb chat 'What opens the loop?' --title Quiz"
    assert 'Started the chat "Quiz".' in printed(line)
    run("%nb chat Hello --new")
    assert "Started the chat" not in printed(line)
    run("%nb chat 'And what closes it?'")
    assert len(run("%nb sessions show Quiz")) == 6
    assert 'Started the chat "Quiz".' in printed(f"{line} --new")
    assert list(run("%nb sessions")["title"]).count("Quiz") == 2
    run("%nb delete Talk --yes")


def test_chat_that_was_deleted_elsewhere_is_not_continued(run, printed, refused, nb_box):
    run("%nb use Halted --create")
    run("%nb chat 'What opens the loop?'")
    with NotebookClient(nb_box.nb.base_url, nb_box.nb.password) as nb:
        nb.chat.delete(nb.chat.find("What opens the loop?", "Halted"))
    assert "The chat was deleted." in str(refused("%nb chat 'And what closes it?'", NotFoundError))
    assert 'Started the chat "And what closes it?".' in printed("%nb chat 'And what closes it?'")
    run("%nb delete Halted --yes")


def test_chat_continues(run, printed):
    run("%nb use Talk --create\n%nb note 'Arabinose opens the loop of AraC.' --title Loop")
    assert 'Started the chat "What opens the loop?".' in printed("%%nb chat\nWhat opens the loop?")
    assert "Started the chat" not in printed("%nb chat 'And what closes it?'")
    session = run("%nb sessions show 'What opens the loop?'")
    assert list(session["type"]) == ["human", "ai", "human", "ai"]
    assert 'Started the chat "What opens the loop? (2)".' in printed(
        "%nb chat --new 'What opens the loop?'"
    )
    run("%nb sessions new --title Third --model model:extractive")
    run("%nb chat 'What opens the loop?' --no-sources --note Loop")
    assert len(run("%nb sessions show Third")) == 2
    assert run("%nb sessions").set_index("title").loc["Third", "model_override"] is not None
    run("%nb sessions edit Third --title Last")
    run("%nb chat again --session Last --model model:extractive")
    assert len(run("%nb sessions show Last")) == 4
    assert "Loop" in names(run("%nb sessions context"))
    assert run("%nb sessions context Last --no-notes").empty
    assert len(run("%nb sessions --all")) >= 3
    run("%nb sessions delete Last --yes")
    # The chat in use was deleted.
    assert "Started the chat" in printed("%nb chat 'What opens the loop?'")
    assert "with 1 note and 3 chats" in printed("%nb delete Talk --yes")


def test_results_are_stored_by_name_and_hidden(run, shell):
    assert run("%nb notebooks --out kept") is None
    assert "name" in shell.user_ns["kept"].columns
    assert run("%nb notebooks;") is None


def test_model_texts_and_markdown_sources_are_rendered(run, printed):
    run("%nb use Drawn --create")
    run("%nb transformations new Outline --prompt 'List every reagent.' --apply-default")
    plan = "%%nb source --title Plan\n# Plan\n\n- add **LB**\n- shake <b>well</b>"
    run(plan)
    assert "it was kept" in printed(plan)
    text = run("%nb sources show Plan --text")
    assert text.is_markdown
    assert "shake <b>well</b>" in text.text
    run("%nb chat 'What is added?'")
    run("%nb note '**Loop**: AraC' --title Loop")
    assert frame_text(run("%nb insights")).startswith("Key findings · Plan · ")
    drawn = {
        "%nb insights": '<li dir="auto">',
        "%nb sources insights Plan": '<li dir="auto">',
        "%nb sessions show 'What is added?'": "What is added?</div>",
        "%nb notes show Loop": "<strong>Loop</strong>: AraC",
    }
    for line, words in drawn.items():
        html = str(frame_html(run(line)))
        assert "<details" in html, line
        assert words in html, line


def test_tab_completes_objects_of_the_notebook_on_the_line_or_in_use(run, shell):
    run("%nb use 'Tab one' --create\n%nb note x --title 'Tab note'\n%nb sessions new --title Talk")
    run("%nb notebooks new 'Tab two'\n%nb note y --title 'Tab other'")

    assert_completions(shell, "%nb use Tab", '%nb use "Tab one"', '%nb use "Tab two"')
    assert_completions(shell, "%nb notes show Tab", '%nb notes show "Tab other"')
    assert '%nb notes show "Tab note"' not in complete(shell, "%nb notes show Tab")
    assert_completions(shell, "%nb notes delete 'Tab", "%nb notes delete 'Tab other'")
    assert_completions(shell, "%nb sessions show Ta", "%nb sessions show Ta")
    run("%nb use 'Tab one'")
    assert_completions(shell, "%nb sessions show Ta", "%nb sessions show Talk")
    of_two = '%nb search x --notebook "Tab two" --note'
    assert_completions(shell, f"{of_two} Tab", f'{of_two} "Tab other"')
    run("%nb delete 'Tab one' --yes\n%nb delete 'Tab two' --yes")


COMPLETIONS = [
    ("%nb notebooks ", "sh", ["show"]),
    ("%nb sources ", "--of", ["--offset"]),
    ("%nb sources --all ", "r", ["r"]),
    ("%nb note --type ", "a", ["ai"]),
    ("%nb notebooks --order-by ", "na", ["name", "name:asc", "name:desc"]),
    ("%nb add ", "data/pa", ["data/page.html", "data/paper.pdf"]),
    ("%nb transform ", '"Key', ['"Key findings"']),
    ("%nb chat x --model ", "extr", ["extractive"]),
    ("%nb models test ", "all-", ["all-MiniLM-L6-v2"]),
    ("%nb credentials show ", "Tab", ['"Tab shelf"']),
    ("%nb models new x --provider ", "gr", ["groq"]),
    ("%nb models defaults --set ", "embedding=", ["embedding=all-MiniLM-L6-v2"]),
    ("%nb models defaults --set ", "ch", ["chat="]),
    ("%nb models defaults --clear ", "pod", ["podcast"]),
    ("%nb credentials register x --model ", "llama3:8b=e", ["llama3:8b=embedding"]),
    ("%nb models --type ", "s", ["stt"]),
]


def test_tab_completions(run, shell):
    run("%nb credentials new ollama --name 'Tab shelf' --base-url http://127.0.0.1:9/v1")
    for start, typed, expected in COMPLETIONS:
        assert complete(shell, start + typed) == [start + word for word in expected]
    assert {"%nb sources retry", "%nb sources --all"} <= {*complete(shell, "%nb sources ")}
    run("%nb credentials delete 'Tab shelf' --yes")


def test_tab_completes_file_names_of_sources(run, shell):
    run('%nb use "Tab files" --create\n%nb add data/protocol.docx --title "Culture" --wait')
    assert complete(shell, "%nb view prot") == ["%nb view protocol.docx"]
    assert "%nb view protocol.docx" not in complete(shell, "%nb view ")
