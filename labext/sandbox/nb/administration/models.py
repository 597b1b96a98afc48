"""The models of the service: of which servers they are, by which keys, and what they are used for.

A key is stored encrypted (`labext.sandbox.nb.models.encryption`) and never shown. Models of one
address share its key.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext import config, wording
from labext.errors import ConflictError, InputError, NotFoundError
from labext.sandbox.database import counted
from labext.sandbox.naming import absent, check_yes, checked_name
from labext.sandbox.nb import identifiers
from labext.sandbox.nb.administration import Administration, Record
from labext.sandbox.nb.models import registry
from labext.sandbox.nb.models.encryption import encrypted
from labext.sandbox.nb.store import Credential, Default, Model

LONGEST = 100
"""Characters of a model's name."""

PROVIDER = "openai-compatible"


def models(admin: Administration) -> list[Record]:
    """Every model: its type, its provider and server, whether that has a key, and its slots."""
    with admin.database.read() as session:
        found = session.execute(
            select(Model, Credential)
            .outerjoin(Credential, Credential.id == Model.credential_id)
            .order_by(Model.kind.desc(), Model.name, Model.id)
        ).all()
        return [
            {
                **_record(model, credential),
                "key": credential is not None and credential.key is not None,
                "default_for": _slots(session, model),
            }
            for model, credential in found
        ]


def add_model(
    admin: Administration, name: str, kind: str, base_url: str, key: str | None
) -> Record:
    """Add a model of an OpenAI-compatible server; with a key, which its address has from then on.

    Raises:
        InputError: the name, the address or the key can't be one.
        ConflictError: the server has the model already.
    """
    checked_name("a model", name, LONGEST)
    url = _checked_url(base_url)
    kept = None if key is None else encrypted(admin.site, _checked_key(key))
    with admin.database.write() as session:
        credential = session.scalars(select(Credential).where(Credential.base_url == url)).first()
        if credential is None:
            host = urlsplit(url).netloc
            new = identifiers.new("credential")
            credential = Credential(id=new, provider=PROVIDER, name=host, base_url=url)
            session.add(credential)
            session.flush()
        same = (Model.credential_id == credential.id, Model.name == name, Model.kind == kind)
        if counted(session, Model, *same):
            raise ConflictError(
                f"There is the model {wording.shown(name)} of {url} already.",
                "`labext sandbox nb models key` gives it another key.",
            )
        if kept is not None:
            credential.key = kept
        made = Model(
            id=identifiers.new("model"),
            name=name,
            kind=kind,
            provider=PROVIDER,
            credential_id=credential.id,
        )
        session.add(made)
    return _record(made, credential)


def set_key(admin: Administration, name: str, key: str | None) -> Record:
    """Give a model's server another key, or none.

    Raises:
        NotFoundError: there is no such model.
        InputError: the key can't be one, or the model has no server.
    """
    kept = None if key is None else encrypted(admin.site, _checked_key(key))
    with admin.database.write() as session:
        model = model_of(session, name)
        credential = model.credential_id and session.get(Credential, model.credential_id)
        if not credential:
            raise InputError(
                f"The model {wording.shown(model.name)} comes with the service and needs no key.",
                "Name a model of a server; `labext sandbox nb models list` has them.",
            )
        credential.key = kept
        return {**_record(model, credential), "key": kept is not None}


def set_default(admin: Administration, slot: str, name: str | None) -> Record:
    """Let a model be used for a slot; None: no model.

    Raises:
        NotFoundError: there is no such slot or model.
        InputError: the model is not of the slot's type.
    """
    if slot not in registry.SLOTS:
        raise absent("slot", slot, registry.SLOTS)
    with admin.database.write() as session:
        if name is None:
            if (there := session.get(Default, slot)) is not None:
                session.delete(there)
            return {"slot": slot, "model": None, "id": None}
        model = model_of(session, name)
        if model.kind != registry.SLOTS[slot]:
            raise InputError(
                f"{wording.shown(model.name)} is of type {model.kind}, and {slot} takes "
                f"{registry.SLOTS[slot]}.",
                "`labext sandbox nb models list` tells the types.",
            )
        session.merge(Default(slot=slot, model_id=model.id))
        return {"slot": slot, "model": model.name, "id": model.id}


def remove_model(admin: Administration, name: str, *, yes: bool) -> Record:
    """Remove a model; with the last one of a server also its key.

    Raises:
        NotFoundError: there is no such model.
        ConflictError: it comes with the service, or a slot has it.
        InputError: `yes` is not given.
    """
    with admin.database.write() as session:
        model = model_of(session, name)
        if registry.is_built_in(model):
            raise ConflictError(
                f"The model {wording.shown(model.name)} comes with the service and stays.",
                "Give its slots other models: `labext sandbox nb models default`.",
            )
        if slots := _slots(session, model):
            raise ConflictError(
                f"{wording.shown(model.name)} is the default for {wording.listed(slots)}.",
                "Give these slots another model first: `labext sandbox nb models default`.",
            )
        check_yes(yes, f"This would remove the model {wording.shown(model.name)}.")
        credential_id = model.credential_id
        session.delete(model)
        session.flush()
        if not counted(session, Model, Model.credential_id == credential_id):
            session.delete(session.get_one(Credential, credential_id))
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


def _slots(session: Session, model: Model) -> list[str]:
    wanted = select(Default.slot).where(Default.model_id == model.id)
    return list(session.scalars(wanted.order_by(Default.slot)))


def _checked_url(base_url: str) -> str:
    return config.clean_url(base_url).rstrip("/")


def _checked_key(key: str) -> str:
    if not key.isascii() or not key.isprintable() or " " in key or not key:
        raise InputError(
            "This can't be a key: it is empty, or holds blanks or signs that a header can't.",
            "Copy it again from the provider's page.",
        )
    return key
