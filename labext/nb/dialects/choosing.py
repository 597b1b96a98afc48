"""Which kind of server answers: found out by its open route `/openapi.json`, once a client.

Sent the contract's names, Open Notebook often answers 200 and does something else (real services,
section nb). So it is asked first, and whoever knows better says so. Where something in between
keeps that route to itself, an order of notebooks that Open Notebook refuses tells the two apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext import wording
from labext.errors import (
    AccessError,
    InputError,
    NotFoundError,
    ServiceError,
    SetupError,
    SignInError,
    UnreachableError,
)
from labext.nb.address import find_api
from labext.nb.dialects import Request
from labext.nb.dialects.contract import Contract
from labext.nb.wire import Wire
from labext.transport import Operation, Repeat

CONTRACT, OPEN_NOTEBOOK = DIALECTS = ("contract", "open-notebook")
"""What a profile may name: `dialect = "open-notebook"`."""

# Beside the base address's last part: it ends in /api, and this stands on the server's root.
# Unchecked: a web page in its place would be asked for again and again.
DESCRIPTION = Operation(
    "see what kind of server it is",
    "GET",
    "../openapi.json",
    Repeat.ALWAYS,
    answer="unchecked",
)

ORDERED = Operation(
    "see what kind of server it is", "GET", "notebooks", Repeat.ALWAYS, answer="json"
)

_UNTOLD = (NotFoundError, SignInError, AccessError, InputError, ServiceError)
"""Failures of a server that has no such route, or keeps it to itself."""


class Spoken:
    """What is said to one server.

    Args:
        wire: leads to it.
        wanted: one of `DIALECTS`; None: what the server tells of itself decides.
        verify: True, or the path of a CA bundle.

    Raises:
        InputError: there is no such dialect.
    """

    def __init__(self, wire: Wire, wanted: str | None = None, *, verify: bool | str = True) -> None:
        if wanted is not None and wanted not in DIALECTS:
            near = wording.did_you_mean(wanted, DIALECTS)
            raise InputError(
                f"There is no dialect {wording.shown(wanted)}{near}.",
                f"The dialects are {wording.listed(DIALECTS)}; without one it is found out.",
            )
        self._wire = wire
        self._verify = verify
        self._found = None if wanted is None else _dialect(wanted)

    @property
    def dialect(self) -> Contract:
        """The dialect; the first call asks the server.

        Raises:
            SetupError: the API has another address, which is named.
            LabextError: the server can't be reached. The next call asks again.
        """
        if self._found is None:
            self._found = _dialect(self._told())
        return self._found

    def _told(self) -> str:
        url = self._wire.transport.base_url.rstrip("/")
        if (api := find_api(url, self._verify)) != url:
            raise SetupError(
                f"{url} is not the address of the notebook service's API.", f"Use {api}."
            )
        try:
            described = self._wire.transport.send(DESCRIPTION).json()
        except UnreachableError:
            raise
        except _UNTOLD:
            return self._tried()
        return OPEN_NOTEBOOK if _is_open_notebook(described) else CONTRACT

    def _tried(self) -> str:
        """Tell the two apart by what one of them refuses (contract, Limits: `order_by`)."""
        try:
            self._wire.send(Request(ORDERED, params={"order_by": "updated_at"}))
        except InputError:
            return OPEN_NOTEBOOK
        return CONTRACT


def _dialect(name: str) -> Contract:
    if name == CONTRACT:
        return Contract()
    from labext.nb.dialects.open_notebook import OpenNotebook

    return OpenNotebook()


def _is_open_notebook(described: Any) -> bool:
    info = described.get("info") if isinstance(described, Mapping) else None
    title = info.get("title") if isinstance(info, Mapping) else None
    return isinstance(title, str) and title.casefold().startswith("open notebook")
