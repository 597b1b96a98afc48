"""Reads sound and film: what is said in them, by whatever hears it."""

from __future__ import annotations

from starlette.exceptions import HTTPException

from labext.sandbox.nb.ingestion.reading import File, Reading, Tell
from labext.sandbox.nb.ingestion.reasons import Unreadable
from labext.sandbox.nb.speech import hearing


def read(file: File, tell: Tell) -> Reading:
    """Read sound.

    Raises:
        Unreadable: what hears it is missing or failed, it is broken, or nobody speaks in it.
    """
    try:
        said = (file.hear or hearing.here)(file.path, tell)
    except HTTPException as error:  # what hears it runs elsewhere
        raise Unreadable(error.detail) from None
    if not said.strip():
        raise Unreadable("Nobody is heard to speak in it, and nothing else can be read.")
    return Reading([(None, said)])
