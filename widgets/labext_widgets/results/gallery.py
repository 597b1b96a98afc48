"""A gallery of the structures, drawings and pictures of a batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labext.errors import InputError, LabextError
from labext.messages import join_words, pluralize, suggest
from labext_widgets.core.markup import MUTED, WRAPPED, data_uri, div, escape, plain, view_html
from labext_widgets.core.picture import PictureView, image_html, picture_type
from labext_widgets.core.placeholder import LiveOutput
from labext_widgets.drawings.canvas import Drawing
from labext_widgets.plots.columns import value_text

if TYPE_CHECKING:
    from labext_widgets.core.placeholder import Placeholder

PAGE_SIZE = 12
"""Maximum number of jobs per page."""

MAX_SCORES = 3
"""Maximum number of scores per card."""

MAX_PAGE_BYTES = 190_000
"""Maximum size of the pictures of a saved page; the pictures beyond are replaced by a note."""

_GRID = (
    "display:grid;grid-template-columns:repeat(auto-fill,minmax(min(220px,100%),1fr));gap:12px;"
    "max-width:1200px"
)
_CARD = (
    f"min-width:0;border:1px solid rgba(128,128,128,0.35);padding:8px;break-inside:avoid;{WRAPPED}"
)
_CARD_SIZE = (300, 190)


@dataclass(frozen=True)
class Entry:
    """A job of a gallery.

    Attributes:
        name: the job's name.
        scores: its numeric scores.
        open: reads the job's main file and returns its view.
    """

    name: str
    scores: Mapping[str, float]
    open: Callable[[], Any]


@dataclass
class _Card:
    """A job on the displayed page; its view was opened, or failed to."""

    entry: Entry
    view: Any = None
    error: str = ""
    picture: bytes = field(default=b"", repr=False)
    media_type: str = "image/svg+xml"

    def details(self, first: str | None) -> str:
        """Return up to `MAX_SCORES` scores as text, the one the jobs are sorted by first."""
        names = sorted(self.entry.scores, key=lambda name: name != first)[:MAX_SCORES]
        return ", ".join(
            f"{name} {value_text('number', self.entry.scores[name], 6)}".replace(" -", " −")
            for name in names
        )


class Gallery(LiveOutput):
    """The jobs of a batch, `PAGE_SIZE` on a page; files are read when their page is displayed.

    Attributes:
        name: the batch's name.
        page: the displayed page, from 1.
        sorted_by: the score that the jobs are sorted by, or None.
        ascending: whether the lowest score comes first.
    """

    def __init__(self, name: str, entries: Sequence[Entry]) -> None:
        super().__init__()
        self.name = name
        self._batch_order = tuple(entries)
        self._entries = list(entries)
        self.sorted_by: str | None = None
        self.ascending = True
        self.page = 1
        self._cards: list[_Card] | None = None

    @property
    def pages(self) -> int:
        """The number of pages, at least 1."""
        return max(1, -(-len(self._entries) // PAGE_SIZE))

    @property
    def jobs(self) -> list[str]:
        """The names of all jobs, in the displayed order."""
        return [entry.name for entry in self._entries]

    @property
    def scores(self) -> list[str]:
        """The names of the scores that the jobs can be sorted by."""
        return list(dict.fromkeys(key for entry in self._batch_order for key in entry.scores))

    def sort(self, score: str | None, *, ascending: bool = True) -> None:
        """Sort the jobs by a score and show the first page; None restores the batch's order.

        Jobs without a number as the score come last.

        Raises:
            InputError: no job has the score.
        """
        self._entries = list(self._batch_order)
        if score is not None:
            score = score.removeprefix("score.")
            if score not in self.scores:
                raise InputError(
                    f"The jobs of {self.name} have no score {score}.",
                    suggest(score, self.scores, f"They have {join_words(self.scores)}."),
                )
            sign = 1 if ascending else -1

            def order(entry: Entry) -> tuple[bool, float]:
                value = entry.scores.get(score, math.nan)
                return (True, 0.0) if math.isnan(value) else (False, sign * value)

            self._entries.sort(key=order)
        self.sorted_by = score
        self.ascending = ascending
        self.show_page(1)

    def show_page(self, page: int) -> None:
        """Show a page, counted from 1."""
        self.page = min(max(page, 1), self.pages)
        self._cards = None
        self._update_static()
        for output in self._outputs:
            output.set_state(self._state())

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<Gallery {plain(self.name)}, {pluralize(len(self), 'job')}>"

    def __str__(self) -> str:
        """Return the names and scores of the page as plain text."""
        rows = [f"{card.entry.name}  {card.details(self.sorted_by)}" for card in self.cards()]
        return "\n".join(plain(row) for row in [self._line(), *rows])

    def _mount(self, output: Placeholder) -> None:
        detail = output.add_below()
        output.live(
            "structure_gallery" if any(map(_is_structure, self.cards())) else "gallery",
            self._state(),
            lambda content, _: self._receive(output, detail, content),
        )

    def cards(self) -> list[_Card]:
        """Return the cards of the displayed page, reading their files at the first call."""
        if self._cards is None:
            start = (self.page - 1) * PAGE_SIZE
            self._cards = [_open_card(entry) for entry in self._entries[start : start + PAGE_SIZE]]
        return self._cards

    def _line(self) -> str:
        jobs = pluralize(len(self), "job")
        note = jobs if self.pages == 1 else f"page {self.page} of {self.pages}, {jobs}"
        return plain(f"{self.name}: {note}")

    def _render(self) -> tuple[str, str]:
        cards, size = [], 0
        for card in self.cards():
            size += len(card.picture) * 4 // 3
            cards.append(div(_card_html(card, self.sorted_by, size <= MAX_PAGE_BYTES), _CARD))
        heading = div(escape(self._line()), MUTED)
        grid = div("".join(cards), _GRID)
        return view_html(heading + grid), self._line()

    def _state(self) -> dict[str, Any]:
        return {
            "name": plain(self.name),
            "count": len(self),
            "page": self.page,
            "pages": self.pages,
            "scores": self.scores,
            "sort": self.sorted_by or "",
            "ascending": self.ascending,
            "cards": [
                {
                    "name": plain(card.entry.name),
                    "details": plain(card.details(self.sorted_by)),
                    "picture": data_uri(card.picture, card.media_type),
                    "alt": plain(card.entry.name),
                    "error": plain(card.error),
                    "loads": _is_structure(card),
                }
                for card in self.cards()
            ],
        }

    def _receive(self, output: Any, detail: Any, content: Any) -> None:
        """Answer a request of a live view."""
        if not isinstance(content, dict):
            return
        action = content.get("do")
        if action == "page" and isinstance(page := content.get("page"), int):
            self.show_page(page)
        elif action == "sort" and (score := content.get("score")) in ("", *self.scores):
            self.sort(score or None, ascending=content.get("ascending") is not False)
        elif action == "open":
            card = self._find_card(content.get("name"))
            if card is not None and card.view is not None:
                detail.show(card.view)
        elif action == "load" and isinstance(index := content.get("index"), int):
            cards = self.cards()
            if 0 <= index < len(cards) and _is_structure(cards[index]):
                state = cards[index].view.state()
                source = state.pop("content")
                loaded = {"index": index, "page": self.page, "sort": self.sorted_by or ""}
                output.send({"loaded": {**loaded, "state": state}}, [source])

    def _find_card(self, name: object) -> _Card | None:
        """Return the card of a job, which may have left the page since it was clicked."""
        shown = (card for card in self.cards() if plain(card.entry.name) == name)
        others = (_open_card(entry) for entry in self._entries if plain(entry.name) == name)
        return next(shown, None) or next(others, None)


def _open_card(entry: Entry) -> _Card:
    card = _Card(entry)
    try:
        card.view = entry.open()
        if isinstance(card.view, PictureView):
            card.picture, card.media_type = card.view.content, card.view.media_type
        elif _is_structure(card):
            card.picture = card.view.thumbnail(*_CARD_SIZE, MAX_PAGE_BYTES * 3 // 4 // PAGE_SIZE)
            card.media_type = picture_type(card.picture)
        elif isinstance(card.view, Drawing):
            card.picture = card.view.thumbnail(*_CARD_SIZE).encode()
        else:
            card.picture = card.view.svg.encode()
    except LabextError as error:
        card.error = error.message
    return card


def _is_structure(card: _Card) -> bool:
    from labext_widgets.structure import StructureViewer

    return isinstance(card.view, StructureViewer)


def _card_html(card: _Card, sorted_by: str | None, has_space: bool) -> str:
    details = div(escape(card.details(sorted_by)), MUTED)
    heading = f"<strong>{escape(card.entry.name)}</strong>{details}"
    if card.error:
        return heading + div(escape(card.error), MUTED)
    if not has_space:
        return heading + div("The picture is shown while the notebook runs.", MUTED)
    return heading + image_html(card.picture, card.media_type, card.entry.name)
