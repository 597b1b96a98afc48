"""Sequences, filed from files of the administrator's."""

from __future__ import annotations

from pathlib import Path

from labext.sandbox.lab import importing, reading
from labext.sandbox.lab.administration import Administration, Record
from labext.sandbox.lab.administration.finding import place_of, tenant_of, user_of
from labext.sandbox.lab.store import Folder


def import_file(
    admin: Administration, tenant: str, file: Path, folder: str, creator: str
) -> list[Record]:
    """File the sequences of a FASTA or GenBank file, gzipped or not: all of them or none.

    Args:
        admin: whose.
        tenant: the tenant's name.
        file: the file.
        folder: the folder's name or identifier.
        creator: the e-mail address of who is shown to have made them.

    Returns:
        `{id, name, length, isCircular}` of each.

    Raises:
        InputError: the file can't be used.
        NotFoundError: there is no such tenant, folder or user.
        ConflictError: several folders have the name.
    """
    # Read first: it may take long, and nobody else can write within the transaction.
    entries = reading.entries(file)
    with admin.database.write() as session:
        found = tenant_of(session, tenant)
        where = place_of(session, found, "folder", folder)
        assert isinstance(where, Folder)
        return importing.add(session, where, entries, user_of(session, found, creator))
