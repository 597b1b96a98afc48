"""`%nb export`: a notebook as a document with citations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from labext import messages
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.nb import options, scope

if TYPE_CHECKING:
    from labext.nb.export import ExportFormat, Part


def export(
    call: Call,
    *,
    file: Path,
    format: ExportFormat | None,
    bibliography: Path | None,
    only: list[Part],
    notebook: str | None,
    overwrite: bool,
) -> None:
    """Write notes, answers, insights and transcripts to a file, and print their counts."""
    from labext.nb.export import PARTS

    target = scope.notebook_of(call, notebook)
    with scope.interrupted_as_error("Run this line again.", "The export"):
        written = call.nb.export(
            file,
            target.id,
            format=format,
            bibliography=bibliography,
            overwrite=overwrite,
            include=only or PARTS,
            answers=call.session.answers.get(target.id, {}).values(),
        )
    counts = [messages.pluralize(count, kind) for kind, count in written.counts.items()]
    cited = messages.pluralize(len(written.references), "reference")
    output.print_message(f"Wrote {messages.join_all([*counts, cited], 'and')} to {file}.")
    if bibliography is not None:
        output.print_message(f"Wrote the cited sources to {bibliography}.")


SHORTCUTS = (
    Command(
        "export",
        "Write the notes, answers, insights and transcripts of a notebook to a file.",
        export,
        [Parameter("FILE", value_types.PATH, "the file: .md, .html or .ipynb", required=True)],
        [
            Parameter(
                "format",
                value_types.choice("md", "html", "ipynb"),
                "the format; by default derived from the file suffix",
            ),
            Parameter(
                "bibliography", value_types.PATH, "also write the cited sources to this BibTeX file"
            ),
            Parameter(
                "only",
                value_types.choice("notes", "answers", "insights", "transcripts"),
                "write only this kind of content",
                many=True,
            ),
            options.IN_NOTEBOOK,
            Parameter("overwrite", None, "replace files that have other content"),
        ],
        details="Citations are numbered, and the cited sources are listed at the end. Answers "
        "include the chats of the notebook, and the answers of `%nb ask` in this session.",
        examples=["%nb export answers.md --bibliography library.bib"],
    ),
)
