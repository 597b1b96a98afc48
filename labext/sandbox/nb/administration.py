"""Administer the notebook service: password, private pages, models and their keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from urllib.parse import urlsplit

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from labext import messages
from labext.actions import Action
from labext.errors import ConflictError, InputError, LabextError, NotFoundError, SetupError
from labext.sandbox.core import administration
from labext.sandbox.core.administration import Administration, Record
from labext.sandbox.core.data_folder import (
    DataFolder,
    admin_command,
    read_json,
    write_json,
    write_secret,
)
from labext.sandbox.core.database import count_rows
from labext.sandbox.core.validation import not_found_error, require_confirmation, validate_name
from labext.sandbox.nb import addresses, settings
from labext.sandbox.nb.app import service
from labext.sandbox.nb.credentials import service as credentials
from labext.sandbox.nb.errors import ServiceError
from labext.sandbox.nb.middleware import hash_password
from labext.sandbox.nb.models.service import create_model, delete_model, get_defaults, set_defaults
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.providers.registry import OPENAI_COMPATIBLE
from labext.sandbox.nb.seed import password_file
from labext.sandbox.nb.tables import (
    COMPLETED,
    FAILED,
    NEW,
    RUNNING,
    ChatSession,
    Credential,
    DefaultModel,
    Model,
    Note,
    Notebook,
    Source,
)

MAX_MODEL_NAME_LENGTH = 100
MIN_PASSWORD_LENGTH, MAX_PASSWORD_LENGTH = 8, 200

_PASSWORD_PATTERN = re.compile(rf"[!-~]{{{MIN_PASSWORD_LENGTH},{MAX_PASSWORD_LENGTH}}}")
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
            slots = session.scalars(select(DefaultModel).order_by(DefaultModel.slot))
            return {
                "running": self.running,
                "base_url": f"{self.site.origin}/api" if self.site.origin else "",
                "password": settings.get_setting(session, settings.PASSWORD) is not None,
                "private_fetches": settings.allows_private_fetches(session),
                "notebooks": count_rows(session, Notebook),
                "sources": sources,
                "notes": count_rows(session, Note),
                "sessions": count_rows(session, ChatSession),
                "models": {default.slot: default.model_id for default in slots},
            }

    def set_password(self, password: str) -> Record:
        """Require a password from the next request on; its hash is in the database."""
        if not _PASSWORD_PATTERN.fullmatch(password):
            raise InputError(
                "The password is invalid.",
                f"Use {MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH} printable ASCII "
                "characters without blanks.",
            )
        password_hash = hash_password(password)
        with self.database.write() as session:
            settings.set_setting(session, settings.PASSWORD, password_hash)
            session.flush()
            write_secret(password_file(self.site), password)
        self._update_connection(password)
        return {"password": True}

    def remove_password(self, *, yes: bool) -> Record:
        """Require no password from the next request on."""
        require_confirmation(
            yes,
            "This would remove the password of the notebook service: anyone who can reach it may "
            "read and change all that is in it.",
        )
        with self.database.write() as session:
            settings.set_setting(session, settings.PASSWORD, None)
        password_file(self.site).unlink(missing_ok=True)
        self._update_connection(None)
        return {"password": False}

    def _update_connection(self, password: str | None) -> None:
        """Write the password into connection.json, which exists while a sandbox runs."""
        folder = DataFolder(self.site.secrets.parent)
        connection = read_json(folder.connection)
        entry = connection.get("nb")
        if not isinstance(entry, dict) or folder.is_server():  # which hands out no keys
            return
        entry = {name: value for name, value in entry.items() if name != "password"}
        if password is not None:
            entry["password"] = password
        write_json(folder.connection, connection | {"nb": entry})

    def set_private_fetches(self, allowed: bool) -> Record:
        """Allow or reject pages of this machine and of its network as sources."""
        with self.database.write() as session:
            settings.set_setting(session, settings.PRIVATE_FETCHES, "yes" if allowed else None)
        return {"private_fetches": allowed}

    def models(self) -> list[Record]:
        """List the models with type, provider, server, slots and whether there is a key."""
        with self.database.read() as session:
            rows = session.execute(
                select(Model, Credential)
                .outerjoin(Credential, Credential.id == Model.credential_id)
                .order_by(Model.kind.desc(), Model.name, Model.id)
            ).all()
            defaults = get_defaults(session)
            return [
                {
                    **_to_record(model, credential),
                    "key": credential is not None and credential.key is not None,
                    "default_for": sorted(slot for slot, id in defaults.items() if id == model.id),
                }
                for model, credential in rows
            ]

    def add_model(self, name: str, kind: str, base_url: str, key: str | None) -> Record:
        """Add a model of an OpenAI-compatible server; a key becomes that of its address."""
        validate_name("a model", name, MAX_MODEL_NAME_LENGTH)
        with as_labext_errors(), self.database.write() as session:
            url = addresses.check_base_url(base_url)
            existing = select(Credential).where(Credential.base_url == url)
            credential = session.scalars(existing).first()
            if credential is None:
                host = urlsplit(url).netloc
                credential = credentials.create_credential(
                    session, self.site, OPENAI_COMPATIBLE, host, key, url
                )
            elif key is not None:
                credentials.update_credential(session, self.site, credential.id, {"api_key": key})
            model = create_model(session, name, kind, credential.provider, credential.id)
        return _to_record(model, credential)

    def set_model_key(self, name: str, key: str | None) -> Record:
        """Set or remove the key for the server of a model."""
        with as_labext_errors(), self.database.write() as session:
            model = find_model(session, name)
            if registry.is_built_in(model):
                raise InputError(
                    f"The model {messages.quote_value(model.name)} is built in and needs no key.",
                    f"Name a model of a server; {admin_command('nb models list')} has them.",
                )
            if model.credential_id is None:
                raise InputError(
                    f"The model {messages.quote_value(model.name)} names no credential.",
                    "Add one: {action}.",
                    action=Action.add_credential(model.provider),
                )
            changed = credentials.update_credential(
                session, self.site, model.credential_id, {"api_key": key}
            )
        return {**_to_record(model, changed), "key": key is not None}

    def set_default(self, slot: str, name: str | None) -> Record:
        """Set or clear the model of a slot."""
        if slot not in registry.SLOTS:
            raise not_found_error("slot", slot, registry.SLOTS)
        with as_labext_errors(), self.database.write() as session:
            model = None if name is None else find_model(session, name)
            set_defaults(session, self.site, {slot: None if model is None else model.id})
        return {"slot": slot, "model": model and model.name, "id": model and model.id}

    def remove_model(self, name: str, *, yes: bool) -> Record:
        """Remove a model, and its credential with the last model that uses it."""
        with as_labext_errors(), self.database.write() as session:
            model = delete_model(session, find_model(session, name).id)
            require_confirmation(
                yes, f"This would remove the model {messages.quote_value(model.name)}."
            )
            id = model.credential_id
            if id is not None and not count_rows(session, Model, Model.credential_id == id):
                credentials.delete_credential(session, id)
        return {"removed": model.name, "id": model.id}


open_administration = partial(
    administration.open_administration, service=service, administration=NotebookAdministration
)
"""Open the notebook service of the sandbox in a folder; see `core.administration`."""


@contextmanager
def as_labext_errors() -> Iterator[None]:
    """Raise an error of the service as a LabextError with its next step."""
    try:
        yield
    except ServiceError as error:
        kind = _ERRORS.get(error.status_code, SetupError)
        step = error.next_step or f"See {admin_command('nb models list')}."
        if error.action is not None:
            step = error.action.sentence(step)
        raise kind(error.message, step, action=error.action) from None


def find_model(session: Session, name: str) -> Model:
    """Return the model of a name or an identifier."""
    models = list(session.scalars(select(Model).where((Model.id == name) | (Model.name == name))))
    if not models:
        raise not_found_error("model", name, session.scalars(select(Model.name)))
    if len(models) > 1:
        raise ConflictError(
            f"{len(models)} models are called {messages.quote_value(name)}.",
            f"Name one by its identifier: {messages.join_words(sorted(m.id for m in models))}.",
        )
    return models[0]


def _to_record(model: Model, credential: Credential | None) -> Record:
    return {
        "id": model.id,
        "name": model.name,
        "type": model.kind,
        "provider": model.provider,
        "base_url": None if credential is None else credential.base_url,
    }
