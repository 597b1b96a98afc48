"""What is sent to make a source: a form with a file, a plain form, or JSON."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import orjson
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request

from labext.sandbox.nb import faults, limits
from labext.sandbox.nb.ingestion import asking
from labext.sandbox.nb.sources import folders, multipart
from labext.sandbox.nb.sources.bodies import NewSource
from labext.sandbox.nb.sources.multipart import Form, Most
from labext.sandbox.service import Site

LONGEST_NAME = 255
AROUND = 64 * 1024
"""Bytes of a form's fields besides its text."""

_WORDS = {"true": True, "1": True, "yes": True, "on": True} | {
    "false": False,
    "0": False,
    "no": False,
    "off": False,
}


@dataclass
class Sent:
    """A source to be made: exactly one of a file, a page's address and a text.

    Attributes:
        told: all but the file.
        form: has the file, until it is moved.
    """

    told: NewSource
    form: Form = field(default_factory=Form)


async def read(site: Site, request: Request, *, json: bool = False) -> Sent:
    """Read what was sent.

    Args:
        site: the service's.
        request: its body is read here.
        json: whether it is JSON, whatever it says.

    Raises:
        HTTPException: 400, it won't do; 413, it is over a limit.
    """
    most = await run_in_threadpool(_most, site)
    try:
        form = await _form(site, request, most, json=json)
    except ClientDisconnect:
        raise faults.invalid("The request broke off.") from None  # nobody hears it
    try:
        # In a thread, as all that takes the longer the longer the text is.
        return await run_in_threadpool(_sent, site, form)
    except BaseException:
        form.discard()
        raise


async def _form(site: Site, request: Request, most: Most, *, json: bool) -> Form:
    kind = request.headers.get("content-type", "")
    media = kind.partition(";")[0].strip().lower()
    if json or media in ("application/json", "") or media.endswith("+json"):
        return Form(await run_in_threadpool(_json, await request.body()))
    if media == "multipart/form-data":
        form = await multipart.read(kind, request.stream(), folders.incoming(site), most)
    elif media == "application/x-www-form-urlencoded":
        form = Form(await run_in_threadpool(_plain, await request.body()))
    else:
        raise faults.invalid("Send a form (multipart/form-data), or JSON for a page or a text.")
    try:
        form.fields = _typed(form.fields)
    except BaseException:
        form.discard()
        raise
    return form


def _most(site: Site) -> Most:
    with site.database.read() as session:
        text = limits.limit(session, "text_bytes")
        return Most(limits.limit(session, "upload_bytes"), text + AROUND)


def _json(body: bytes) -> dict[str, Any]:
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise faults.invalid("The body is no JSON.") from None
    if not isinstance(content, dict):
        raise faults.invalid("The body is no JSON object.")
    return content


def _plain(body: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=multipart.MOST_FIELDS,
        )
    except ValueError:
        raise faults.invalid("The form can't be read.") from None
    return dict(pairs)


def _typed(fields: dict[str, str]) -> dict[str, Any]:
    """The fields of a form as JSON would have them: what is left empty was not sent."""
    typed: dict[str, Any] = {name: value for name, value in fields.items() if value != ""}
    if (asynchronous := typed.get("process_async")) is not None:
        if asynchronous.strip().lower() not in _WORDS:
            raise faults.invalid("process_async: is either true or false.")
        typed["process_async"] = _WORDS[asynchronous.strip().lower()]
    if fields.get("text") == "":
        typed["text"] = ""
    return typed


def _sent(site: Site, form: Form) -> Sent:
    try:
        told = NewSource.model_validate(form.fields)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None
    _check(site, told, form)
    return Sent(told, form)


def _check(site: Site, told: NewSource, form: Form) -> None:
    given = [told.url, told.text, form.file]
    if sum(each is not None for each in given) != 1:
        raise faults.invalid("Send exactly one of file, url and text.")
    if told.url is not None:
        try:
            asking.split(told.url.strip())
        except ValueError as error:
            raise faults.invalid(f"url: {error}") from None
    if told.text is not None:
        if not told.text.strip():
            raise faults.invalid("text: can't be empty.")
        with site.database.read() as session:
            limits.check_text(session, told.text)


def file_name(sent: str) -> str:
    """The name of a file as it was sent, without folders and what can't be shown."""
    name = sent.replace("\\", "/").rpartition("/")[2]
    name = "".join(letter for letter in name if unicodedata.category(letter)[0] != "C")
    name = unicodedata.normalize("NFC", name).strip()
    if name in ("", ".", ".."):
        return "file"
    stem, dot, suffix = name.rpartition(".")
    if len(name) > LONGEST_NAME and dot and len(suffix) < 20:
        return f"{stem[: LONGEST_NAME - len(suffix) - 1]}.{suffix}"
    return name[:LONGEST_NAME]
