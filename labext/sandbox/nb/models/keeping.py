"""Models made and deleted, and the default slots: for the routes and for whoever runs the service.

Every function works in the transaction of its caller.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext import wording
from labext.sandbox.database import counted
from labext.sandbox.nb import faults, identifiers
from labext.sandbox.nb.calls import moment
from labext.sandbox.nb.models import registry, steps
from labext.sandbox.nb.models.providers import known
from labext.sandbox.nb.search import renewal
from labext.sandbox.nb.store import Credential, Default, Model
from labext.sandbox.service import Site


def listed(session: Session, kind: str | None = None, provider: str | None = None) -> list[Model]:
    """The models, perhaps of a type or a provider alone; the last added first."""
    wanted = select(Model).order_by(Model.created.desc(), Model.name, Model.id)
    if kind is not None:
        wanted = wanted.where(Model.kind == kind)
    if provider is not None:
        wanted = wanted.where(Model.provider == provider)
    return list(session.scalars(wanted))


def make(
    session: Session, name: str, kind: str, provider: str, credential_id: str | None = None
) -> Model:
    """Add a model.

    Raises:
        HTTPException: 400, there is no such provider, the credential is another one's, or there is
            the same model already; 404, there is no such credential.
    """
    known(provider)
    if credential_id is not None:
        credential = session.get(Credential, credential_id)
        if credential is None:
            raise faults.absent("credential", credential_id)
        if credential.provider != provider:
            raise faults.invalid(
                f"The credential {credential.name} is for {credential.provider}, and the model is "
                f"of {provider}.",
                "Choose a credential of the model's provider; see `%nb credentials`.",
            )
    if _is_there(session, name, kind, provider, credential_id):
        raise faults.invalid(
            f"There is the model {name} of {provider} and type {kind} already.",
            "See `%nb models`.",
        )
    made = _new(name, kind, provider, credential_id)
    session.add(made)
    session.flush()
    return made


def register(
    session: Session, provider: str, credential_id: str | None, found: Sequence[tuple[str, str]]
) -> tuple[int, int]:
    """Add the models that aren't there yet.

    Args:
        session: a writing one.
        provider: whose they are.
        credential_id: its credential's, if it has one.
        found: names and types.

    Returns:
        how many were made, and how many there were.
    """
    of = (Model.provider == provider, Model.credential_id == credential_id)
    there = {
        (name, kind) for name, kind in session.execute(select(Model.name, Model.kind).where(*of))
    }
    new = [each for each in dict.fromkeys(found) if each not in there]
    session.add_all(_new(name, kind, provider, credential_id) for name, kind in new)
    session.flush()
    return len(new), len(found) - len(new)


def delete(session: Session, identifier: str) -> Model:
    """Delete a model.

    Raises:
        HTTPException: 404; 400, it comes with the service, or a default slot has it.
    """
    model = registry.model(session, identifier)
    if registry.is_built_in(model):
        raise faults.invalid(
            f"The model {model.name} comes with the service and stays.",
            f"Give its slots other models: {steps.set_slot('SLOT')}.",
        )
    check_unused(session, [model])
    session.delete(model)
    session.flush()
    return model


def check_unused(session: Session, models: Sequence[Model]) -> None:
    """See that no default slot has one of some models.

    Raises:
        HTTPException: 400, one has; it names them all.
    """
    names = {model.id: model.name for model in models}
    defaults = session.scalars(select(Default).order_by(Default.slot))
    if held := [each for each in defaults if each.model_id in names]:
        used = dict.fromkeys(names[each.model_id] for each in held)
        slots = [each.slot for each in held]
        raise faults.invalid(
            f"{wording.listed(used)} {'is' if len(used) == 1 else 'are'} the default for "
            f"{wording.listed(slots, len(slots))}.",
            f"Set another model first: {steps.set_slot(slots[0])}, or "
            f"`%nb models defaults --clear {slots[0]}`.",
        )


def defaults(session: Session) -> dict[str, str | None]:
    """The identifier of every slot's model."""
    there = {each.slot: each.model_id for each in session.scalars(select(Default))}
    return {slot: there.get(slot) for slot in registry.SLOTS}


def set_defaults(session: Session, site: Site, wanted: Mapping[str, str | None]) -> None:
    """Give slots models, or none; another embedding model makes its vectors in the background.

    Args:
        session: a writing one.
        site: has the queue.
        wanted: models' identifiers by slots; None takes the slot's model away.

    Raises:
        HTTPException: 404, there is no such model; 422, it is not of the slot's type.
    """
    for slot, identifier in wanted.items():
        if identifier is not None:
            model = registry.model(session, identifier, registry.SLOTS[slot])
            session.merge(Default(slot=slot, model_id=model.id))
        elif (there := session.get(Default, slot)) is not None:
            session.delete(there)
    session.flush()
    if "embedding" in wanted:
        renewal.renew(session, site)


def record(model: Model) -> dict[str, Any]:
    """A model as it is answered."""
    return {
        "id": model.id,
        "name": model.name,
        "provider": model.provider,
        "type": model.kind,
        "credential": model.credential_id,
        "created_at": moment(model.created),
        "updated_at": moment(model.updated),
    }


def _is_there(
    session: Session, name: str, kind: str, provider: str, credential_id: str | None
) -> bool:
    same = (Model.name == name, Model.kind == kind, Model.provider == provider)
    return counted(session, Model, *same, Model.credential_id == credential_id) > 0


def _new(name: str, kind: str, provider: str, credential_id: str | None) -> Model:
    now = time.time()
    return Model(
        id=identifiers.new("model"),
        name=name,
        kind=kind,
        provider=provider,
        credential_id=credential_id,
        created=now,
        updated=now,
    )
