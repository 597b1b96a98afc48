"""What is added once: a file, a page or a text that a notebook has already is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext import wording
from labext.errors import ConflictError, InputError
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
) -> tuple[list[Record], InputError | None]:
    """Add what the notebook doesn't have yet; retry what has failed there.

    A file is known by its name and content, an address by itself. Return the records, and the
    error that names what the service has refused, if anything.
    """
    from labext.nb.adding import refusal

    there = list(call.nb.sources.iter(into.id))
    found: dict[Path | str, Record] = {}
    for item in items:
        record = _find(call, there, item, into)
        if record is not None:
            found[item] = record
    failed = {item: each for item, each in found.items() if each["status"] == "failed"}
    kept = {item: each for item, each in found.items() if item not in failed}
    again = {item: call.nb.sources.retry(each["id"]) for item, each in failed.items()}
    new = [item for item in items if item not in found]
    refused: dict[Path | str, InputError] = {}
    added = _sent(call, into, new, title, given, refused) if new else {}
    told = {
        f"in {into.name} already, and processed again": again,
        f"in {into.name} already, and kept": kept,
    }
    for what, records in told.items():
        if records:
            names = (item.name if isinstance(item, Path) else item for item in records)
            output.say(f"{wording.are(names)} {what}.")
    records = {**kept, **again, **added}
    there_now = [records[item] for item in items if item in records]
    return there_now, refusal(refused, len(there_now)) if refused else None


def _find(
    call: Call, records: Sequence[Record], item: Path | str, into: NotebookInUse
) -> Record | None:
    """Return the source of a notebook that was made from an address or a file.

    A file counts as the same if it has the name and the content. If the service has no original to
    compare with, the name decides, and a message says so.
    """
    from labext.nb.originals import is_numbered

    if isinstance(item, str):
        return next((each for each in records if each["url"] == item), None)
    named = [each for each in records if each["file_name"] == item.name]
    numbered = [each for each in records if is_numbered(each["file_name"] or "", item.name)]
    unknown = None
    for record in (*named, *numbered):
        same = _has_content(call, record, item)
        if same:
            return record
        if same is None and record in named:
            unknown = record
    if unknown is not None:
        output.say(
            f"The service has no original of {item.name} to compare with, so it is known by its "
            "name alone: one that has changed is added after `%nb sources delete`, or under "
            "another name."
        )
    elif named:
        output.say(
            f"{into.name} has another {item.name} ({named[0]['id']}), whose content differs: both "
            f"are kept. `%nb sources delete {named[0]['id']} --yes` deletes that one."
        )
    return unknown


def _has_content(call: Call, record: Record, file: Path) -> bool | None:
    """Tell whether a source has the content of a file; the service's size may decide already."""
    size = record.get("size")
    if size is not None and size != file.stat().st_size:
        return False
    return call.nb.sources.has_content(record["id"], file)


def _sent(
    call: Call,
    into: NotebookInUse,
    new: Sequence[Path | str],
    title: str | None,
    given: dict[str, Any],
    refused: dict[Path | str, InputError],
) -> dict[Path | str, Record]:
    """Send files and addresses one after the other, with a progress bar.

    What the service refuses is put into `refused`, with the reason.
    """
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
                on_refused=refused.__setitem__,
                **given,
            )
        elif isinstance(new[0], Path):
            options = {**given, "on_bytes": transfer.bytes}
            added.append(call.nb.sources.add_file(new[0], into.id, title, **options))
        else:
            added.append(call.nb.sources.add_url(new[0], into.id, title, **given))
        if added:
            transfer.end(f"{wording.are(map(_title, added))} added to {into.name}.")
    return dict(zip((item for item in new if item not in refused), added, strict=True))


def _title(record: Record) -> str:
    """Return what the user knows a source by: a file or an address as it was typed."""
    return str(record["file_name"] or record["url"] or record["title"] or record["id"])
