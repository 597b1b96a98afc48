"""Endpoints that all kinds of objects share."""

# No postponed annotations: FastAPI could not resolve those of endpoints defined in a function.

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.core.dependencies import SiteDep
from labext.sandbox.nb.queries import Row, load
from labext.sandbox.nb.schemas import Identifier, MessageResponse, Record
from labext.sandbox.nb.tables import Notebook

NotebookFilter = Annotated[
    Identifier | None, Query(description="Only those of this notebook; by default all.")
]


def add_crud_routes(
    router: APIRouter,
    path: str,
    table: type[Row],
    record: type[Record],
    order_by: Sequence[Any],
    *,
    record_with_details: type[Record] | None = None,
    identifier_type: Any = Identifier,
    load_row: Callable[[Session, str], Row] | None = None,
    before_delete: Callable[[Session, Row], None] | None = None,
) -> None:
    """Add endpoints that list, get and delete objects by a path such as `/notes/{note_id}`.

    A list can be limited to a notebook if the table has the column `notebook_id`. `load_row` is
    `load` unless an object has a name, or details for `record_with_details`. `before_delete` checks
    or cleans up in the transaction that deletes an object.
    """
    collection, _, parameter = path.removesuffix("}").rpartition("/{")
    plural = collection.rpartition("/")[2].replace("-", "_")
    single = plural.removesuffix("s")
    InPath = Annotated[identifier_type, Path(alias=parameter)]
    load_row = load_row or (lambda session, identifier: load(session, table, identifier))

    def get_rows(site: SiteDep, notebook_id: NotebookFilter = None) -> Any:
        query = select(table).order_by(*order_by)
        with site.database.read() as session:
            if notebook_id is not None:
                load(session, Notebook, notebook_id)
                query = query.filter_by(notebook_id=notebook_id)
            return session.scalars(query).all()

    def get_all_rows(site: SiteDep) -> Any:
        return get_rows(site)

    def get_row(site: SiteDep, identifier: InPath) -> Any:
        with site.database.read() as session:
            return load_row(session, identifier)

    def delete_row(site: SiteDep, identifier: InPath) -> Any:
        with site.database.write() as session:
            row = load_row(session, identifier)
            if before_delete is not None:
                before_delete(session, row)
            session.delete(row)
        return {"message": f"The {table.noun} {getattr(row, 'name', row.id)} is deleted."}

    router.add_api_route(
        collection,
        get_rows if hasattr(table, "notebook_id") else get_all_rows,
        name=f"get_{plural}",
        response_model=list[record],  # type: ignore[valid-type]
        description=f"List the {table.noun}s.",
    )
    router.add_api_route(
        path,
        get_row,
        name=f"get_{single}",
        response_model=record_with_details or record,
        description=f"Get the {table.noun}.",
    )
    router.add_api_route(
        path,
        delete_row,
        methods=["DELETE"],
        name=f"delete_{single}",
        response_model=MessageResponse,
        description=f"Delete the {table.noun}.",
    )
