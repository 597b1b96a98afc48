"""What is added: checked before it is sent, so that what can't be sent is told at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from labext import wording
from labext.errors import InputError, LabextError
from labext.nb.dialects.contract import Contract
from labext.nb.records import Record
from labext.nb.wire import Wire

OnFile = Callable[[str, int, int | None], None]
"""Is told a file's name, the bytes of it that have gone, and the whole's."""

OnRefused = Callable[[Path | str, InputError], None]
"""Is told a file or an address that the service has refused, and why."""

_REFUSED = frozenset({400, 413, 415, 422})
"""Statuses by which a service refuses one item; the others may still be accepted."""


def checked_file(path: Path | str) -> Path:
    """Return a file's path.

    Raises:
        InputError: there is none, it is a folder, it is empty, or it can't be read.
    """
    file = Path(path).expanduser()
    if file.is_dir():
        raise InputError(f"{file} is a folder.", "Add its files: `FOLDER/*.pdf`, or one by one.")
    if not file.is_file():
        raise InputError(f"There is no file {file}{_hint(file)}.", "Check the path.")
    try:
        with file.open("rb") as opened:
            empty = not opened.read(1)
    except OSError as error:
        raise InputError(f"{file} can't be read ({error.strerror}).", "Check the file.") from None
    if empty:
        raise InputError(f"{file} is empty.", "Add a file with something in it.")
    return file


def checked_url(url: str) -> str:
    """Return an address that the service can fetch.

    Raises:
        InputError: it is none of HTTP.
    """
    try:
        if is_url(url) and urlsplit(url.strip()).hostname:
            return url.strip()
    except ValueError:
        pass  # not an address either: `http://[`
    raise InputError(
        f"{wording.shown(url)} is no address of a page.",
        "Give one that begins with https:// or http://.",
    )


def checked_text(text: str) -> str:
    """Return a text that is one.

    Raises:
        InputError: there is nothing in it.
    """
    if text.strip():
        return text
    raise InputError("The text is empty.", "Add a text with something in it.")


def is_url(text: Path | str) -> bool:
    """Say whether something is meant as an address and not as a path."""
    return isinstance(text, str) and text.strip().lower().startswith(("http://", "https://"))


def several(
    wire: Wire,
    dialect: Contract,
    what: Iterable[Path | str] | Path | str,
    given: Mapping[str, Any],
    on_bytes: OnFile | None = None,
    on_refused: OnRefused | None = None,
) -> Iterator[Record]:
    """Add files and pages one after the other; yield each one's record when it is there.

    An item that the service refuses does not keep the others from being added.

    Raises:
        InputError: an item can't be sent: nothing was. Or the service refused some, and no
            `on_refused` was given: all others were added.
        LabextError: the service failed; the error says at which item, and how many were added.
    """
    names = [what] if isinstance(what, str | Path) else list(what)
    checked = [checked_url(str(each)) if is_url(each) else checked_file(each) for each in names]
    added = 0
    refused: dict[Path | str, InputError] = {}
    for each in checked:
        try:
            if isinstance(each, Path):
                told = None if on_bytes is None else partial(on_bytes, each.name)
                record = wire.run(dialect.add_file(each, **given), on_bytes=told)
            else:
                record = wire.run(dialect.add_url(each, **given))
        except LabextError as error:
            if isinstance(error, InputError) and error.status in _REFUSED:
                refused[each] = error
                continue
            before = f" ({added} of {len(checked)} were added before it)" if added else ""
            raise error.about(f"{each}{before}") from None
        added += 1
        yield record
    if on_refused is not None:
        for item, reason in refused.items():
            on_refused(item, reason)
    elif refused:
        raise refusal(refused, added)


def refusal(refused: Mapping[Path | str, InputError], added: int) -> InputError:
    """Return the error that names the items that a service has refused, and why.

    Args:
        refused: each item with its error; at least one.
        added: how many others were added.
    """
    reasons = (f"{item}: {error.what.rstrip('.')}" for item, error in refused.items())
    count = f"{added} of {added + len(refused)} were added. Refused: " if added else ""
    first = next(iter(refused.values()))
    steps = dict.fromkeys(error.next_step for error in refused.values())
    return InputError(
        f"{count}{'; '.join(reasons)}.",
        " ".join(steps),
        status=first.status,
        method=first.method,
        path=first.path,
        server=first.server,
    )


def _hint(file: Path) -> str:
    try:
        names = [each.name for each in file.parent.iterdir()]
    except OSError:
        return ""
    return wording.did_you_mean(file.name, names)
