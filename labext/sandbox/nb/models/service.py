"""Create, discover, list and delete models; set and assign the default slots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from labext import messages
from labext.actions import Action
from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors
from labext.sandbox.nb.embedding import passage_vectors
from labext.sandbox.nb.providers import registry, servers
from labext.sandbox.nb.providers.registry import PROVIDERS, check_provider, guess_model_type
from labext.sandbox.nb.queries import load
from labext.sandbox.nb.settings import EMBEDDING_FAILURE, set_setting
from labext.sandbox.nb.tables import Credential, DefaultModel, Model


def list_models(
    session: Session, kind: str | None = None, provider: str | None = None
) -> list[Model]:
    """Return the models, optionally of one type or provider, the last added first."""
    query = select(Model).order_by(Model.created.desc(), Model.name, Model.id)
    if kind is not None:
        query = query.where(Model.kind == kind)
    if provider is not None:
        query = query.where(Model.provider == provider)
    return list(session.scalars(query))


def create_model(
    session: Session, name: str, kind: str, provider: str, credential_id: str | None = None
) -> Model:
    """Add a model."""
    registry.get_provider(provider)
    if credential_id is not None:
        credential = load(session, Credential, credential_id)
        if credential.provider != provider:
            raise errors.bad_request(
                f"The credential {credential.name} is for {credential.provider}, and the model is "
                f"of {provider}.",
                "Choose a credential of the model's provider.",
                Action.list_credentials(),
            )
    same = {"name": name, "kind": kind, "provider": provider, "credential_id": credential_id}
    if session.scalars(select(Model).filter_by(**same)).first() is not None:
        raise errors.bad_request(
            f"The model {name} of {provider} with type {kind} already exists.",
            "See the models.",
            Action.list_models(),
        )
    model = Model(**same)
    session.add(model)
    session.flush()
    return model


def register_models(
    session: Session, provider: str, credential_id: str | None, models: Sequence[tuple[str, str]]
) -> tuple[int, int]:
    """Add models that do not exist yet; return the numbers of new and of existing models."""
    conditions = (Model.provider == provider, Model.credential_id == credential_id)
    existing = session.execute(select(Model.name, Model.kind).where(*conditions)).all()
    new = [item for item in dict.fromkeys(models) if item not in existing]
    session.add_all(
        Model(name=name, kind=kind, provider=provider, credential_id=credential_id)
        for name, kind in new
    )
    session.flush()
    return len(new), len(models) - len(new)


def delete_model(session: Session, identifier: str) -> Model:
    """Delete a model."""
    model = registry.get_model(session, identifier)
    if registry.is_built_in(model):
        raise errors.bad_request(
            f"The model {model.name} is built in and can't be deleted.",
            "Give its slots other models.",
            Action.set_model(),
        )
    check_not_default(session, [model])
    session.delete(model)
    session.flush()
    return model


def check_not_default(session: Session, models: Sequence[Model]) -> None:
    """Check that no default slot uses one of some models."""
    names = {model.id: model.name for model in models}
    defaults = session.scalars(select(DefaultModel).order_by(DefaultModel.slot))
    if in_use := [default for default in defaults if default.model_id in names]:
        used = dict.fromkeys(names[default.model_id] for default in in_use)
        slots = [default.slot for default in in_use]
        raise errors.bad_request(
            f"{messages.join_words(used)} {'is' if len(used) == 1 else 'are'} the default for "
            f"{messages.join_words(slots, len(slots))}.",
            "Clear the slot, or set another model first.",
            Action.set_model(slots[0]),
        )


def get_defaults(session: Session) -> dict[str, str | None]:
    """Return the identifier of every slot's model."""
    by_slot = {default.slot: default.model_id for default in session.scalars(select(DefaultModel))}
    return {slot: by_slot.get(slot) for slot in registry.SLOTS}


def set_defaults(session: Session, site: Site, assignments: Mapping[str, str | None]) -> None:
    """Set or clear the models of slots; a new embedding model embeds in the background."""
    for slot, identifier in assignments.items():
        if identifier is not None:
            model = registry.get_model(session, identifier, registry.SLOTS[slot])
            session.merge(DefaultModel(slot=slot, model_id=model.id))
        elif (default := session.get(DefaultModel, slot)) is not None:
            session.delete(default)
    session.flush()
    if "embedding" in assignments:
        set_setting(session, EMBEDDING_FAILURE, None)  # that of another model
        passage_vectors.queue_if_due(session, site)


