"""What is added once: a file, a page or a text that a notebook has already is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext import wording
from labext.errors import ConflictError
from labext_magics import output
from labext_magics.dispatch import Call
from labext_magics.line import quote
from labext_magics.session import NotebookInUse

if TYPE_CHECKING:
    from labext.nb.records import Record


def text(
    call: Call, into: NotebookInUse, content: str, title: str | None, given: dict[str, Any]
) -> Record:
    """Add a text, unless the notebook has it already under this title."""
    there = [each for each in call.nb.sources.iter(into.id) if _may_be(each, content, title)]
    for each in there:
        record = call.nb.sources.get(each["id"])
        if (record["full_text"] or "").strip() == content:
            output.say(f"{_title(record)} is in {into.name} already, with this text: it was kept.")
            return record
    if title is not None and there:
        raise ConflictError(
            f"There is a source {title} in {into.name} already, with another text.",
            f"Take another title, or delete it first: `%nb sources delete {quote(title)} --yes`.",
        )
    record = call.nb.sources.add_text(content, into.id, title, **given)
    output.say(f"{_title(record)} is added to {into.name}.")
    return record


def _may_be(there: Record, content: str, title: str | None) -> bool:
    """Say whether a source may be a text's: by its title, or by one that was made of the text."""
    if title is not None:
        return bool(there["title"] == title)
    begins = str(there["title"] or "").rstrip("… .")
    return there["kind"] == "text" and content.startswith(begins)


def files(
    call: Call,
    into: NotebookInUse,
    items: Sequence[Path | str],
    title: str | None,
    given: dict[str, Any],
) -> list[Record]:
    """Add what the notebook doesn't have yet; have processed again what has failed."""
    there = list(call.nb.sources.iter(into.id))
    found = {item: each for item in items for each in there if _is(each, item)}
    failed = {item: each for item, each in found.items() if each["status"] == "failed"}
    kept = {item: each for item, each in found.items() if item not in failed}
    again = {item: call.nb.sources.retry(each["id"]) for item, each in failed.items()}
    new = [item for item in items if item not in found]
    added = _sent(call, into, new, title, given) if new else {}
    told = {
        f"in {into.name} already, and processed again": again,
        f"in {into.name} already, and kept": kept,
    }
    for what, records in told.items():
        if records:
            output.say(f"{wording.are(map(_title, records.values()))} {what}.")
    if any(isinstance(item, Path) and each.get("size") is None for item, each in kept.items()):
        output.say(
            "The service tells no sizes, so files are known by their names alone: one that has "
            "changed is added after `%nb sources delete`, or under another name."
        )
    records = {**kept, **again, **added}
    return [records[item] for item in items]


def _is(there: Record, item: Path | str) -> bool:
    """Say whether a source is of this address, or of a file with this name and, if told, size."""
    if isinstance(item, str):
        return bool(there["url"] == item)
    size = there.get("size")
    return there["file_name"] == item.name and size in (None, item.stat().st_size)


def _sent(
    call: Call,
    into: NotebookInUse,
    new: Sequence[Path | str],
    title: str | None,
    given: dict[str, Any],
) -> dict[Path | str, Record]:
    """Send files and addresses one after the other, drawing what takes its time."""
    import labext_widgets

    added: list[Record] = []
    again = "%nb add " + " ".join(quote(str(each)) for each in new)
    name = str(new[0]) if len(new) == 1 else wording.count(len(new), "source")
    with labext_widgets.Transfer(name, "source", again) as transfer:
        if title is None:
            call.nb.sources.add(
                new,
                into.id,
                on_bytes=lambda _, moved, size: transfer.bytes(moved, size),
                on_added=added.append,
                **given,
            )
        elif isinstance(new[0], Path):
            options = {**given, "on_bytes": transfer.bytes}
            added.append(call.nb.sources.add_file(new[0], into.id, title, **options))
        else:
            added.append(call.nb.sources.add_url(new[0], into.id, title, **given))
        transfer.end(f"{wording.are(map(_title, added))} added to {into.name}.")
    return dict(zip(new, added, strict=True))


def _title(record: Record) -> str:
    """Return what the user knows a source by: a file or an address as it was typed."""
    return str(record["file_name"] or record["url"] or record["title"] or record["id"])
