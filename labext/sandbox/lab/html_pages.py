"""HTML pages of the platform: sequences, errors and sign-in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from starlette.responses import HTMLResponse

from labext.sandbox.core.data_folder import admin_command
from labext.sandbox.lab.tables import Record, User

PAGE_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

HTML_HEADERS = {"Content-Type": "text/html; charset=utf-8"}

LINE_LENGTH = 80
"""Number of bases per line."""

_PAGE_TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }}
body {{ max-width: {width}; margin: 4rem auto; padding: 0 1rem; }}
select, input, button {{ font: inherit; padding: .4rem .6rem; max-width: 100%; }}
th, td {{ text-align: left; vertical-align: top; padding: .1rem 1rem .1rem 0; }}
pre {{ overflow-x: auto; }}
</style>
<main>
<h1>{title}</h1>
{content}
</main>
</html>
"""


def render_page(title: str, content: str, *, width: str = "30rem") -> str:
    """Return a page with a title in plain text and content in HTML."""
    return _PAGE_TEMPLATE.format(title=escape(title), content=content, width=width)


def sequence_page(record: Record) -> bytes:
    """Return the page of a sequence."""
    schema = record["schema"]
    properties = {
        "ID": record["id"],
        "Length": f"{record['length']:,} bp, {'circular' if record['isCircular'] else 'linear'}",
        "Aliases": ", ".join(record["aliases"]),
        "Registry ID": record["entityRegistryId"],
        "Schema": None if schema is None else schema["name"],
        "Folder": record["folderId"],
        "Created": f"{record['createdAt']} by {record['creator']['name']}",
        "Modified": record["modifiedAt"],
        "Archived": None if record["archiveRecord"] is None else record["archiveRecord"]["reason"],
    }
    properties |= {name: cell["displayValue"] for name, cell in record["fields"].items()}
    properties |= {name: cell["value"] for name, cell in record["customFields"].items()}
    columns = ("name", "type", "start", "end", "strand")
    # Positions count from 1 on the page, as in GenBank files.
    features = ({**mark, "start": mark["start"] + 1} for mark in record["annotations"])
    annotations = [[feature[column] for column in columns] for feature in features]
    bases = record["bases"]
    lines = "\n".join(
        bases[start : start + LINE_LENGTH] for start in range(0, len(bases), LINE_LENGTH)
    )
    content = [
        _html_table((), ((name, value) for name, value in properties.items() if value)),
        "<h2>Annotations</h2>",
        _html_table(map(str.title, columns), annotations),
        "<h2>Bases</h2>",
        f"<pre>{escape(lines)}</pre>",
        f"<p>The record as JSON: <code>{escape(record['apiURL'])}</code></p>",
    ]
    return render_page(record["name"], "\n".join(content), width="60rem").encode()


def error_page(message: str, status: int) -> bytes:
    """Return the page of an error."""
    content = f'<p role="alert">{escape(message)}</p>'
    if status == 401:
        content += (
            "<p>Sign in with the credentials of the API: an API key as the user name and an "
            "empty password.</p>"
        )
    return render_page("Laboratory platform", content).encode()


def _html_table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    header = "".join(f"<th>{escape(title)}</th>" for title in head)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table>{f'<tr>{header}</tr>' if header else ''}{body}</table>"


SIGN_IN_TITLE = "Sign in to the laboratory platform"

_SIGN_IN_FORM = """<p>{about}</p>
<form method="post" action="/authorize">
<input type="hidden" name="request" value="{request}">
<p><label for="email">User</label></p>
<p>{user}</p>
{field}<p><button>Sign in</button></p>
</form>
<p>You will return to <code>{client}</code>.</p>
"""


_EMAIL_FIELD = """<input id="email" name="email" type="email" value="{email}" required autofocus
autocomplete="username">"""
_OPEN_SIGN_IN_NOTE = "No secret is required: choose a user."
_SIGN_IN_NOTE = """Sign in with the secret of a user, which
<code>{command}</code> prints for the administrator."""
_SIGN_IN_FIELD = """<p><label for="secret">Secret of this user</label></p>
<p><input id="secret" name="secret" type="password" required autocomplete="current-password"></p>
"""


def sign_in_page(
    users: Sequence[User] | None,
    request: str,
    client: str,
    selected: str | None,
    *,
    requires_secret: bool,
) -> HTMLResponse:
    """Return the page on which a user signs in.

    `users` can be chosen; if it is None, the user types the e-mail address. `request` is the sealed
    authorization request, `client` the URL to which the user returns, and `selected` the e-mail
    address of the preselected user.
    """
    content = _SIGN_IN_FORM.format(
        about=_SIGN_IN_NOTE.format(command=admin_command("lab users secret EMAIL").strip("`"))
        if requires_secret
        else _OPEN_SIGN_IN_NOTE,
        user=_EMAIL_FIELD.format(email=escape(selected or ""))
        if users is None
        else _user_choice(users, selected),
        field=_SIGN_IN_FIELD if requires_secret else "",
        request=escape(request),
        client=escape(client),
    )
    return HTMLResponse(render_page(SIGN_IN_TITLE, content), headers=PAGE_HEADERS)


def _user_choice(users: Sequence[User], selected: str | None) -> str:
    options = "".join(
        f'<option value="{escape(user.email)}"{" selected" if user.email == selected else ""}>'
        f"{escape(user.name)} ({escape(user.email)})</option>"
        for user in users
    )
    if selected not in {user.email for user in users}:
        options = f'<option value="" selected disabled>Choose …</option>{options}'
    return f'<select id="email" name="email" required autofocus>{options}</select>'


def sign_in_error_page(message: str, status: int = 400) -> HTMLResponse:
    """Return a page with the reason why a request was refused."""
    content = f'<p role="alert">{escape(message)}</p>'
    return HTMLResponse(render_page(SIGN_IN_TITLE, content), status, PAGE_HEADERS)
