"""Titles on a line refer to sources, notes and chats of the notebook in use, on both servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import Run
from open_notebook import serving

from labext import NotebookClient
from labext.errors import InputError, NotFoundError

pytestmark = pytest.mark.contract


@pytest.fixture(params=["sandbox", "open-notebook"])
def notebooks(request: pytest.FixtureRequest, shell: InteractiveShell) -> Iterator[None]:
    """Notebooks A and B, each with protocol.md, a note and a chat; B is in use."""
    if request.param == "sandbox":
        filled(shell)
        yield
        shell.run_cell("%nb delete A --yes --delete-sources\n%nb delete B --yes --delete-sources")
        return
    with serving() as replay:
        shell.run_cell(f"%nb connect {replay.base_url}").raise_error()
        filled(shell)
        yield
        assert not replay.faults


PROTOCOL = """# Induction

Cells were induced with 0.2 % arabinose at an optical density of 0.5. Glucose represses the operon.
The culture grows at 37 °C for four hours, and is then cooled on ice.
"""


def filled(shell: InteractiveShell) -> None:
    Path("data/protocol.md").write_text(PROTOCOL)
    for name in ("A", "B"):
        shell.run_cell(f"%nb use {name} --create").raise_error()
        shell.run_cell("%nb add data/protocol.md --wait").raise_error()
        shell.run_cell(f"%%nb note --title Plan\nOf {name}.").raise_error()
        shell.run_cell("%nb sessions new --title Talk").raise_error()


def sources_of(run: Run, notebook: str) -> list[str]:
    return list(run(f"%nb sources --notebook {notebook}")["id"])


def test_titles_are_looked_up_only_in_the_current_notebook(notebooks, run, printed, refused):
    for noun, title in {"sources": "protocol.md", "notes": "Plan", "sessions": "Talk"}.items():
        (in_a,) = run(f"%nb {noun} --notebook A")["id"]
        preview = printed(f"%nb {noun} delete {title} --preview")
        assert "of B" in preview
        assert " of B." in printed(f"%nb {noun} delete {title} --yes")
        assert run(f"%nb {noun}").empty
        error = refused(f"%nb {noun} delete {title} --yes", NotFoundError)
        assert f'"{title}" in B' in error.message
        assert in_a in error.message
        assert in_a in error.next_step
        assert list(run(f"%nb {noun} --notebook A")["id"]) == [in_a]
    for line in (
        "%nb sources show protocol.md",
        "%nb sources insights protocol.md",
        "%nb sources edit protocol.md --title X",
        "%nb sources unlink protocol.md",
        "%nb insights --source protocol.md",
        "%nb search arabinose --source protocol.md",
        "%nb ask Why? --source protocol.md",
        "%nb chat Why? --source protocol.md",
        "%nb transform 'Key findings' --source protocol.md",
    ):
        error = refused(line, NotFoundError)
        assert "in A (source:" in error.message, line


def test_source_is_linked_by_its_title(notebooks, run, printed):
    (source,) = sources_of(run, "B")
    run("%nb sources link protocol.md --notebook A")
    assert source in sources_of(run, "A"), "the source of the notebook in use"
    output = printed(f"%nb sources delete {source} --preview")
    assert "of A, B" in output or "of B, A" in output
    run("%nb sources unlink protocol.md")
    assert not sources_of(run, "B")
    assert source in sources_of(run, "A"), "unlinked, not deleted"
    run(f"%nb use A\n%nb sources delete {source} --yes\n%nb use B")
    (other,) = sources_of(run, "A")
    run("%nb sources link protocol.md")
    assert sources_of(run, "B") == [other], "the only source with this title"


def test_delete_by_title_needs_a_current_notebook(notebooks, run, printed, refused, shell):
    (source,), (existing,) = sources_of(run, "B"), sources_of(run, "A")
    run("%nb use C --create\n%nb delete C --yes")  # none is in use now
    for line in (
        "%nb sources delete protocol.md --yes",
        "%nb notes delete Plan --yes",
        "%nb sessions delete Talk --yes",
        "%nb insights delete Summary --yes",
    ):
        error = refused(line, InputError)
        assert "No notebook is in use" in error.message, line
        assert "--all" in error.next_step, line
    assert " of B." in printed(f"%nb sources delete {source} --yes")
    assert sources_of(run, "A") == [existing]


def test_only_new_files_are_added(notebooks, run, printed, tmp_path):
    assert "protocol.md is already in B; kept" in printed("%nb add data/protocol.md")
    assert [len(sources_of(run, title)) for title in ("A", "B")] == [1, 1]

    file = tmp_path / "plan.md"
    file.write_text("Induce with 0.1 % arabinose.")
    run("%nb add plan.md --wait")
    (old,) = set(sources_of(run, "B")) - set(run("%nb sources show protocol.md")["id"])
    file.write_text("Induce with 0.2 % arabinose.")  # of the same size
    output = printed("%nb add plan.md --wait")
    assert f"another plan.md ({old})" in output
    assert f"%nb sources delete {old} --yes" in output
    assert "plan.md is already in B" in printed("%nb add plan.md")

    (tmp_path / "gel (1).md").write_text("The second gel.")
    run("%nb add 'gel (1).md' --wait")
    (tmp_path / "gel.md").write_text("The first gel.")
    assert "Added to B: gel.md" in printed("%nb add gel.md --wait")
    assert "gel.md, gel (1).md are already in B" in printed("%nb add gel.md 'gel (1).md'")
    assert len(sources_of(run, "B")) == 5


def test_deleted_notebook_in_use_is_named(run, refused, shell, nb_box):
    run("%nb use Gone --create")
    with NotebookClient(nb_box.nb.base_url, nb_box.nb.password) as client:
        client.notebooks.delete("Gone")
    for line in ("%nb sources", '%nb ask "Why?"', "%%nb note\nText.", "%nb export a.md"):
        message = str(refused(line, NotFoundError))
        assert message.startswith("Gone, the notebook in use, no longer exists. Select another"), (
            line
        )


def test_deleted_notebook_in_use_is_named_for_open_notebook(run, refused, shell):
    with serving() as replay:
        run(f"%nb connect {replay.base_url}")
        run("%nb use Gone --create")
        with NotebookClient(replay.base_url) as client:
            client.notebooks.delete("Gone")
        message = str(refused("%nb notebooks show notebook:other", NotFoundError))
        assert "Gone" not in message
        for line in ("%nb sources", "%%nb note\nText."):
            message = str(refused(line, NotFoundError))
            assert message.startswith("Gone, the notebook in use, no longer exists."), line
