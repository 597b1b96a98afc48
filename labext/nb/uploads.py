"""Check and add files, URLs and texts; compare files with uploaded originals."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from labext import messages
from labext.errors import AccessError, InputError, LabextError, NotFoundError
from labext.http.headers import content_length
from labext.nb.backends import Request, RequestExecutor
from labext.nb.backends.contract import ContractBackend
from labext.nb.records import Record, has_number_suffix
from labext.storage import similar_file_hint, user_path

MAX_COMPARED_BYTES = 64 * 2**20
"""Originals up to this number of bytes are compared by content, larger ones by size only.

Different tables and sequences often have the same size (`0.1 %`, `0.2 %`); recordings rarely do.
"""

_CHUNK_SIZE = 256 * 1024


def original_file_name(source: Record) -> str:
    """Return the file name of a source's original, without folders.

    Raises:
        NotFoundError: the source has no file.
    """
    name = Path(str(source["file_name"] or "").replace("\\", "/")).name
    if not name or name in {".", ".."}:
        raise NotFoundError(
            f"{messages.quote_value(source['title'] or source['id'])} has no file to download.",
            "Only uploaded files can be downloaded.",
        )
    return name


def has_content(executor: RequestExecutor, original: Request, file: Path) -> bool | None:
    """Return True if an original has the content of a local file; None if it is missing."""
    size = file.stat().st_size
    try:
        with executor.open(original) as response:
            length = content_length(response.headers)
            if length is not None and length != size:
                return False
            if size > MAX_COMPARED_BYTES:
                return None if length is None else True
            with file.open("rb") as local:
                chunks = response.raw.stream(_CHUNK_SIZE, decode_content=True)
                same = all(chunk == local.read(len(chunk)) for chunk in chunks)
                return same and not local.read(1)
    except (NotFoundError, AccessError):
        return None


@dataclass(frozen=True)
class ExistingSource:
    """The source that was created from a file or web page.

    Attributes:
        record: the source; None if there is none.
        compared: False if the service does not store the original, and the file's name alone was
            compared.
        other: a source with another file of this name, if `record` is None.
    """

    record: Record | None = None
    compared: bool = True
    other: Record | None = None


def find_existing(
    executor: RequestExecutor, backend: ContractBackend, records: Sequence[Record], item: Path | str
) -> ExistingSource:
    """Find the source of a file, by its name and content, or of a URL."""
    if isinstance(item, str):
        return ExistingSource(next((record for record in records if record["url"] == item), None))
    same_name = [record for record in records if record["file_name"] == item.name]
    numbered = [
        record for record in records if has_number_suffix(record["file_name"] or "", item.name)
    ]
    uncompared = None
    for record in (*same_name, *numbered):
        size = record.get("size")
        same = size is None or size == item.stat().st_size
        if same:
            same = has_content(executor, backend.original(record["id"]), item)
        if same:
            return ExistingSource(record)
        if same is None and record in same_name:
            uncompared = record
    if uncompared is not None:
        return ExistingSource(uncompared, compared=False)
    return ExistingSource(other=next(iter(same_name), None))


OnFileBytes = Callable[[str, int, int | None], None]
"""Called with a file's name, the bytes of it sent so far and its size."""

OnRejected = Callable[[Path | str, InputError], None]
"""Called with a file or URL that the service rejected, and the error."""

_REJECTED_STATUSES = frozenset({400, 413, 415, 422})
"""HTTP statuses that reject one item; other items may still be accepted."""


def validate_file(path: Path | str) -> Path:
    """Return the path of a readable file that is not empty.

    Raises:
        InputError: the file is missing, a folder, empty or unreadable.
    """
    file = user_path(path)
    if os.path.isdir(file):  # unlike Path.is_dir, False for a name that is too long
        raise InputError(f"{file} is a folder.", f"Add its files: {_file_patterns(file)}.")
    if not os.path.isfile(file):
        raise InputError(f"There is no file {file}{similar_file_hint(file)}.", "Check the path.")
    try:
        with file.open("rb") as opened:
            empty = not opened.read(1)
    except OSError as error:
        raise InputError(f"{file} can't be read ({error.strerror}).", "Check the file.") from None
    if empty:
        raise InputError(f"{file} is empty.", "Add a file with content.")
    return file


