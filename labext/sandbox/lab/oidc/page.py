"""The sign-in page of the provider."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from starlette.responses import HTMLResponse

from labext.sandbox.lab.store import User
from labext.sandbox.lab.web_page import HEADERS, document

TITLE = "Sign in to the sandbox"

_FORM = """<p>This is the identity provider of a local laboratory platform for learning and testing.
{about}</p>
<form method="post" action="/authorize">
<input type="hidden" name="request" value="{request}">
<p><label for="email">Who signs in?</label></p>
<p><select id="email" name="email" required autofocus>{people}</select></p>
{field}<p><button>Sign in</button></p>
</form>
<p>You go on to <code>{client}</code>.</p>
"""


_OPEN = "It asks for no secret: choose who you are."
_ASKS = """It asks for the secret of a user, which
<code>labext sandbox lab users secret EMAIL</code> prints for whoever runs the sandbox."""
_FIELD = """<p><label for="secret">The secret of this user</label></p>
<p><input id="secret" name="secret" type="password" required autocomplete="current-password"></p>
"""


def form(
    people: Sequence[User], request: str, client: str, chosen: str | None, *, asks_secret: bool
) -> HTMLResponse:
    """Return the page on which a user signs in.

    Args:
        people: who may sign in.
        request: the sealed authorization request.
        client: the address to which the user returns.
        chosen: the address of the user who is preselected.
        asks_secret: whether it asks for the secret of the user.
    """
    options = "".join(
        f'<option value="{escape(user.email)}"{" selected" if user.email == chosen else ""}>'
        f"{escape(user.name)} ({escape(user.email)})</option>"
        for user in people
    )
    if chosen not in {user.email for user in people}:
        options = f'<option value="" selected disabled>Choose …</option>{options}'
    content = _FORM.format(
        about=_ASKS if asks_secret else _OPEN,
        people=options,
        field=_FIELD if asks_secret else "",
        request=escape(request),
        client=escape(client),
    )
    return HTMLResponse(document(TITLE, content), headers=HEADERS)


def refusal(sentence: str, status: int = 400) -> HTMLResponse:
    """Return a page with the reason for which a request is refused."""
    content = f'<p role="alert">{escape(sentence)}</p>'
    return HTMLResponse(document(TITLE, content), status, HEADERS)
