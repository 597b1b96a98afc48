"""Create, discover, list and delete models; set and assign the default slots."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext import messages
from labext.sandbox.core.database import count_rows
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors, tables
from labext.sandbox.nb.dependencies import format_time
from labext.sandbox.nb.embedding import passage_vectors
from labext.sandbox.nb.providers import registry, servers
from labext.sandbox.nb.providers.registry import (
    BUILT_IN,
    MODEL_TYPES,
    PROVIDER_NAMES,
    PROVIDERS,
    built_in_models,
    check_provider,
    get_provider,
    guess_model_type,
)
from labext.sandbox.nb.tables import Credential, DefaultModel, Model


def list_models(
    session: Session, kind: str | None = None, provider: str | None = None
) -> list[Model]:
    """The models, perhaps of a type or a provider alone; the last added first."""
    wanted = select(Model).order_by(Model.created.desc(), Model.name, Model.id)
    if kind is not None:
        wanted = wanted.where(Model.kind == kind)
    if provider is not None:
        wanted = wanted.where(Model.provider == provider)
    return list(session.scalars(wanted))


def create_model(
    session: Session, name: str, kind: str, provider: str, credential_id: str | None = None
) -> Model:
    """Add a model.

    Raises:
        HTTPException: 400, there is no such provider, the credential is another one's, or there is
            the same model already; 404, there is no such credential.
    """
    get_provider(provider)
    if credential_id is not None:
        credential = session.get(Credential, credential_id)
        if credential is None:
            raise errors.not_found("credential", credential_id)
        if credential.provider != provider:
            raise errors.bad_request(
                f"The credential {credential.name} is for {credential.provider}, and the model is "
                f"of {provider}.",
                "Choose a credential of the model's provider; see `%nb credentials`.",
            )
    if _exists(session, name, kind, provider, credential_id):
        raise errors.bad_request(
            f"There is the model {name} of {provider} and type {kind} already.",
            "See `%nb models`.",
        )
    made = _new_model(name, kind, provider, credential_id)
    session.add(made)
    session.flush()
    return made


def register_models(
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
    session.add_all(_new_model(name, kind, provider, credential_id) for name, kind in new)
    session.flush()
    return len(new), len(found) - len(new)


def delete_model(session: Session, identifier: str) -> Model:
    """Delete a model.

    Raises:
        HTTPException: 404; 400, it comes with the service, or a default slot has it.
    """
    model = registry.get_model(session, identifier)
    if registry.is_built_in(model):
        raise errors.bad_request(
            f"The model {model.name} comes with the service and stays.",
            f"Give its slots other models: {registry.set_slot_line('SLOT')}.",
        )
    check_not_default(session, [model])
    session.delete(model)
    session.flush()
    return model


def check_not_default(session: Session, models: Sequence[Model]) -> None:
    """See that no default slot has one of some models.

    Raises:
        HTTPException: 400, one has; it names them all.
    """
    names = {model.id: model.name for model in models}
    defaults = session.scalars(select(DefaultModel).order_by(DefaultModel.slot))
    if held := [each for each in defaults if each.model_id in names]:
        used = dict.fromkeys(names[each.model_id] for each in held)
        slots = [each.slot for each in held]
        raise errors.bad_request(
            f"{messages.join_words(used)} {'is' if len(used) == 1 else 'are'} the default for "
            f"{messages.join_words(slots, len(slots))}.",
            f"Set another model first: {registry.set_slot_line(slots[0])}, or "
            f"`%nb models defaults --clear {slots[0]}`.",
        )


def get_defaults(session: Session) -> dict[str, str | None]:
    """The identifier of every slot's model."""
    there = {each.slot: each.model_id for each in session.scalars(select(DefaultModel))}
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
            model = registry.get_model(session, identifier, registry.SLOTS[slot])
            session.merge(DefaultModel(slot=slot, model_id=model.id))
        elif (there := session.get(DefaultModel, slot)) is not None:
            session.delete(there)
    session.flush()
    if "embedding" in wanted:
        passage_vectors.queue_if_due(session, site)


def model_record(model: Model) -> dict[str, Any]:
    """A model as it is answered."""
    return {
        "id": model.id,
        "name": model.name,
        "provider": model.provider,
        "type": model.kind,
        "credential": model.credential_id,
        "created_at": format_time(model.created),
        "updated_at": format_time(model.updated),
    }


def _exists(
    session: Session, name: str, kind: str, provider: str, credential_id: str | None
) -> bool:
    same = (Model.name == name, Model.kind == kind, Model.provider == provider)
    return count_rows(session, Model, *same, Model.credential_id == credential_id) > 0


def _new_model(name: str, kind: str, provider: str, credential_id: str | None) -> Model:
    now = time.time()
    return Model(
        id=tables.new_identifier("model"),
        name=name,
        kind=kind,
        provider=provider,
        credential_id=credential_id,
        created=now,
        updated=now,
    )


def assign_defaults(session: Session, site: Site) -> dict[str, Any]:
    """Give every slot that has no model the first of the ranking.

    Args:
        session: a writing one.
        site: has the queue, for the vectors of an embedding model.

    Returns:
        `assigned`, models' identifiers by slots; `skipped`, the slots that had a model; `missing`,
        those for which there is none.
    """
    there = get_defaults(session)
    empty = [slot for slot, identifier in there.items() if identifier is None]
    ranked = _rank_models(session, site) if empty else []
    best = {slot: _first_of_type(ranked, registry.SLOTS[slot]) for slot in empty}
    found = {slot: model.id for slot, model in best.items() if model is not None}
    set_defaults(session, site, found)
    return {
        "assigned": found,
        "skipped": [slot for slot in there if slot not in empty],
        "missing": [slot for slot in empty if slot not in found],
    }