def assign_defaults(session: Session, site: Site) -> dict[str, Any]:
    """Assign the best available model to every empty slot.

    `skipped` slots had a model, and for `missing` ones there is none.
    """
    defaults = get_defaults(session)
    empty = [slot for slot, identifier in defaults.items() if identifier is None]
    usable = servers.configured_providers(site, session) | {registry.BUILT_IN}
    models = [model for model in list_models(session) if model.provider in usable]
    ranked = sorted(models, key=_ranking_key, reverse=True)
    best = {model.kind: model.id for model in ranked}  # the last one of each kind
    assigned = {slot: best[registry.SLOTS[slot]] for slot in empty if registry.SLOTS[slot] in best}
    set_defaults(session, site, assigned)
    return {
        "assigned": assigned,
        "skipped": [slot for slot in defaults if slot not in empty],
        "missing": [slot for slot in empty if slot not in assigned],
    }


def _ranking_key(model: Model) -> tuple[int, bool, float, str]:
    is_fallback = model.id == registry.FALLBACK_TTS
    return registry.PROVIDER_NAMES.index(model.provider), is_fallback, model.created, model.name


ModelTypes = dict[str, str | None]
"""Types of models by name; None for a type that the service does not use."""


def discover_models(site: Site, provider: str) -> list[dict[str, Any]]:
    """Return the models listed by a provider, with all of its credentials."""
    models: ModelTypes = {}
    for _, server_models in _query_servers(site, check_provider(provider)):
        models |= server_models
    return _to_records(provider, models)


def discover_by_credential(site: Site, credential: Credential) -> list[dict[str, Any]]:
    """Return the models listed by a credential's server."""
    from labext.sandbox.nb.providers import calls

    names = calls.list_models(servers.server_of_credential(site, credential))
    return _to_records(credential.provider, {name: guess_model_type(name) for name in names})


def sync_provider(site: Site, provider: str) -> dict[str, Any]:
    """Add the missing models of a provider, except those of unused types.

    Existing models keep their type, even if the name suggests another.
    """
    listings = list(_query_servers(site, check_provider(provider)))
    with site.database.write() as session:
        before = len(list_models(session, provider=provider))
        if provider == registry.BUILT_IN:
            registry.seed_models(session)
        else:
            for credential_id, models in listings:
                if credential_id is None or session.get(Credential, credential_id) is not None:
                    same = (Model.provider == provider, Model.credential_id == credential_id)
                    existing = set(session.scalars(select(Model.name).where(*same)))
                    new = [(n, kind) for n, kind in models.items() if kind and n not in existing]
                    register_models(session, provider, credential_id, new)
        added = len(list_models(session, provider=provider)) - before
    usable = sum(kind is not None for _, models in listings for kind in models.values())
    return {
        "provider": provider,
        "discovered": sum(len(models) for _, models in listings),
        "new": added,
        "existing": usable - added,
    }


def sync_all_providers(site: Site) -> dict[str, Any]:
    """Add the missing models of all configured providers; failures do not affect others."""
    with site.database.read() as session:
        configured = servers.configured_providers(site, session)
    names = [name for name in PROVIDERS if name in configured]
    results: dict[str, Any] = {}
    for provider in (*names, registry.BUILT_IN):
        try:
            results[provider] = sync_provider(site, provider)
        except HTTPException as error:
            results[provider] = {"error": str(error.detail)}
    succeeded = [result for result in results.values() if "error" not in result]
    return {
        "results": results,
        "total_discovered": sum(result["discovered"] for result in succeeded),
        "total_new": sum(result["new"] for result in succeeded),
    }


def _query_servers(site: Site, provider: str) -> Iterator[tuple[str | None, ModelTypes]]:
    """Yield the models of each server of a provider, with its credential's identifier."""
    if provider == registry.BUILT_IN:
        yield None, dict(registry.built_in_models().values())
        return
    from labext.sandbox.nb.providers import calls

    for credential_id, server in servers.listing_servers(site, provider):
        yield credential_id, {name: guess_model_type(name) for name in calls.list_models(server)}


def _to_records(provider: str, models: ModelTypes) -> list[dict[str, Any]]:
    return [
        {"name": name, "provider": provider, "model_type": kind, "description": None}
        for name, kind in models.items()
    ]
