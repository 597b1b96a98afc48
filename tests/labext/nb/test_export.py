"""A notebook as Markdown, HTML and ipynb, with numbered citations."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any, cast

import nbformat
import pandas as pd
import pytest

from labext.errors import ConflictError, InputError
from labext.nb import Answer, Citation
from labext.nb.export import Export, export_notebook

SCRIPT = "<script>alert(1)</script>"
SOURCES = [
    {"id": "source:a", "title": f"Paper {SCRIPT}", "file_name": "paper.pdf", "url": None},
    {"id": "source:b", "title": "Protocol", "file_name": None, "url": "https://a.org/b?c=1&d=2"},
    {"id": "source:c", "title": "Not cited", "file_name": None, "url": None},
]
NOTES = [
    {
        "id": "note:n",
        "title": "Plan [x](y)",
        "content": "## Aim\n\nGoal\nof it\n===\n\nKeep it off [source:b]. "
        f"`cut <file>`{SCRIPT}\n\n```\na <b\n```",
    }
]
SESSION = {
    "id": "chat_session:s",
    "title": "First chat",
    "messages": [
        {"type": "human", "content": f"Why *glucose*? {SCRIPT}", "citations": []},
        {
            "type": "ai",
            "content": "It lowers cAMP. [source:a] It is washed out [source:a; source:b].",
            "citations": [
                {"id": "source:a", "title": "Paper", "quote": "It lowers cAMP.", "page": 3},
                {"id": "source:a", "title": "Paper", "quote": "wash the cells", "page": 5},
            ],
        },
    ],
}
INSIGHTS = [
    {"id": "insight:i", "source_id": "source:b", "insight_type": "Summary", "content": "Short."}
]
EPISODES = [
    {"id": "episode:1", "name": "Talk", "notebook_id": "notebook:1", "job_status": "completed"},
    {"id": "episode:2", "name": "Other", "notebook_id": "notebook:2", "job_status": "completed"},
]
TURNS = {"transcript": [{"speaker": "Ann", "dialogue": f"Welcome {SCRIPT}"}]}


class Records:
    """The methods for any kind of record that an export uses."""

    def __init__(self, *records: dict[str, Any]) -> None:
        self._records = {record["id"]: record for record in records}

    def iter(self, *_: object) -> Any:
        return iter(self._records.values())

    def sessions(self, _: str) -> pd.DataFrame:
        return pd.DataFrame(list(self._records.values()))

    def get(self, name: str) -> dict[str, Any]:
        return {"full_text": "Authors: A. Smith\nYear: 1995"} | self._records[name]

    def episode(self, name: str) -> dict[str, Any]:
        return self._records[name] | {"transcript": TURNS}


class Episodes(Records):
    """Episodes of several notebooks."""

    def iter(self, *notebooks: object) -> Any:
        return (record for record in super().iter() if record["notebook_id"] in notebooks)


class Client:
    """A client of one notebook."""

    def __init__(self, *, empty: bool = False) -> None:
        self.notebooks = Records({"id": "notebook:1", "name": f"Arabinose {SCRIPT}"})
        self.sources = Records(*SOURCES)
        self.notes = Records(*([] if empty else NOTES))
        self.insights = Records(*([] if empty else INSIGHTS))
        self.chat = Records(*([] if empty else [SESSION]))
        self.podcasts = Episodes(*([] if empty else EPISODES))


def export(path: Path, **options: Any) -> Export:
    client = options.pop("client", None) or Client()
    return export_notebook(cast("Any", client), path, "notebook:1", **options)


def test_citations_are_numbered_across_the_document_with_their_pages(tmp_path: Path) -> None:
    written = export(tmp_path / "a.md")
    text = (tmp_path / "a.md").read_text()
    assert "Keep it off [1]." in text
    assert "It lowers cAMP. [2, p. 3] It is washed out [2, p. 5; 1]." in text
    assert "- [2, p. 5] “wash the cells”" in text
    assert "“It lowers cAMP.”" not in text
    assert [reference.id for reference in written.references] == ["source:b", "source:a"]
    assert written.counts == {"note": 1, "chat": 1, "insight": 1, "transcript": 1}
    references = text.split("## References")[1]
    assert re.search(r"\[1\] A\. Smith \(1995\)\. \*Protocol\*\. https://a", references)
    assert "Not cited" not in references
    assert "source:" not in text
    assert "Other" not in text


@pytest.mark.parametrize(
    ("content", "has_numbers"),
    [
        ("Glucose represses it [12, 14–16].", True),
        ("As in the protocol [source:b].", False),
        ("See [2](https://a.org) and [x].", False),
    ],
)
def test_numbers_of_an_insight_are_said_to_be_those_of_its_document(
    tmp_path: Path, content: str, has_numbers: bool
) -> None:
    client = Client(empty=True)
    client.insights = Records({**INSIGHTS[0], "content": content})
    export(tmp_path / "a.md", client=client)
    text = (tmp_path / "a.md").read_text()
    hint = "From [1]. Numbers in brackets below are those of the references of that document.\n\n"
    assert (hint in text) is has_numbers
    assert ("From [1].\n\n" in text) is not has_numbers


def test_document_of_a_library_is_cited_as_its_entry(tmp_path: Path) -> None:
    entry = {
        "id": "source:e",
        "title": "Tight regulation by the arabinose promoter",
        "full_text": "Title: Tight regulation by the arabinose promoter\nAuthors: L. Guzman\n"
        "Year: 1995\nJournal: J. Bacteriol.",
    }
    reply = {**entry, "id": "source:r", "title": "Reply", "full_text": "Authors: B. Other"}
    document = {
        "id": "source:d",
        "title": "guzman.pdf",
        "file_name": "guzman.pdf",
        "full_text": "JOURNAL\nReply to all: Tight Regula-\ntion by the Arabinose Promoter\n…",
    }
    other = {**document, "id": "source:o", "title": "other.pdf", "full_text": "A protocol"}
    client = Client(empty=True)
    client.sources = Records(entry, reply, document, other)
    note = {"id": "note:n", "title": "N", "content": "a [source:d] b [source:e] c [source:o]"}
    client.notes = Records(note)
    written = export(tmp_path / "a.md", client=client, bibliography=tmp_path / "a.bib")
    assert "a [1] b [1] c [2]" in (tmp_path / "a.md").read_text()
    assert [reference.authors for reference in written.references] == [("L. Guzman",), ()]
    assert "@article{guzman1995tight," in (tmp_path / "a.bib").read_text()


def test_headings_of_contents_are_below_those_of_the_document(tmp_path: Path) -> None:
    export(tmp_path / "a.md")
    headings = re.findall("^#+ .*", (tmp_path / "a.md").read_text(), re.MULTILINE)
    assert headings[1:5] == ["## Notes", r"### Plan \[x\](y)", "##### Aim", "#### Goal of it"]


@pytest.mark.parametrize("suffix", ["md", "html", "ipynb"])
def test_html_of_services_is_text_in_every_format(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    text = f"{SCRIPT} ![x](https://e.org/x.png) \\`{SCRIPT}`"
    export(path, answers=[Answer(text, question=SCRIPT)])
    text = path.read_text()
    assert "<script" not in text
    assert text.count("alert(1)") >= 6
    escape = html.escape if suffix == "html" else str
    assert escape("cut <file>") in text
    assert escape("a <b") in text
    if suffix == "html":
        assert "<img" not in text
        assert "src=" not in text
        assert 'href="#reference-2"' in text
        assert 'id="reference-2"' in text
        assert 'href="https://a.org/b?c=1&amp;d=2"' in text


def test_formulas_in_html_are_kept_as_they_are(tmp_path: Path) -> None:
    formulas = [
        r"$x^2\,dx$",
        "$$\n\\int f\\;dx * a * b\n$$",
        r"\(k_1 \cdot k_2\)",
        r"\[E = mc^2\]",
        "$a<b$",
    ]
    text = "\n\n".join([*formulas, r"It costs \$5 or $6, \[sic\], \*."])
    export(tmp_path / "a.html", answers=[Answer(text, question=r"Why [x] and \[y\]?")])
    shown = html.unescape((tmp_path / "a.html").read_text())
    for formula in formulas:
        assert formula in shown
    assert "It costs $5 or $6, [sic], *." in shown
    assert r"Why [x] and \[y\]?" in shown


def test_each_block_of_html_has_its_own_direction(tmp_path: Path) -> None:
    answer = Answer("نص\n\n- بند\n\n> قول\n\n<p>", question="سؤال")
    export(tmp_path / "a.html", answers=[answer])
    text = (tmp_path / "a.html").read_text()
    for block in ("<h3", "<p", "<li"):
        assert re.search(f'{block} dir="auto">', text)
        assert f"{block}>" not in text
    assert "&lt;p&gt;" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "docx"}, 'no format "docx"'),
        ({"include": ["note"]}, r'no part "note" \(did you mean "notes"\?\)'),
    ],
)
def test_unknown_format_or_part_is_refused(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        export(tmp_path / "a.md", **options)
    assert not (tmp_path / "a.md").exists()
    assert export(tmp_path / "a.md", include="notes").counts == {"note": 1}


def test_notebook_is_valid(tmp_path: Path) -> None:
    export(tmp_path / "a.ipynb")
    notebook = nbformat.read(tmp_path / "a.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert {cell.cell_type for cell in notebook.cells} == {"markdown"}
    assert notebook.cells[0].source.startswith("# Arabinose")


def test_answers_of_the_session_are_written_and_parts_chosen(tmp_path: Path) -> None:
    cited = Citation("source:gone", "Deleted paper", "a quote", page=2)
    answer = Answer("Because. [source:gone] Or [source:unknown].", (cited,), "Why?")
    written = export(tmp_path / "a.md", answers=[answer], include=["answers"])
    text = (tmp_path / "a.md").read_text()
    assert "### Why?\n\nBecause. [1, p. 2] Or [source:unknown]." in text
    assert "[1] *Deleted paper*." in text
    assert written.counts == {"answer": 1, "chat": 1}


def test_other_content_is_replaced_only_if_requested(tmp_path: Path) -> None:
    path, library = tmp_path / "a.md", tmp_path / "a.bib"
    export(path)
    export(path)
    library.write_text("mine")
    with pytest.raises(ConflictError, match=r"a\.bib"):
        export(path, bibliography=library)
    with pytest.raises(ConflictError, match=r"a\.md"):
        export(path, include=["notes"])
    assert library.read_text() == "mine"
    assert "## Podcasts" in path.read_text()
    export(path, include=["notes"], bibliography=library, overwrite=True)
    assert "@misc{" in library.read_text()
    assert "## Podcasts" not in path.read_text()
    assert {file.name for file in tmp_path.iterdir()} == {"a.md", "a.bib"}


def test_home_folder_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    written = export(Path("~/a.md"), bibliography=Path("~/a.bib"))
    assert written.path == tmp_path / "a.md"
    assert {file.name for file in tmp_path.iterdir()} == {"a.md", "a.bib"}


def test_missing_folders_are_created(tmp_path: Path) -> None:
    path, library = tmp_path / "new" / "a.md", tmp_path / "other" / "a.bib"
    export(path, bibliography=library)
    assert path.is_file()
    assert library.is_file()


def test_bad_names_and_empty_notebooks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="format"):
        export(tmp_path / "a.docx")
    with pytest.raises(InputError, match="bibliography"):
        export(tmp_path / "a.md", bibliography=tmp_path / "a.md")
    with pytest.raises(InputError, match=r"BibTeX, not as \.ris"):
        export(tmp_path / "a.md", bibliography=tmp_path / "a.ris")
    with pytest.raises(InputError, match="nothing to export"):
        export(tmp_path / "a.md", client=Client(empty=True))
    assert not [*tmp_path.iterdir()]
    export(tmp_path / "a.txt", format="md")
