"""Lists that come in pages."""

from __future__ import annotations

from collections.abc import Iterator

from labext.errors import InputError
from labext.nb.dialects.contract import Contract
from labext.nb.records import Record
from labext.nb.wire import Wire
from labext.transport.paging import PageGuard


def all_sources(
    wire: Wire,
    dialect: Contract,
    *,
    notebook: str | None = None,
    limit: int | None = None,
    offset: int = 0,
    order_by: str | None = None,
) -> Iterator[Record]:
    """Yield sources, page by page, until a page brings nothing new.

    A shorter page than was asked for is not the end: the interface names no cap of its pages
    (contract, Limits), and a server may keep to one without a word. What moves from one page to
    the next while they are read comes once.

    Args:
        wire: leads to the service.
        dialect: what is said to it.
        notebook: an identifier; None for those of every notebook and of none.
        limit: sources wanted in all; None for every one.
        offset: how many to leave out first.
        order_by: in the service's words.

    Raises:
        InputError: a limit below 1, or an offset below 0.
        ResponseLimitError: the list does not end.
    """
    if limit is not None and limit < 1:
        raise InputError(f"A list can't have {limit} rows.", "Give a limit of 1 or more.")
    if offset < 0:
        raise InputError(f"A list can't begin at {offset}.", "Give an offset of 0 or more.")
    seen, guard = set[str](), PageGuard("The notebook service's list of sources")
    while limit is None or len(seen) < limit:
        left = dialect.PAGE if limit is None else min(limit - len(seen), dialect.PAGE)
        page = wire.run(dialect.sources(notebook, left, offset, order_by))
        if not guard.new(record["id"] for record in page):
            return
        offset += len(page)
        for record in page:
            if record["id"] not in seen:
                seen.add(record["id"])
                yield record
        guard.go_on()
