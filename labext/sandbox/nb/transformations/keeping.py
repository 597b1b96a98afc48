"""Transformations found, made, changed and deleted."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from labext.sandbox.nb import faults, identifiers, limits
from labext.sandbox.nb.calls import moment
from labext.sandbox.nb.models import registry
from labext.sandbox.nb.store import Transformation
from labext.sandbox.nb.transformations.bodies import ChangedTransformation, NewTransformation
from labext.sandbox.service import Site


def listed(site: Site) -> list[dict[str, Any]]:
    """The records of all transformations, by their names."""
    ordered = select(Transformation).order_by(func.lower(Transformation.name), Transformation.id)
    with site.database.read() as session:
        return [_record(each) for each in session.scalars(ordered)]


def shown(site: Site, identifier: str) -> dict[str, Any]:
    """A transformation's record.

    Raises:
        HTTPException: 404.
    """
    with site.database.read() as session:
        return _record(found(session, identifier))


def make(site: Site, wanted: NewTransformation) -> dict[str, Any]:
    """Make a transformation; its record.

    Raises:
        HTTPException: 404, there is no such model; 422, it is not of type `llm`; 413, a text is too
            long.
    """
    now = time.time()
    made = Transformation(
        id=identifiers.new("transformation"),
        name=wanted.name,
        title=wanted.title or wanted.name,
        description=wanted.description or "",
        prompt=wanted.prompt,
        by_default=wanted.apply_default,
        model_id=wanted.model_id,
        created=now,
        updated=now,
    )
    with site.database.write() as session:
        _check(session, made)
        session.add(made)
    return _record(made)


def change(site: Site, identifier: str, wanted: ChangedTransformation) -> dict[str, Any]:
    """Change what is given of a transformation; its record.

    Raises:
        HTTPException: 404, there is no such transformation or model; 422 and 413 as `make`.
    """
    given = wanted.model_dump(exclude_none=True)
    if "model_id" in wanted.model_fields_set:
        given["model_id"] = wanted.model_id  # null means something: the slot's
    if "apply_default" in given:
        given["by_default"] = given.pop("apply_default")
    with site.database.write() as session:
        there = found(session, identifier)
        for name, value in given.items():
            setattr(there, name, value)
        if given:
            there.updated = time.time()
        with session.no_autoflush:
            _check(session, there)
    return _record(there)


def delete(site: Site, identifier: str) -> str:
    """Delete a transformation, whose insights stay; its name.

    Raises:
        HTTPException: 404.
    """
    with site.database.write() as session:
        there = found(session, identifier)
        session.delete(there)
    return there.name


def found(session: Session, identifier: str) -> Transformation:
    """A transformation.

    Raises:
        HTTPException: 404.
    """
    there = session.get(Transformation, identifier)
    if there is None:
        raise faults.absent("transformation", identifier)
    return there


def _check(session: Session, wanted: Transformation) -> None:
    limits.check_text(session, wanted.description, wanted.prompt)
    if wanted.model_id is not None:
        registry.model(session, wanted.model_id, registry.LLM)


def _record(there: Transformation) -> dict[str, Any]:
    return {
        "id": there.id,
        "name": there.name,
        "title": there.title,
        "description": there.description,
        "prompt": there.prompt,
        "apply_default": there.by_default,
        "model_id": there.model_id,
        "created_at": moment(there.created),
        "updated_at": moment(there.updated),
    }