def _rank_models(session: Session, site: Site) -> list[Model]:
    usable = servers.configured_providers(site, session) | {registry.BUILT_IN}
    models = [model for model in list_models(session) if model.provider in usable]
    return sorted(models, key=_ranking_key)


def _ranking_key(model: Model) -> tuple[int, bool, float, str]:
    is_fallback = model.id == registry.FALLBACK_TTS
    return PROVIDER_NAMES.index(model.provider), is_fallback, model.created, model.name


def _first_of_type(ranked: list[Model], kind: str) -> Model | None:
    return next((model for model in ranked if model.kind == kind), None)


def list_providers(site: Site) -> dict[str, Any]:
    """The providers that can be asked and those that can't yet, and the types that each has."""
    with site.database.read() as session:
        ready = servers.configured_providers(site, session) | {BUILT_IN}
    here = {kind for _, kind in built_in_models().values()}
    types = {name: list(known.kinds) for name, known in PROVIDERS.items()}
    return {
        "available": [name for name in PROVIDER_NAMES if name in ready],
        "unavailable": [name for name in PROVIDER_NAMES if name not in ready],
        "supported_types": types | {BUILT_IN: [kind for kind in MODEL_TYPES if kind in here]},
    }


def count_models(site: Site, provider: str) -> dict[str, Any]:
    """How many models of a provider there are, by their types.

    Raises:
        HTTPException: 400, there is no such provider.
    """
    with site.database.read() as session:
        found = Counter(
            each.kind for each in list_models(session, provider=check_provider(provider))
        )
    counts = {kind: found[kind] for kind in MODEL_TYPES}
    return {"provider": provider, "counts": counts, "total": found.total()}


ModelTypes = dict[str, str | None]
"""The names of models, and the type of each; None is none that the service uses."""


def discover_models(site: Site, provider: str) -> list[dict[str, Any]]:
    """The models that a provider says it has, by all of its credentials.

    Raises:
        HTTPException: 400, there is no such provider; 422, it can't be asked; 502, it failed.
    """
    every: ModelTypes = {}
    for _, found in _query_servers(site, check_provider(provider)):
        every |= found
    return _to_records(provider, every)


def discover_by_credential(site: Site, credential: Credential) -> list[dict[str, Any]]:
    """The models that a credential's server says it has.

    Raises:
        HTTPException: 422, it can't be asked; 502, it failed.
    """
    from labext.sandbox.nb.providers import openai

    found = openai.list_models(servers.listing_server(site, credential))
    return _to_records(credential.provider, {name: guess_model_type(name) for name in found})


def sync_provider(site: Site, provider: str) -> dict[str, Any]:
    """Add the models of a provider that aren't there yet, but for those of no type.

    One that is there has the type that it was given, whatever its name looks like.

    Raises:
        HTTPException: as `discovered`.
    """
    asked = list(_query_servers(site, check_provider(provider)))
    with site.database.write() as session:
        before = len(list_models(session, provider=provider))
        if provider == registry.BUILT_IN:
            registry.seed_models(session)
        else:
            for credential_id, found in asked:
                if credential_id is None or session.get(Credential, credential_id) is not None:
                    there = set(session.scalars(_model_names(provider, credential_id)))
                    new = [(n, kind) for n, kind in found.items() if kind and n not in there]
                    register_models(session, provider, credential_id, new)
        made = len(list_models(session, provider=provider)) - before
    usable = sum(kind is not None for _, found in asked for kind in found.values())
    return {
        "provider": provider,
        "discovered": sum(len(found) for _, found in asked),
        "new": made,
        "existing": usable - made,
    }


def sync_all_providers(site: Site) -> dict[str, Any]:
    """Add the models of every provider that can be asked; one that fails keeps no other back."""
    with site.database.read() as session:
        ready = servers.configured_providers(site, session)
    known = [name for name in PROVIDERS if name in ready]
    results: dict[str, Any] = {}
    for provider in (*known, registry.BUILT_IN):
        try:
            results[provider] = sync_provider(site, provider)
        except HTTPException as error:
            results[provider] = {"error": str(error.detail)}
    well = [each for each in results.values() if "error" not in each]
    return {
        "results": results,
        "total_discovered": sum(each["discovered"] for each in well),
        "total_new": sum(each["new"] for each in well),
    }


def _query_servers(site: Site, provider: str) -> Iterator[tuple[str | None, ModelTypes]]:
    """What each server of a provider says it has, and its credential's identifier."""
    if provider == registry.BUILT_IN:
        yield None, dict(registry.built_in_models().values())
        return
    from labext.sandbox.nb.providers import openai

    for credential_id, server in servers.listing_servers(site, provider):
        yield credential_id, {name: guess_model_type(name) for name in openai.list_models(server)}


def _model_names(provider: str, credential_id: str | None) -> Any:
    wanted = select(Model.name).where(Model.provider == provider)
    return wanted.where(Model.credential_id == credential_id)


def _to_records(provider: str, found: ModelTypes) -> list[dict[str, Any]]:
    return [
        {"name": name, "provider": provider, "model_type": kind, "description": None}
        for name, kind in found.items()
    ]
