"""What an answer of the service says, in whichever form it comes."""

from __future__ import annotations

import json
from collections.abc import Mapping

from labext.errors import AccessError, LabextError, NotFoundError, ServiceError
from labext.transport import Reply


def said(reply: Reply) -> str:
    """Return a confirmation: plain text, a JSON string, or an object with `message`."""
    text = reply.text().strip()
    try:
        answer = json.loads(text)
    except ValueError:
        return text
    if isinstance(answer, Mapping):
        return str(answer.get("message") or answer.get("status") or "")
    return answer if isinstance(answer, str) else text


def address_of(reply: Reply, name: str) -> str:
    """Return the presigned address: bare, in quotes, or in an object."""
    text = reply.text().strip()
    try:
        answer = json.loads(text)
    except ValueError:
        answer = text.strip("\"' \t\r\n")
    if isinstance(answer, Mapping):
        answer = next((answer[key] for key in ("url", "resultUrl", "message") if key in answer), "")
    address = str(answer).strip()
    if not is_address(address):
        raise ServiceError(f"The service gave no address for the results of {name}.")
    return address


def is_address(text: str) -> bool:
    """Say whether a text is an HTTP address."""
    return text.lower().startswith(("http://", "https://")) and not any(map(str.isspace, text))


def not_served(error: LabextError) -> bool:
    """Say whether a refusal means that the service has no such address at all."""
    if isinstance(error, NotFoundError) and error.status in (403, 404):
        return True
    return not isinstance(error, AccessError) and error.status in (405, 501)
