"""HTML pages of the platform: sequences, errors and sign-in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from starlette.responses import HTMLResponse

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

_SANDBOX_NOTE = "<p>This is a local laboratory platform for learning and testing.</p>"


def render_page(title: str, content: str, *, width: str = "30rem") -> str:
    """Return a page with a title in plain text and content in HTML."""
    return _PAGE_TEMPLATE.format(title=escape(title), content=content, width=width)


def sequence_page(record: Record) -> bytes:
    """Return the page of a sequence."""
    schema = record["schema"]
    facts = {
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
    facts |= {name: cell["displayValue"] for name, cell in record["fields"].items()}
    facts |= {name: cell["value"] for name, cell in record["customFields"].items()}
    columns = ("name", "type", "start", "end", "strand")
    annotations = [[feature[column] for column in columns] for feature in record["annotations"]]
    bases = record["bases"]
    lines = "\n".join(
        bases[start : start + LINE_LENGTH] for start in range(0, len(bases), LINE_LENGTH)
    )
    content = [
        _SANDBOX_NOTE,
        _html_table((), ((name, value) for name, value in facts.items() if value)),
        "<h2>Annotations</h2>",
        _html_table(map(str.title, columns), annotations),
        "<h2>Bases</h2>",
        f"<pre>{escape(lines)}</pre>",
        f"<p>The record as JSON: <code>{escape(record['apiURL'])}</code></p>",
    ]
    return render_page(record["name"], "\n".join(content), width="60rem").encode()


def error_page(sentence: str, status: int) -> bytes:
    """Return the page of an error."""
    content = f'<p role="alert">{escape(sentence)}</p>{_SANDBOX_NOTE}'
    if status == 401:
        content += (
            "<p>Its pages take the credentials of its API: an API key as the user name, and an "
            "empty password.</p>"
        )
    return render_page("Local laboratory platform", content).encode()


def _html_table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    header = "".join(f"<th>{escape(title)}</th>" for title in head)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table>{f'<tr>{header}</tr>' if header else ''}{body}</table>"


SIGN_IN_TITLE = "Sign in to the sandbox"

_SIGN_IN_FORM = """<p>This is the identity provider of a local laboratory platform for learning and
testing. {about}</p>
<form method="post" action="/authorize">
<input type="hidden" name="request" value="{request}">
<p><label for="email">Who signs in?</label></p>
<p><select id="email" name="email" required autofocus>{people}</select></p>
{field}<p><button>Sign in</button></p>
</form>
<p>You go on to <code>{client}</code>.</p>
"""


_OPEN_SIGN_IN_NOTE = "It asks for no secret: choose who you are."
_SIGN_IN_NOTE = """It asks for the secret of a user, which
<code>labext sandbox lab users secret EMAIL</code> prints for the administrator of the sandbox."""
_SIGN_IN_FIELD = """<p><label for="secret">The secret of this user</label></p>
<p><input id="secret" name="secret" type="password" required autocomplete="current-password"></p>
"""


def sign_in_page(
    people: Sequence[User], request: str, client: str, chosen: str | None, *, asks_secret: bool
) -> HTMLResponse:
    """Return the page on which a user signs in.

    Args:
        people: the users who may sign in.
        request: the sealed authorization request.
        client: the URL to which the user returns.
        chosen: the e-mail address of the preselected user.
        asks_secret: whether the page asks for the secret of the user.
    """
    options = "".join(
        f'<option value="{escape(user.email)}"{" selected" if user.email == chosen else ""}>'
        f"{escape(user.name)} ({escape(user.email)})</option>"
        for user in people
    )
    if chosen not in {user.email for user in people}:
        options = f'<option value="" selected disabled>Choose …</option>{options}'
    content = _SIGN_IN_FORM.format(
        about=_SIGN_IN_NOTE if asks_secret else _OPEN_SIGN_IN_NOTE,
        people=options,
        field=_SIGN_IN_FIELD if asks_secret else "",
        request=escape(request),
        client=escape(client),
    )
    return HTMLResponse(render_page(SIGN_IN_TITLE, content), headers=PAGE_HEADERS)


def sign_in_error_page(sentence: str, status: int = 400) -> HTMLResponse:
    """Return a page with the reason why a request was refused."""
    content = f'<p role="alert">{escape(sentence)}</p>'
    return HTMLResponse(render_page(SIGN_IN_TITLE, content), status, PAGE_HEADERS)
