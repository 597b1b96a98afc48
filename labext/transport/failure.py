"""A service's refusal: its own words, and the error that a user meets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from typing import Any

from labext.errors import (
    AccessError,
    BusyError,
    ConflictError,
    InputError,
    LabextError,
    NotFoundError,
    ServiceError,
    SignInError,
)
from labext.redaction import mask_start
from labext.steering import tame
from labext.transport.operation import Operation

READ_FOR_WORDS = 64 * 1024
"""Bytes of a body that are read to quote the start of it. Enough that its end can be dropped after
masking (`labext.redaction.MARGIN`) without shortening the quote."""

WORDS_LIMIT = 500
"""Characters of a service's own words that are kept."""

_FIELDS = ("userMessage", "message", "error", "detail", "title", "error_description", "msg")


@dataclass(frozen=True)
class Failure:
    """An answer of 400 and above.

    Attributes:
        status: the HTTP status.
        method: the HTTP method.
        path: without host and query.
        words: the service's own words, masked, in one line.
        op: what was asked.
        spoken: the service itself says so, in JSON; what stands in between sends pages and words.
        challenged: it says how one signs in to it, as a 401 of its own does (RFC 9110, 11.6.1).
    """

    status: int
    method: str
    path: str
    words: str
    op: Operation
    spoken: bool = False
    challenged: bool = False


Explain = Callable[[Failure], LabextError | None]
"""A service's own reading of a failure; None leaves it to the general one."""


def server_words(body: bytes, content_type: str = "") -> str:
    """Return what the server says, in one line, masked and of bounded length.

    A body may be plain text, a JSON string, or an object with `error`, `message`, `detail` or
    `title`, each of which may hold another object or a list (real services, section jobs). Of a
    web page the title is taken.
    """
    text = body.decode("utf-8", "replace").strip()
    if "html" in content_type.lower() or looks_like_html(text):
        said = _title(text)
    else:
        try:
            said = _said(json.loads(text)) or text
        except (ValueError, RecursionError):
            said = text
    return first_words(said, WORDS_LIMIT)


def first_words(text: str, limit: int = 80, *, is_cut: bool = False) -> str:
    """Return the start of a text as one masked line that steers no terminal.

    `is_cut`: the text is itself the start of a longer one.
    """
    # Many blanks may become one, so that more is read than is shown.
    line = " ".join(tame(mask_start(text, limit * 20, is_cut=is_cut)).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def looks_like_html(text: str) -> bool:
    """Tell whether a text is a web page."""
    return text[:200].lstrip("\ufeff \t\r\n").lower().startswith(("<!doctype html", "<html"))


def _title(page: str) -> str:
    found = re.search(r"<title[^>]*>(.*?)</title>", page[:20_000], re.IGNORECASE | re.DOTALL)
    title = unescape(found[1]).strip() if found else ""
    return f"a web page, “{title}”" if title else "a web page"


def _said(body: Any) -> str:
    if isinstance(body, str):
        return body
    if isinstance(body, list):
        return "; ".join(filter(None, map(_said, body[:10])))
    if not isinstance(body, dict):
        return ""
    words = next(filter(None, (_said(body.get(name)) for name in _FIELDS)), "")
    where = body.get("loc")  # a validation error's place, as FastAPI gives it
    if words and isinstance(where, list):
        return f"{'.'.join(map(str, where))}: {words}"
    return words


def error_of(failure: Failure, service: str, explain: Explain | None) -> LabextError:
    """Return the error for a failure: the service's own reading, or the general one."""
    error = explain(failure) if explain else None
    if error is None:
        error = _general(failure, service)
    error.status = error.status or failure.status
    error.method = error.method or failure.method
    error.path = error.path or failure.path
    error.server = error.server or failure.words
    return error


def _general(failure: Failure, service: str) -> LabextError:
    status, said = failure.status, f": {failure.words}" if failure.words else ""
    what = f"The {service} answered {status} to '{failure.op.name}'{said}"
    what = what if what.endswith((".", "!", "?", "…")) else f"{what}."
    match status:
        case 401:
            return SignInError(what, "Check the key or password, and sign in again.")
        case 403:
            return AccessError(what)
        case 404 | 410:
            return NotFoundError(what, "Check the name.")
        case 409:
            return ConflictError(what, "Choose another name.")
        case 429:
            return BusyError(what)
        case _ if status < 500:
            return InputError(what, "Change what the service objects to.")
        case _:
            return ServiceError(what)
