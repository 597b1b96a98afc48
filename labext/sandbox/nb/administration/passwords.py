"""The service's password: its hash in the database, itself where the sandbox hands it out.

connection.json follows while the sandbox runs; at a start it is written anew.
"""

from __future__ import annotations

import re

from labext.errors import InputError
from labext.sandbox.folder import Folder, read_json, write_json, write_secret
from labext.sandbox.naming import check_yes
from labext.sandbox.nb import settings
from labext.sandbox.nb.administration import Administration, Record
from labext.sandbox.nb.passwords import hashed
from labext.sandbox.nb.seed import password_file

SHORTEST, LONGEST = 8, 200

_PASSWORD = re.compile(rf"[!-~]{{{SHORTEST},{LONGEST}}}")


def set_password(admin: Administration, password: str) -> Record:
    """Ask for this password from the next request on.

    Raises:
        InputError: it can't be one.
    """
    if not _PASSWORD.fullmatch(password):
        raise InputError(
            "This can't be the password.",
            f"Use {SHORTEST} to {LONGEST} letters, digits and signs of ASCII, without blanks.",
        )
    kept = hashed(password)
    with admin.database.write() as session:
        settings.change(session, settings.PASSWORD, kept)
        session.flush()
        write_secret(password_file(admin.site), password)
    _hand_out(admin, password)
    return {"password": True}


def remove_password(admin: Administration, *, yes: bool) -> Record:
    """Ask for no password from the next request on.

    Raises:
        InputError: `yes` is not given.
    """
    check_yes(
        yes,
        "This would end the password of the notebook service: whoever can reach it on this machine "
        "may read and change all that is in it.",
    )
    with admin.database.write() as session:
        settings.change(session, settings.PASSWORD, None)
    password_file(admin.site).unlink(missing_ok=True)
    _hand_out(admin, None)
    return {"password": False}


def _hand_out(admin: Administration, password: str | None) -> None:
    """Let connection.json say it, where there is one: while the sandbox runs."""
    folder = Folder(admin.site.secrets.parent)
    connection = read_json(folder.connection)
    entry = connection.get("nb")
    if not isinstance(entry, dict):
        return
    said = {name: value for name, value in entry.items() if name != "password"}
    if password is not None:
        said["password"] = password
    write_json(folder.connection, connection | {"nb": said})
