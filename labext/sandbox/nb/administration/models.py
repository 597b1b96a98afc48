"""The models of the service: of which servers they are, by which keys, and what they are used for.

What the routes do with models and credentials is done here too (`models.keeping`,
`credentials.keeping`); models go by their names. Models of one address share a credential.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext import wording
from labext.errors import ConflictError, InputError, NotFoundError
from labext.sandbox.database import counted
from labext.sandbox.naming import absent, check_yes, checked_name
from labext.sandbox.nb.administration import Administration, Record
from labext.sandbox.nb.administration.refusals import told
from labext.sandbox.nb.credentials import keeping as credentials
from labext.sandbox.nb.models import keeping, locating, registry, steps
from labext.sandbox.nb.models.providers import OPENAI_COMPATIBLE
from labext.sandbox.nb.store import Credential, Model

LONGEST = 100
"""Characters of a model's name."""


def models(admin: Administration) -> list[Record]:
    """Every model: its type, its provider and server, whether that has a key, and its slots."""
    with admin.database.read() as session:
        found = session.execute(
            select(Model, Credential)
            .outerjoin(Credential, Credential.id == Model.credential_id)
            .order_by(Model.kind.desc(), Model.name, Model.id)
        ).all()
        slots = keeping.defaults(session)
        return [
            {
                **_record(model, credential),
                "key": credential is not None and credential.key is not None,
                "default_for": sorted(slot for slot, has in slots.items() if has == model.id),
            }
            for model, credential in found
        ]


def add_model(
    admin: Administration, name: str, kind: str, base_url: str, key: str | None
) -> Record:
    """Add a model of an OpenAI-compatible server; with a key, which its address has from then on.

    Raises:
        ConflictError: the name, the address or the key can't be one, or the server has the model
            already.
    """
    checked_name("a model", name, LONGEST)
    with told(), admin.database.write() as session:
        url = locating.checked(base_url)
        credential = session.scalars(select(Credential).where(Credential.base_url == url)).first()
        if credential is None:
            host = urlsplit(url).netloc
            credential = credentials.make(session, admin.site, OPENAI_COMPATIBLE, host, key, url)
        elif key is not None:
            credentials.change(session, admin.site, credential.id, {"api_key": key})
        made = keeping.make(session, name, kind, credential.provider, credential.id)
    return _record(made, credential)


def set_key(admin: Administration, name: str, key: str | None) -> Record:
    """Give a model's server another key, or none.

    Raises:
        NotFoundError: there is no such model.
        InputError: the key can't be one, or the model has no credential.
    """
    with told(), admin.database.write() as session:
        model = model_of(session, name)
        if registry.is_built_in(model):
            raise InputError(
                f"The model {wording.shown(model.name)} comes with the service and needs no key.",
                "Name a model of a server; `labext sandbox nb models list` has them.",
            )
        if model.credential_id is None:
            raise InputError(
                f"The model {wording.shown(model.name)} names no credential.",
                f"Add one: {steps.new_credential(model.provider)}.",
            )
        changed = credentials.change(session, admin.site, model.credential_id, {"api_key": key})
    return {**_record(model, changed), "key": key is not None}


def set_default(admin: Administration, slot: str, name: str | None) -> Record:
    """Let a model be used for a slot; None: no model.

    Raises:
        NotFoundError: there is no such slot or model.
        InputError: the model is not of the slot's type.
    """
    if slot not in registry.SLOTS:
        raise absent("slot", slot, registry.SLOTS)
    with told(), admin.database.write() as session:
        model = None if name is None else model_of(session, name)
        keeping.set_defaults(session, admin.site, {slot: None if model is None else model.id})
    return {"slot": slot, "model": model and model.name, "id": model and model.id}


def remove_model(admin: Administration, name: str, *, yes: bool) -> Record:
    """Remove a model; with the last one of a credential also that.

    Raises:
        NotFoundError: there is no such model.
        ConflictError: it comes with the service, or a slot has it.
        InputError: `yes` is not given.
    """
    with told(), admin.database.write() as session:
        model = keeping.delete(session, model_of(session, name).id)
        check_yes(yes, f"This would remove the model {wording.shown(model.name)}.")
        identifier = model.credential_id
        if identifier is not None and not counted(
            session, Model, Model.credential_id == identifier
        ):
            credentials.delete(session, identifier)
    return {"removed": model.name, "id": model.id}


def model_of(session: Session, name: str) -> Model:
    """The model of a name or an identifier.

    Raises:
        NotFoundError: there is none.
        ConflictError: several have the name.
    """
    found = list(session.scalars(select(Model).where((Model.id == name) | (Model.name == name))))
    if len(found) > 1:
        raise ConflictError(
            f"{len(found)} models are called {wording.shown(name)}.",
            f"Name one by its identifier: {wording.listed(sorted(m.id for m in found))}.",
        )
    if not found:
        missing: NotFoundError = absent("model", name, session.scalars(select(Model.name)))
        raise missing
    return found[0]


def _record(model: Model, credential: Credential | None) -> Record:
    return {
        "id": model.id,
        "name": model.name,
        "type": model.kind,
        "provider": model.provider,
        "base_url": None if credential is None else credential.base_url,
    }
