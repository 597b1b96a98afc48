"""The files of a job, and the view of a text."""

from __future__ import annotations

import html
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labext_widgets.core.display import display_html
from labext_widgets.core.front_end import FrontEnd, front_end
from labext_widgets.core.markup import MUTED, WRAPPED, div, escape, plain, scrolled, tidy, view_html

if TYPE_CHECKING:
    import pandas as pd

_NAMES = {"name", "target", "sequence", "gene", "chain"}
"""Columns of texts, in which `NA` is a gene of influenza, and `007` and `1.10` are samples."""

MAX_TEXT = 20_000
"""Maximum number of characters of a text that are displayed."""

_TEXT = "margin:0;white-space:pre-wrap;overflow-wrap:anywhere;font-size:13px"


@dataclass(frozen=True)
class JobFiles:
    """The result files of a job, read on demand.

    Attributes:
        job: the job's name.
        paths: the paths of its files.
        read: returns the content of a file.
        settings: the job's settings.
        scores: the job's numeric scores.
    """

    job: str
    paths: Sequence[str]
    read: Callable[[str], bytes]
    settings: Mapping[str, Any] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)

    def read_text(self, path: str) -> str:
        """Return a text file; bytes that are not UTF-8 are replaced."""
        return self.read(path).decode("utf-8", "replace")

    def find(self, name: str) -> str | None:
        """Return the path of the file called `name` in any folder, or None."""
        return next((path for path in self.paths if path.rpartition("/")[2] == name), None)


class TextView:
    """A text from a result file.

    Attributes:
        text: the full text, unchanged.
        name: the job and the file.
    """

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name

    def __repr__(self) -> str:
        return f"<TextView {plain(self.name)}, {len(self.text):,} characters>"

    def __str__(self) -> str:
        """Return the text without terminal control characters."""
        return tidy(self.text, max(len(self.text), 1)) or "The file is empty."

    def _ipython_display_(self, **_: Any) -> None:
        excerpt = str(self)[:MAX_TEXT]
        note = ""
        if len(self.text) > MAX_TEXT:
            note = (
                f"Showing {MAX_TEXT:,} of {len(self.text):,} characters; "
                "the attribute `.text` has all of them."
            )
        text = f"{excerpt}\n\n{note}" if note else excerpt
        if front_end() is FrontEnd.TERMINAL:
            print(text)
            return
        title = div(escape(self.name), f"{MUTED};{WRAPPED}")
        body = scrolled(f'<pre style="{_TEXT}">{html.escape(excerpt)}</pre>', self.name)
        rows = [title, body, div(escape(note), MUTED) if note else ""]
        display_html(view_html("".join(rows)), text)


def read_table(content: bytes) -> pd.DataFrame:
    """Return a CSV table; columns of names are texts.

    Raises:
        ValueError: the content is not a valid table.
    """
    import pandas as pd

    table = pd.read_csv(io.BytesIO(content))
    names = [name for name in table.columns if name in _NAMES]
    if names:
        texts = pd.read_csv(io.BytesIO(content), usecols=names, dtype=str, keep_default_na=False)
        for name in names:
            table[name] = texts[name].to_numpy()
    return table
