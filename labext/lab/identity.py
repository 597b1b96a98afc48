"""Who the platform says that the caller is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labext.errors import LabextError, NotFoundError, ServiceError
from labext.lab.operations import WHO
from labext.transport import Transport


@dataclass(frozen=True)
class Identity:
    """Who somebody is to the platform.

    Attributes:
        name: of the user; None where the platform doesn't say.
        email: of the user; None where the platform doesn't say.
        method: how they signed in: `key`, `oauth` or `oidc`.
        client_id: of the app, where one signed in.
    """

    name: str | None
    email: str | None
    method: str | None = None
    client_id: str | None = None

    @property
    def known(self) -> bool:
        """Whether the platform told a user."""
        return self.name is not None or self.email is not None

    def __str__(self) -> str:
        app = f"the app {self.client_id}" if self.client_id else ""
        if not self.known:
            return (
                f"{app}, for no user" if app else "unknown: the platform doesn't tell who you are"
            )
        user = self.name or ""
        if self.email:
            user = f"{user} <{self.email}>" if user else self.email
        return f"{user} by {app}" if app else user


def identity(transport: Transport, method: str | None, client_id: str | None) -> Identity:
    """Ask the platform who is calling.

    A 404 means that it doesn't say: on some tenants it is so for good keys (real services, lab),
    and an app is no user. It never means a bad key.

    Raises:
        SignInError: the platform doesn't know the caller.
        ServiceError: its answer makes no sense.
    """
    try:
        answer: Any = transport.send(WHO).json()
    except LabextError as error:
        if not (isinstance(error, NotFoundError) and error.status == 404):
            raise
        answer = {}
    if not isinstance(answer, dict):
        raise ServiceError("The lab platform's answer to who you are makes no sense.")
    return Identity(_text(answer.get("name")), _text(answer.get("email")), method, client_id)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