_MAX_LISTED = 1000
"""Maximum number of files in a folder whose suffixes are looked at."""


def _file_patterns(folder: Path) -> str:
    """Return the patterns of the files in a folder, or else in the folders in it, for a message."""
    for prefix in ("", "**/"):
        found = itertools.islice(folder.glob(f"{prefix}[!.]*.*"), _MAX_LISTED)
        suffixes = sorted({path.suffix for path in found if os.path.isfile(path)})
        if suffixes:
            break
    patterns = (folder / f"{prefix}*{suffix}" for suffix in suffixes or [""])
    return messages.join_words(f'"{pattern}"' for pattern in patterns)


def validate_url(url: str) -> str:
    """Return a URL that the service can fetch; raise InputError if it is not an HTTP URL."""
    try:
        if is_url(url) and urlsplit(url.strip()).hostname:
            return url.strip()
    except ValueError:
        pass  # invalid too, such as `http://[`
    raise InputError(
        f"{messages.quote_value(url)} is not a URL.",
        "Give a URL that begins with https:// or http://.",
    )


def is_url(text: Path | str) -> bool:
    """Return True if a string is a URL rather than a path."""
    return isinstance(text, str) and text.strip().lower().startswith(("http://", "https://"))


def validate_items(items: Iterable[Path | str] | Path | str) -> list[Path | str]:
    """Return the validated files and URLs, each once."""
    names = [items] if isinstance(items, str | Path) else items
    checked = (validate_url(str(name)) if is_url(name) else validate_file(name) for name in names)
    return list(dict.fromkeys(checked))


def add_several(
    executor: RequestExecutor,
    backend: ContractBackend,
    items: Sequence[Path | str],
    options: Mapping[str, Any],
    on_bytes: OnFileBytes | None = None,
    on_rejected: OnRejected | None = None,
) -> Iterator[tuple[Path | str, Record]]:
    """Add validated files and URLs one by one; yield each with the record of its source.

    A rejected item does not prevent the others from being added.

    Raises:
        InputError: the service rejected some items without an `on_rejected` callback, and the
            others were added.
        LabextError: the service failed; the error names the item and the number added.
    """
    added = 0
    refused: dict[Path | str, InputError] = {}
    titles = _titles_with_folders([item for item in items if isinstance(item, Path)])
    for item in items:
        try:
            if isinstance(item, Path):
                on_item_bytes = None if on_bytes is None else partial(on_bytes, item.name)
                with_title = {**options, "title": options["title"] or titles.get(item)}
                record = executor.run(backend.add_file(item, **with_title), on_bytes=on_item_bytes)
            else:
                record = executor.run(backend.add_url(item, **options))
        except LabextError as error:
            if isinstance(error, InputError) and error.status in _REJECTED_STATUSES:
                refused[item] = error
                continue
            before = f" ({added} of {len(items)} were added before it)" if added else ""
            raise error.about(f"{item}{before}") from None
        added += 1
        yield item, record
    if on_rejected is not None:
        for item, reason in refused.items():
            on_rejected(item, reason)
    elif refused:
        raise rejection_error(refused, added)


_TABLE_SUFFIXES = (".csv", ".tsv")
"""Suffixes of files whose content has no title."""


def _titles_with_folders(files: Iterable[Path]) -> dict[Path, str]:
    """Return titles such as `pBAD30/fragments.csv` for tables of the same name."""
    namesakes: dict[str, list[Path]] = {}
    for file in dict.fromkeys(files):
        if file.suffix.lower() in _TABLE_SUFFIXES:
            namesakes.setdefault(file.name, []).append(file)
    titles = {}
    for group in namesakes.values():
        if len(group) > 1:
            folders = zip(*(file.absolute().parent.parts for file in group), strict=False)
            common = sum(1 for _ in itertools.takewhile(lambda names: len({*names}) == 1, folders))
            titles.update({file: "/".join(file.absolute().parts[common:]) for file in group})
    return titles


def rejection_error(refused: Mapping[Path | str, InputError], added: int) -> InputError:
    """Return the error that lists rejected items with the reasons, and the number of added ones."""
    reasons = (f"{item}: {error.message.rstrip('.')}" for item, error in refused.items())
    count = f"{added} of {added + len(refused)} were added. Rejected: " if added else ""
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
