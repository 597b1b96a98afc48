"""What a local service has from the start is made once: what was removed since stays away."""

from __future__ import annotations

from sqlalchemy.orm import DeclarativeBase, Session


def once(session: Session, table: type[DeclarativeBase], name: str) -> bool:
    """Whether what is called so has never been made; from now on it has.

    Args:
        session: a writing one.
        table: the service's, with the column `name` alone.
        name: says what is made.
    """
    if session.get(table, name) is not None:
        return False
    session.add(table(name=name))
    session.flush()
    return True
