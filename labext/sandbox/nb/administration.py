"""Administer the notebook service: password, private pages, models and their keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from urllib.parse import urlsplit

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from labext import wording
from labext.errors import ConflictError, InputError, LabextError, NotFoundError, SetupError
from labext.sandbox import administration
from labext.sandbox.administration import Administration, Record
from labext.sandbox.database import counted
from labext.sandbox.folder import Folder, read_json, write_json, write_secret
from labext.sandbox.naming import absent, check_yes, checked_name
from labext.sandbox.nb import settings
from labext.sandbox.nb.app import service
from labext.sandbox.nb.credentials import keeping as credentials
from labext.sandbox.nb.faults import Refusal
from labext.sandbox.nb.models import keeping, locating, registry, steps
from labext.sandbox.nb.models.providers import OPENAI_COMPATIBLE
from labext.sandbox.nb.passwords import hashed
from labext.sandbox.nb.seed import password_file
from labext.sandbox.nb.store import (
    COMPLETED,
    FAILED,
    NEW,
    RUNNING,
    ChatSession,
    Credential,
    Default,
    Model,
    Note,
    Notebook,
    Source,
)

MODEL_NAME_LENGTH = 100
SHORTEST, LONGEST = 8, 200

_PASSWORD = re.compile(rf"[!-~]{{{SHORTEST},{LONGEST}}}")
_ERRORS: dict[int, type[LabextError]] = {400: ConflictError, 404: NotFoundError, 422: InputError}


class NotebookAdministration(Administration):
    """The notebook service of a sandbox, with the calls of its operator.

    Models are named by their name or identifier; models of one address share a credential.
    """

    def status(self) -> Record:
        """Return where the service is, its settings, its numbers, and its models by slot."""
        with self.database.read() as session:
            by_status = session.execute(select(Source.status, func.count()).group_by(Source.status))
            sources = dict.fromkeys((NEW, RUNNING, COMPLETED, FAILED), 0)
            for state, number in by_status:
                sources[state] = number
            slots = session.scalars(select(Default).order_by(Default.slot))
            return {
                "running": self.running,
                "base_url": f"{self.site.origin}/api" if self.site.origin else "",
                "password": settings.value(session, settings.PASSWORD) is not None,
                "private_fetches": settings.private_fetches(session),
                "notebooks": counted(session, Notebook),
                "sources": sources,
                "notes": counted(session, Note),
                "sessions": counted(session, ChatSession),
                "models": {default.slot: default.model_id for default in slots},
            }

    def set_password(self, password: str) -> Record:
        """Require a password from the next request on; its hash is in the database."""
        if not _PASSWORD.fullmatch(password):
            raise InputError(
                "This can't be the password.",
                f"Use {SHORTEST} to {LONGEST} letters, digits and signs of ASCII, without blanks.",
            )
        password_hash = hashed(password)
        with self.database.write() as session:
            settings.change(session, settings.PASSWORD, password_hash)
            session.flush()
            write_secret(password_file(self.site), password)
        self._update_connection(password)
        return {"password": True}

    def remove_password(self, *, yes: bool) -> Record:
        """Require no password from the next request on."""
        check_yes(
            yes,
            "This would remove the password of the notebook service: whoever can reach it on this "
            "machine may read and change all that is in it.",
        )
        with self.database.write() as session:
            settings.change(session, settings.PASSWORD, None)
        password_file(self.site).unlink(missing_ok=True)
        self._update_connection(None)
        return {"password": False}

    def _update_connection(self, password: str | None) -> None:
        """Write the password into connection.json, which exists while the sandbox runs."""
        folder = Folder(self.site.secrets.parent)
        connection = read_json(folder.connection)
        entry = connection.get("nb")
        if not isinstance(entry, dict):
            return
        entry = {name: value for name, value in entry.items() if name != "password"}
        if password is not None:
            entry["password"] = password
        write_json(folder.connection, connection | {"nb": entry})

    def set_private_fetches(self, allowed: bool) -> Record:
        """Allow pages of this machine and of its own network as sources, or not."""
        with self.database.write() as session:
            settings.change(session, settings.PRIVATE_FETCHES, "yes" if allowed else None)
        return {"private_fetches": allowed}

    def models(self) -> list[Record]:
        """List the models with type, provider, server, slots and whether there is a key."""
        with self.database.read() as session:
            rows = session.execute(
                select(Model, Credential)
                .outerjoin(Credential, Credential.id == Model.credential_id)
                .order_by(Model.kind.desc(), Model.name, Model.id)
            ).all()
            defaults = keeping.defaults(session)
            return [
                {
                    **_record(model, credential),
                    "key": credential is not None and credential.key is not None,
                    "default_for": sorted(slot for slot, id in defaults.items() if id == model.id),
                }
                for model, credential in rows
            ]

    def add_model(self, name: str, kind: str, base_url: str, key: str | None) -> Record:
        """Add a model of an OpenAI-compatible server; a key becomes that of its address."""
        checked_name("a model", name, MODEL_NAME_LENGTH)
        with refusals(), self.database.write() as session:
            url = locating.checked(base_url)
            existing = select(Credential).where(Credential.base_url == url)
            credential = session.scalars(existing).first()
            if credential is None:
                host = urlsplit(url).netloc
                credential = credentials.make(session, self.site, OPENAI_COMPATIBLE, host, key, url)
            elif key is not None:
                credentials.change(session, self.site, credential.id, {"api_key": key})
            model = keeping.make(session, name, kind, credential.provider, credential.id)
        return _record(model, credential)

    def set_model_key(self, name: str, key: str | None) -> Record:
        """Set another key for the server of a model, or none."""
        with refusals(), self.database.write() as session:
            model = model_of(session, name)
            if registry.is_built_in(model):
                raise InputError(
                    f"The model {wording.shown(model.name)} is built in and needs no key.",
                    "Name a model of a server; `labext sandbox nb models list` has them.",
                )
            if model.credential_id is None:
                raise InputError(
                    f"The model {wording.shown(model.name)} names no credential.",
                    f"Add one: {steps.new_credential(model.provider)}.",
                )
            changed = credentials.change(session, self.site, model.credential_id, {"api_key": key})
        return {**_record(model, changed), "key": key is not None}

    def set_default(self, slot: str, name: str | None) -> Record:
        """Set the model of a slot, or none."""
        if slot not in registry.SLOTS:
            raise absent("slot", slot, registry.SLOTS)
        with refusals(), self.database.write() as session:
            model = None if name is None else model_of(session, name)
            keeping.set_defaults(session, self.site, {slot: None if model is None else model.id})
        return {"slot": slot, "model": model and model.name, "id": model and model.id}

    def remove_model(self, name: str, *, yes: bool) -> Record:
        """Remove a model, and its credential with the last model that uses it."""
        with refusals(), self.database.write() as session:
            model = keeping.delete(session, model_of(session, name).id)
            check_yes(yes, f"This would remove the model {wording.shown(model.name)}.")
            id = model.credential_id
            if id is not None and not counted(session, Model, Model.credential_id == id):
                credentials.delete(session, id)
        return {"removed": model.name, "id": model.id}


opened = partial(administration.opened, service=service, administration=NotebookAdministration)
"""Open the notebook service of the sandbox in a folder; see `administration.opened`."""


@contextmanager
def refusals() -> Iterator[None]:
    """Raise a refusal of the service as a LabextError with its next step."""
    try:
        yield
    except Refusal as error:
        kind = _ERRORS.get(error.status_code, SetupError)
        raise kind(error.what, error.step or "See `labext sandbox nb models list`.") from None


def model_of(session: Session, name: str) -> Model:
    """Return the model of a name or an identifier."""
    found = list(session.scalars(select(Model).where((Model.id == name) | (Model.name == name))))
    if not found:
        raise absent("model", name, session.scalars(select(Model.name)))
    if len(found) > 1:
        raise ConflictError(
            f"{len(found)} models are called {wording.shown(name)}.",
            f"Name one by its identifier: {wording.listed(sorted(m.id for m in found))}.",
        )
    return found[0]


def _record(model: Model, credential: Credential | None) -> Record:
    return {
        "id": model.id,
        "name": model.name,
        "type": model.kind,
        "provider": model.provider,
        "base_url": None if credential is None else credential.base_url,
    }
